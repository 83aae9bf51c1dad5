"""Cables between hosts of this machine and its bridge: named by an address, which may be another host's by the time that a host goes."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.local.machine import host as hosts
from components.local.machine import names, record
from components.local.machine.names import HostNames, StackNames

INTERFACE = "cwtstcbl.e101"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes interfaces")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostNames:
    """A host that ran with the cable, and runs no more."""
    monkeypatch.setattr(names, "RUN_ROOT", tmp_path / "run")
    monkeypatch.setattr(names, "STATE_ROOT", tmp_path / "state")
    one = StackNames("test-cables").host("train-0")
    one.run.mkdir(parents=True)
    record.write(one.leader, {"pid": 2**22, "started": 0, "interface": INTERFACE, "boot": ""})
    return one


@pytest.fixture
def cable() -> Iterator[Path]:
    subprocess.run(["ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", f"{INTERFACE[:-4]}e102"], check=True)
    yield Path(f"/sys/class/net/{INTERFACE}")
    subprocess.run(["ip", "link", "del", INTERFACE], check=False, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize(("hostname", "stays"), [("train-0", False), ("batch-0", True)])
def test_a_host_that_goes_takes_its_own_cable_and_not_that_of_the_host_that_has_its_address_now(
    host: HostNames, cable: Path, hostname: str, stays: bool
) -> None:
    subprocess.run(["ip", "link", "set", INTERFACE, "alias", f"{host.names.label}:{hostname}"], check=True)
    hosts.kill(host)
    assert cable.exists() is stays
