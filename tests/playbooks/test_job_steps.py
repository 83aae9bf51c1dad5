"""How playbooks and programs of hosts tell that a job runs: by the name that its step gives itself, and not by the program that slurmd keeps alive without jobs."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.playbooks import templates

ROLES = templates.PLAYBOOKS / "roles"
NONE = 1


def asked() -> dict[str, list[str]]:
    """Give each command of the roles that looks for job steps, by its file."""
    found = {}
    for file in sorted(ROLES.glob("*/tasks/*.yml")):
        for words in commands(yaml.safe_load(file.read_text())):
            if words[0] == "pgrep" and "slurmstepd" in words[-1]:
                found[str(file.relative_to(ROLES))] = words
    for file in sorted(ROLES.glob("*/files/*.sh")):
        for line in file.read_text().splitlines():
            if line.startswith("pgrep ") and "slurmstepd" in line:
                found[str(file.relative_to(ROLES))] = shlex.split(line.partition(" >")[0].replace("--ns $$ --nslist pid ", ""))
    return found


def commands(tasks: Any) -> Iterator[list[str]]:
    if isinstance(tasks, list):
        for one in tasks:
            yield from commands(one)
    elif isinstance(tasks, dict):
        if isinstance(tasks.get("argv"), list):
            yield tasks["argv"]
        for value in tasks.values():
            yield from commands(value)


ASKED = asked()


def test_all_that_look_for_jobs_are_known_here() -> None:
    assert [*ASKED] == ["imex/tasks/look.yml", "mig/tasks/change.yml", "cloud_host/files/alone.sh"]


@pytest.mark.parametrize("place", ASKED)
def test_the_program_that_slurmd_keeps_alive_without_jobs_is_no_job(place: str, tmp_path: Path) -> None:
    """With control groups of version 2, slurmd starts `slurmstepd infinity` and never ends it."""
    program = tmp_path / "slurmstepd"
    shutil.copy("/bin/sleep", program)
    name, *options = ASKED[place]
    with subprocess.Popen([program, "infinity"]) as process:
        answer = subprocess.run([name, "--parent", str(os.getpid()), *options], check=False, capture_output=True, timeout=30).returncode
        process.kill()
    assert answer == NONE


@pytest.mark.parametrize("place", ASKED)
@pytest.mark.parametrize(
    ("command", "is_step"),
    [
        ("slurmstepd: [17.batch]", True),
        ("slurmstepd: [17.extern]", True),
        ("/usr/sbin/slurmstepd", True),
        ("slurmstepd", True),
        ("/usr/sbin/slurmstepd infinity", False),
        ("grep slurmstepd: ", False),
        ("vi /usr/sbin/slurmstepd", False),
    ],
)
def test_a_step_is_told_by_its_name(place: str, command: str, is_step: bool) -> None:
    assert "--full" in ASKED[place]
    assert (re.search(ASKED[place][-1], command) is not None) is is_step
