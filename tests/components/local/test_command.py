"""Tools of the machine: what they say, what they may see, and that nothing of them outlives us."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from blueprints.project import project_root
from components.local.machine import command
from components.local.machine.record import lock
from tests.processes import WITHIN_S, Watched, wait_until


def go_on() -> None:
    """Nothing asks the command to stop."""


def test_a_long_command_gives_what_it_says_on_both_channels() -> None:
    assert command.run_long("sh", "-c", "echo one; echo two >&2", check=go_on, held=()) == "one\ntwo\n"


def test_arguments_arrive_as_they_are() -> None:
    assert command.run_long("printf", "%s|", "a b", "$HOME", "13", check=go_on, held=()) == "a b|$HOME|13|"


def test_a_long_command_that_fails_says_how() -> None:
    with pytest.raises(command.CommandFailed, match=r"status 3: no mirror"):
        command.run_long("sh", "-c", "echo no mirror; exit 3", check=go_on, held=())


def test_what_the_check_raises_ends_the_command_and_its_children(tmp_path: Path) -> None:
    started = tmp_path / "started"

    def stop() -> None:
        if started.exists() and started.read_text().strip():
            raise InterruptedError

    with pytest.raises(InterruptedError):
        command.run_long("sh", "-c", f"sleep 1000 & echo $! > {started}; wait", check=stop, held=())
    with Watched([int(started.read_text())]) as child:
        child.wait_for_end()


def test_a_killed_caller_takes_the_command_along_and_the_lock_lasts_as_long_as_it(tmp_path: Path) -> None:
    started, held = tmp_path / "started", tmp_path / "held"
    program = (
        "from pathlib import Path; from components.local.machine import command, record\n"
        f"with record.lock(Path({str(held)!r})) as descriptor:\n"
        f"    command.run_long('sh', '-c', 'sleep 1000 & echo $! > {started}; wait', check=lambda: None, held=(descriptor,))"
    )
    caller = subprocess.Popen([sys.executable, "-c", program], cwd=project_root())
    wait_until(lambda: started.exists() and started.read_text().strip() != "", awaiting="the command to start", within_s=WITHIN_S)
    with Watched([int(started.read_text())]) as child:
        os.kill(caller.pid, signal.SIGKILL)
        caller.wait()
        with lock(held):
            child.wait_for_end()  # it has let go of the lock, so that it is past its last work


def test_tools_do_not_see_what_is_not_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "marker")
    monkeypatch.setenv("https_proxy", "proxy")
    seen = command.run("env")
    assert "marker" not in seen
    assert "https_proxy=proxy" in seen
    assert "marker" not in command.run_long("env", check=go_on, held=())
