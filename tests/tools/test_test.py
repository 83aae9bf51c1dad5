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
    write_program(tmp_path / "python", f'echo "$*"; case "$*" in *timing*) ;; *"not hosts"*) exit {together} ;; *) exit {alone} ;; esac')
    answer = subprocess.run([TEST, "-k", "caret"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert answer.returncode == status
    *runs, timing = answer.stdout.splitlines()
    assert [line.rsplit(" ", 2)[1:] for line in runs] == [["-k", "caret"]] * 2
    reports = [word.partition("=")[2] for line in runs for word in line.split() if word.startswith("--junitxml=")]
    assert timing.split() == ["-m", "tests.timing", *reports]
    assert not any(Path(report).parent.exists() for report in reports), "the reports are the run's own"


def test_an_interrupted_run_goes_no_further(tmp_path: Path) -> None:
    write_program(tmp_path / "python", f'echo "$*"; exit {INTERRUPTED}')
    answer = subprocess.run([TEST], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert answer.returncode == INTERRUPTED
    assert len(answer.stdout.splitlines()) == 1


@pytest.mark.parametrize(("chosen", "words"), [("tests/a/test_x.py\ntests/b/test_y.py", ["tests/a/test_x.py", "tests/b/test_y.py"]), ("all", [])])
def test_what_changed_since_a_commit_is_tested_alone(tmp_path: Path, chosen: str, words: list[str]) -> None:
    write_program(tmp_path / "python", f'case "$*" in *choice*) [ "$3" = main ] && printf "{chosen}" ;; *timing*) ;; *) echo "$*" ;; esac')
    answer = subprocess.run([TEST, "-x"], env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SINCE": "main"}, capture_output=True, text=True, check=False)
    assert answer.returncode == PASSED
    assert [line.partition(" -x")[2].split() for line in answer.stdout.splitlines()] == [words] * 2


def test_a_commit_that_does_not_exist_runs_nothing(tmp_path: Path) -> None:
    write_program(tmp_path / "python", f'echo "$*"; case "$*" in *choice*) exit {FAILED} ;; esac')
    answer = subprocess.run([TEST], env={"PATH": f"{tmp_path}:/usr/bin:/bin", "SINCE": "nothing"}, capture_output=True, text=True, check=False)
    assert answer.returncode == FAILED
    assert answer.stdout == ""
