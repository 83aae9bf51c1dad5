"""tools/test runs both parts at once, mixes no output and hides no failure of either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import wait_until
from tests.run import FAILED, INTERRUPTED, NONE_CHOSEN, PASSED
from tests.tools.installer import write_program

USAGE_ERROR = 4
WITHIN_S = 60


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tests.run", *words]


def environment(programs: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{programs}:/usr/bin:/bin", **more}


def run(programs: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), env=environment(programs, **more), capture_output=True, text=True, check=False, timeout=WITHIN_S)


def write_python(folder: Path, *, without_hosts: str, hosts: str, timing: str = 'echo "$*"', choice: str = "exit 1") -> None:
    """Have `python` do so for each of the runs."""
    write_program(
        folder / "python",
        f'case "$*" in *tests.choice*) {choice} ;; *tests.timing*) {timing} ;; *"not hosts"*) {without_hosts} ;; *) {hosts} ;; esac',
    )


@pytest.mark.parametrize(
    ("without_hosts", "hosts", "status"),
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
def test_both_parts_run_and_the_worse_one_counts(tmp_path: Path, without_hosts: int, hosts: int, status: int) -> None:
    write_python(tmp_path, without_hosts=f'echo "$*"; exit {without_hosts}', hosts=f'echo "$*"; exit {hosts}')
    answer = run(tmp_path, "-k", "caret")
    assert answer.returncode == status
    _, *runs, timing = answer.stdout.splitlines()
    assert [line.rsplit(" ", 2)[1:] for line in runs] == [["-k", "caret"]] * 2
    reports = [word.partition("=")[2] for line in runs for word in line.split() if word.startswith("--junitxml=")]
    assert timing.split() == ["-m", "tests.timing", *reports]
    assert not any(Path(report).parent.exists() for report in reports), "the reports are the run's own"


def test_what_the_tests_compile_is_kept_for_their_other_processes(tmp_path: Path) -> None:
    shown = 'echo "compiled files: ${PYTHONDONTWRITEBYTECODE-kept}"'
    write_python(tmp_path, without_hosts=shown, hosts=shown, timing=":")
    answer = run(tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert answer.stdout.splitlines()[1:] == ["compiled files: kept"] * 2


def test_parts_run_at_once_and_their_lines_do_not_mix(tmp_path: Path) -> None:
    """Each part waits for the other to have begun."""
    mine, theirs = tmp_path / "without-hosts", tmp_path / "hosts"
    os.mkfifo(mine)
    os.mkfifo(theirs)
    write_python(
        tmp_path,
        without_hosts=f'echo front 1; echo >"{mine}"; read _ <"{theirs}"; echo front 2',
        hosts=f'echo behind 1; read _ <"{mine}"; echo behind 2; echo >"{theirs}"',
        timing=":",
    )
    answer = run(tmp_path)
    assert answer.returncode == PASSED
    assert answer.stdout.splitlines()[1:] == ["front 1", "front 2", "behind 1", "behind 2"]


CLEARS_UP = 'trap "echo $0 has cleared up; exit 2" INT; touch "$0.$$.begun"; for _ in $(seq 600); do sleep 0.1; done'
"""Waits to be interrupted, a minute at most."""


@pytest.mark.parametrize(("status", "shown"), [(INTERRUPTED, INTERRUPTED), (USAGE_ERROR, USAGE_ERROR), ("kill", 128 + signal.SIGKILL)])
@pytest.mark.parametrize("is_front", [True, False])
def test_a_part_that_is_cut_off_interrupts_the_other(tmp_path: Path, is_front: bool, status: int | str, shown: int) -> None:
    cut_off = f"echo wrong; {'kill -KILL $$' if status == 'kill' else f'exit {status}'}"
    # The other one has begun, and can be interrupted.
    cut_off = f'until [ -n "$(find {tmp_path} -name "*.begun")" ]; do sleep 0.1; done; {cut_off}'
    write_python(tmp_path, without_hosts=cut_off if is_front else CLEARS_UP, hosts=CLEARS_UP if is_front else cut_off)
    answer = run(tmp_path)
    assert answer.returncode == shown
    lines = answer.stdout.splitlines()[1:]
    assert ["has cleared up" in line for line in lines] == ([False, True] if is_front else [True, False]), "and no times are shown"


def test_ctrl_c_ends_both_parts_once_they_have_cleared_up(tmp_path: Path) -> None:
    write_python(tmp_path, without_hosts=CLEARS_UP, hosts=CLEARS_UP)
    process = subprocess.Popen(
        command(), env=environment(tmp_path), stdout=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        wait_until(lambda: len([*tmp_path.glob("*.begun")]) == 2, awaiting="both parts to begin", within_s=WITHIN_S)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=WITHIN_S)
    finally:
        process.kill()
    assert process.returncode == INTERRUPTED
    assert said.count("has cleared up") == 2


@pytest.mark.parametrize(("chosen", "words"), [("tests/a/test_x.py\\ntests/b/test_y.py", ["tests/a/test_x.py", "tests/b/test_y.py"]), ("all", [])])
def test_what_changed_since_a_commit_is_tested_alone(tmp_path: Path, chosen: str, words: list[str]) -> None:
    write_python(tmp_path, without_hosts='echo "$*"', hosts='echo "$*"', timing=":", choice=f'[ "$3" = main ] && printf "{chosen}"')
    answer = run(tmp_path, "-x", SINCE="main")
    assert answer.returncode == PASSED
    assert [line.partition(" -x")[2].split() for line in answer.stdout.splitlines()[1:]] == [words] * 2


def test_a_commit_that_does_not_exist_runs_nothing(tmp_path: Path) -> None:
    write_python(tmp_path, without_hosts="echo ran", hosts="echo ran", choice=f"exit {FAILED}")
    answer = run(tmp_path, SINCE="nothing")
    assert answer.returncode == FAILED
    assert answer.stdout == ""
