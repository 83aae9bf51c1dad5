"""Hosts with names of their own: which of a stack's hosts belong to a group, and what each boots with."""

import dataclasses
from pathlib import Path

import pytest

from components.local import network, pool, recipe
from components.local.machine import disk, names
from components.local.machine import host as hosts
from components.local.machine.names import StackNames

INPUTS = recipe.HostPoolInputs(
    stack="named",
    site="token",
    group="train",
    role="compute",
    cluster="lab",
    prefix="train",
    count=2,
    first_address="10.80.1.0",
    cidr="10.80.0.0/20",
    gateway="10.80.0.1",
    bridge="cw-named",
    controllers=("head",),
    image="image",
    lowers=("lower",),
    mounts=(),
    simulated_gpus=0,
    admin_public_key="ssh-ed25519 AAAA",
    munge_key="",
    members="gpu-[007,012]",
)
BY_NUMBER = dataclasses.replace(INPUTS, members="")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (names, disk):
        monkeypatch.setattr(module, "STATE_ROOT", tmp_path / "state")
    monkeypatch.setattr(names, "RUN_ROOT", tmp_path / "run")


def made(name: str, group: str = "") -> None:
    hosts.make_disk(StackNames("named").host(name), image="image", group=group)


def present(inputs: recipe.HostPoolInputs) -> list[str]:
    return pool._present(inputs)


def test_a_named_host_belongs_to_the_group_that_made_it() -> None:
    made("gpu-007", "train")
    made("gpu-900", "train")
    made("login-1", "access")
    made("train-0")
    assert present(INPUTS) == ["gpu-007", "gpu-900", "train-0"], "one that left the group, and one that the group named by its number before"
    assert present(dataclasses.replace(INPUTS, group="access", prefix="login", members="login-1")) == ["login-1"]
    assert present(BY_NUMBER) == ["gpu-007", "gpu-900", "train-0"]
    assert present(dataclasses.replace(BY_NUMBER, group="login", prefix="login")) == [], "login-1 has a name of its own in another group"


def test_a_disk_without_a_record_is_the_groups_that_has_its_name() -> None:
    StackNames("named").host("gpu-012").upper.mkdir(parents=True)
    assert present(INPUTS) == ["gpu-012"]


def test_hosts_have_addresses_in_the_order_of_their_names() -> None:
    assert dict(INPUTS.numbers) == {"gpu-007": 0, "gpu-012": 1}
    assert [recipe.boot(INPUTS, number).address for number in INPUTS.numbers.values()] == ["10.80.1.0", "10.80.1.1"]
    inputs = network.NetworkInputs(
        "named", "token", "10.80.0.0/20", "10.80.0.1", "lab.internal", (network.HostRange("train", 2, "10.80.1.0", "gpu-[007,012]"),), {}
    )
    assert dict(network._addresses(inputs)) == {"gpu-007": "10.80.1.0", "gpu-012": "10.80.1.1"}
