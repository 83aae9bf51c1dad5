"""When the first of two controllers may take over, from what the other one says of its records of jobs; Slurm's programs are stand-ins."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.playbooks import templates

SCRIPT = templates.PLAYBOOKS / "roles" / "slurmctld" / "files" / "records-left.sh"
SERVES = "echo 'Slurmctld(primary) at head-0 is DOWN'; echo 'Slurmctld(backup) at head-1 is UP'"
NOBODY = "echo 'Slurmctld(primary) at head-0 is DOWN'; echo 'Slurmctld(backup) at head-1 is DOWN'; exit 1"
SILENT = "exit 124"
ATTEMPTS, LEFT = 3, 3


def queue(size: int) -> str:
    return f"echo 'Agent queue size:    7'; echo 'DBD Agent queue size: {size}'"


@pytest.mark.parametrize(
    ("ping", "looks", "wanted"),
    [
        (SERVES, [queue(0)], (0, "", 1)),
        (SERVES, [queue(40), SILENT, queue(0)], (0, "", 3)),
        (SERVES, [SILENT, queue(40)], (LEFT, "40", ATTEMPTS)),
        (SERVES, [queue(40), SILENT], (LEFT, "40", ATTEMPTS)),
        (SERVES, [SILENT], (0, "", ATTEMPTS)),
        (NOBODY, [SILENT], (0, "", 0)),
    ],
    ids=["all are sent", "they are sent meanwhile", "they stay", "one look fails at the end", "it never answers", "nobody serves"],
)
def test_a_controller_takes_over_unless_the_other_one_still_has_records(tmp_path: Path, ping: str, looks: list[str], wanted: tuple[int, str, int]) -> None:
    """Looks are the answers to `sdiag`, of which the last one is given again and again."""
    (tmp_path / "looks").mkdir()
    for number, look in enumerate(looks):
        (tmp_path / "looks" / str(number)).write_text(look)
    asked = "echo asked >>count; number=$(($(wc -l <count) - 1)); test -e looks/$number || number=$(ls looks | tail -n 1); . ./looks/$number"
    for name, text in {"scontrol": ping, "sdiag": asked, "sleep": "true"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "ATTEMPTS": str(ATTEMPTS)}
    done = subprocess.run(["sh", "-c", SCRIPT.read_text()], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60)
    count = tmp_path / "count"
    assert (done.returncode, done.stdout.strip(), len(count.read_text().splitlines()) if count.exists() else 0) == wanted, done.stderr
