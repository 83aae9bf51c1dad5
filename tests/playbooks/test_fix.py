"""`fix.yml` carries out what was decided unless jobs came meanwhile, which any controller may say. The hosts are this process's own machine, and Slurm's commands are stand-ins with fixed answers."""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping

import pytest

from stacks.drift import repair
from stacks.drift.fix import step
from tests.playbooks import templates

LOST = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
"""Nothing listens there."""
QUIET = ".quiet"
EVERY_QUIET = {f"{host}{QUIET}" for host in ("train-0", "train-1", "control-1")}
ANSWERS = """#!/bin/sh
case "$0 $*" in
*squeue*) [ -z "$SLURM_IS_SILENT" ] || exit 1; echo 'train-[1-2]' ;;
*scontrol*'train-[1-2]') printf '%s\\n' train-1 train-2 ;;
esac
"""


def commands(host: str, folder: pathlib.Path, suffix: str) -> list[step.Step]:
    """Give two commands of a host that make a file each: one that a job may notice, one that no job can notice."""
    return [
        step.Step(host, step.Command(("touch", str(folder / f"{host}{suffix}{end}"))), step.Order.RUNNING, (), is_quiet)
        for end, is_quiet in (("", False), (QUIET, True))
    ]


def put_right(tmp_path: pathlib.Path, *, controllers: Mapping[str, Mapping[str, object]], suffix: str = "", **environment: str) -> set[str]:
    """Run the playbook for two compute nodes and the second controller; give the files that the commands made, one for each host.

    Args:
        suffix: ends the name of each file.
    """
    programs, done = tmp_path / "bin", tmp_path / "done"
    programs.mkdir()
    done.mkdir()
    for name in ("squeue", "scontrol"):
        (programs / name).write_text(ANSWERS)
        (programs / name).chmod(0o755)
    steps = {name: {"drift_steps": repair.encode(commands(name, done, suffix))} for name in ("train-0", "train-1", "control-1")}
    here = {"ansible_connection": "local"}
    compute = {name: {**here, **steps[name], "drift_is_compute": True} for name in ("train-0", "train-1")}
    control = {name: {**here, **steps.get(name, {}), **one} for name, one in controllers.items()}
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"control": {"hosts": control}, "compute": {"hosts": compute}}))
    known = {
        **os.environ,
        "ANSIBLE_CONFIG": str(templates.PLAYBOOKS / "ansible.cfg"),
        "ANSIBLE_HOME": str(tmp_path),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    program = pathlib.Path(sys.executable).with_name("ansible-playbook")
    words = [str(program), "-i", str(inventory), str(templates.PLAYBOOKS / "fix.yml")]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=known | environment)
    assert ended.returncode == 0, ended.stdout
    return {path.name for path in done.iterdir()}


@pytest.mark.parametrize("controllers", [{"control-0": {}, "control-1": {}}, {"control-0": LOST, "control-1": {}}], ids=["both", "one is lost"])
def test_on_a_node_with_jobs_only_what_they_cannot_notice_is_done(tmp_path: pathlib.Path, controllers: Mapping[str, Mapping[str, object]]) -> None:
    assert put_right(tmp_path, controllers=controllers) == {"train-0", "control-1", *EVERY_QUIET}


def test_where_no_controller_answers_every_node_counts_as_busy(tmp_path: pathlib.Path) -> None:
    assert put_right(tmp_path, controllers={"control-0": {}, "control-1": {}}, SLURM_IS_SILENT="yes") == {"control-1", *EVERY_QUIET}


@pytest.mark.parametrize(
    "suffix", ["{{ lookup('pipe', 'touch harm') }}", "{% raw %}", "$(touch harm)", "'; touch harm; '", " with spaces", "-leading", ": colon", "line\nbreak"]
)
def test_a_file_name_is_neither_a_template_nor_a_shell_command(tmp_path: pathlib.Path, suffix: str) -> None:
    made = put_right(tmp_path, controllers={"control-0": {}, "control-1": {}}, suffix=suffix)
    assert {name for name in made if not name.endswith(QUIET)} == {f"train-0{suffix}", f"control-1{suffix}"}
