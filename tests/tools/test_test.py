"""tools/test runs both parts and hides no failure of either."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.tools.installer import write_program

TEST = Path(__file__).resolve().parents[2] / "tools/test"
PASSED, FAILED, INTERRUPTED, NONE_CHOSEN = 0, 1, 2, 5
"""pytest's exit statuses."""


@pytest.mark.parametrize(
    ("together", "alone", "status"),
    [
        (PASSED, PASSED, PASSED),
        (FAILED, PASSED, FAILED),
        (PASSED, FAILED, FAILED),
        (NONE_CHOSEN, PASSED, PASSED),
        (PASSED, NONE_CHOSEN, PASSED),
        (FAILED, NONE_CHOSEN, FAILED),
        (NONE_CHOSEN, NONE_CHOSEN, NONE_CHOSEN),
    ],
)
def test_both_parts_run_and_the_worse_one_counts(tmp_path: Path, together: int, alone: int, status: int) -> None:
    write_program(tmp_path / "python", f'echo "$*"; case "$*" in *numprocesses*) exit {together} ;; *) exit {alone} ;; esac')
    answer = subprocess.run([TEST, "-k", "caret"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert answer.returncode == status
    assert [line.rsplit(" ", 2)[1:] for line in answer.stdout.splitlines()] == [["-k", "caret"]] * 2


def test_an_interrupted_run_goes_no_further(tmp_path: Path) -> None:
    write_program(tmp_path / "python", f'echo "$*"; exit {INTERRUPTED}')
    answer = subprocess.run([TEST], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert answer.returncode == INTERRUPTED
    assert len(answer.stdout.splitlines()) == 1
