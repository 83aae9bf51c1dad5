"""The record of a host's packages takes in what a role installs later, and nothing that somebody else changed."""

import importlib
from typing import Any

import ansible.module_utils
import pytest

from blueprints.project import project_root

ansible.module_utils.__path__.append(str(project_root() / "playbooks" / "module_utils"))
host_record = importlib.import_module("host_record")

LISTED = """\
slurmrestd
  Depends: libhttp-parser2.9
  PreDepends: slurm-client
 |Depends: <virtual>
    absent-alternative
libhttp-parser2.9
  Depends: libc6
slurm-client
libc6
<virtual>
"""
RECORDED: dict[str, Any] = {"format": 1, "places": {"/etc/motd": {"kind": "absent"}}, "packages": {"libc6": {"version": "1", "held": False}}}
PRESENT = {
    "libc6": {"version": "2", "held": False},
    "libhttp-parser2.9": {"version": "2.9", "held": False},
    "nmap": {"version": "7", "held": False},
    "slurmrestd": {"version": "24.11", "held": True},
}


def test_packages_are_recorded_with_what_they_need_and_no_others() -> None:
    found = host_record.with_packages(RECORDED, ["slurmrestd"], LISTED, PRESENT)
    added = {name: PRESENT[name] for name in ("slurmrestd", "libhttp-parser2.9")}
    assert found == {**RECORDED, "packages": {**RECORDED["packages"], **added}}, "another version of libc6 and a package by hand are drift still"


@pytest.mark.parametrize("held", [True, False])
def test_a_package_of_the_role_is_recorded_as_the_role_left_it(held: bool) -> None:
    before = {**RECORDED, "packages": {"slurmrestd": {"version": "22.05", "held": not held}}}
    present = {"slurmrestd": {"version": "24.11", "held": held}}
    assert host_record.with_packages(before, ["slurmrestd"], "slurmrestd\n", present)["packages"] == present
