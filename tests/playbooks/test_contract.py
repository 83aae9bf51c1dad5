"""validate.yml stops a run whose inventory or variables are not what the playbooks expect, and says what is wrong."""

import copy
import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from blueprints import spec
from tests.playbooks import clusters, templates

Variables = dict[str, Any]
contract_problems: Any = importlib.import_module("contract_problems")
VERSIONS = dict.fromkeys(("24.11", "22.05", "23.11"))


def problems(spec: Variables, secrets: Variables = clusters.SECRETS, groups: dict[str, list[str]] | None = None) -> list[str]:
    inventory = {"control": ["control-0"], "access": ["login-0"]} if groups is None else groups
    hosts = {host: {"ansible_host": "10.80.0.10"} for names in inventory.values() for host in names}
    return list(contract_problems.contract_problems(spec, secrets, groups=inventory, hostvars=hosts, versions=VERSIONS))


def test_a_resolved_cluster_has_no_problems() -> None:
    assert problems(clusters.cluster()) == []


def _set(*path: str | int, to: Any) -> Callable[[Variables], None]:
    def change(spec: Variables) -> None:
        target: Any = spec
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = to

    return change


BROKEN: list[tuple[Callable[[Variables], None], str]] = [
    (_set("software", "slurm", to="17.11"), "Slurm 17.11 of profile debian-13 is unknown to the playbooks: they know 22.05 and 23.11 and 24.11."),
    (_set("storage", to=[]), "No file system is mounted at /home: a user's files would differ from host to host."),
    (_set("users", 0, "uid", to=7), "User ada has uid 7; numbers from 1000 to 60000 belong to people."),
    (_set("users", 0, "default_account", to="other"), "User ada has default account other but is not one of its users."),
    (_set("accounts", 0, "users", to=["ada", "bob"]), "Account research has user bob, who is not described."),
    (_set("users", 0, "uid", to=60_001), "User ada has uid 60001; numbers from 1000 to 60000 belong to people."),
    (_set("slurm", "control", "count", to=0), "A Slurm cluster needs a controller, and spec.slurm.control.count is 0."),
    (lambda spec: spec["users"].append(spec["users"][0] | {"name": "eve"}), "Two users have the same uid."),
    (_set("access", "prefix", to="control"), "Two groups of hosts are named control-0 and on."),
    (_set("access", "prefix", to="gate"), "Inventory group access has host login-0, which the spec does not have there."),
]


@pytest.mark.parametrize(("change", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_each_contradiction_is_named(change: Callable[[Variables], None], said: str) -> None:
    spec = clusters.cluster()
    change(spec)
    assert said in problems(spec)


def test_two_default_partitions_and_two_descriptions_of_one_are_named() -> None:
    twice = clusters.cluster(clusters.node_set(), clusters.node_set("debug"))
    assert problems(twice) == ["More than one partition is the default one."]
    differing = clusters.cluster(clusters.node_set(partition="batch"), clusters.node_set("debug", partition="batch", default=False))
    assert problems(differing) == ["Partition batch is described in two ways, by pools train and debug."]


def test_a_host_outside_of_the_spec_and_one_without_address_are_named() -> None:
    assert problems(clusters.cluster(), groups={"compute": ["train-2"]}) == ["Inventory group compute has host train-2, which the spec does not have there."]


def test_a_host_without_an_address_is_named() -> None:
    spec = clusters.cluster()
    found = contract_problems.contract_problems(spec, clusters.SECRETS, groups={"control": ["control-0"]}, hostvars={"control-0": {}}, versions=VERSIONS)
    assert found == ["Inventory host control-0 has no ansible_host."]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("munge_key", "c2hvcnQ=", "secrets.munge_key is not the base64 form of at least 32 bytes."),
        ("database_password", "it's", "secrets.database_password has less than 12 characters, or others than letters, digits and ._~-"),
    ],
)
def test_secrets_that_no_daemon_would_take_are_named_but_not_shown(name: str, value: str, said: str) -> None:
    assert problems(clusters.cluster(), {**clusters.SECRETS, name: value}) == [said]


def _ansible(tmp_path: pathlib.Path, variables: Variables) -> subprocess.CompletedProcess[str]:
    inventory, extra = tmp_path / "inventory.json", tmp_path / "variables.json"
    inventory.write_text(json.dumps({"control": {"hosts": {"control-0": {"ansible_host": "192.0.2.1"}}}}))
    extra.write_text(json.dumps(variables))
    program = pathlib.Path(sys.executable).with_name("ansible-playbook")
    environment = {**os.environ, "ANSIBLE_CONFIG": str(templates.PLAYBOOKS / "ansible.cfg"), "ANSIBLE_HOME": str(tmp_path), "ANSIBLE_NOCOLOR": "1"}
    command = [str(program), "-i", str(inventory), "-e", f"@{extra}", str(templates.PLAYBOOKS / "validate.yml")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)


def test_the_play_passes_a_good_cluster_without_touching_its_hosts(tmp_path: pathlib.Path) -> None:
    gpus = spec.Gpus("h100", 8, simulated=True, mig=(spec.MigSlices("1g.10gb", 7),))
    divided = clusters.node_set("dev", default=False, on=dataclasses.replace(clusters.machine(), gpus=gpus))
    ended = _ansible(tmp_path, {"spec": clusters.cluster(clusters.node_set(), divided), "secrets": clusters.SECRETS})
    assert ended.returncode == 0, ended.stdout


def test_the_play_stops_a_cluster_of_another_shape_and_shows_no_secret(tmp_path: pathlib.Path) -> None:
    other = copy.deepcopy(clusters.cluster())
    del other["slurm"]["control"]["count"]
    ended = _ansible(tmp_path, {"spec": other, "secrets": clusters.SECRETS})
    assert ended.returncode != 0
    assert "count" in ended.stdout
    wrong = {**clusters.SECRETS, "database_password": ["planted-marker-0815"]}
    ended = _ansible(tmp_path, {"spec": clusters.cluster(), "secrets": {**wrong, "munge_key": {"planted-marker-0815": 1}}})
    assert ended.returncode != 0
    assert "planted-marker-0815" not in ended.stdout + ended.stderr
