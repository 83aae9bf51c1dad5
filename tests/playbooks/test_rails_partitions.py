"""Rails in an InfiniBand partition: the program for rails sets up the partition's interface, and never that of the port."""

import dataclasses
import importlib
import sys
from typing import Any

import pytest

from blueprints.project import project_root

sys.path.insert(0, str(project_root() / "playbooks/roles/rails/files"))
files, live, wanted = (importlib.import_module(f"rails.{name}") for name in ("files", "live", "wanted"))

MAC = "00:00:10:28:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:aa:bb:cc"
PORT = live.Interface("ib0", "00:00:11:04" + MAC[11:], is_physical=True, mtu=2044, is_up=True, addresses=())
"""The kernel gave the port another queue pair than when its address was written down."""
OWN = dataclasses.replace(PORT, name="ib0.8001", mac="80:00:00:48" + MAC[11:], is_physical=False)
RAIL = {"name": "rail0", "mac": MAC, "address": "10.40.0.11/24", "mtu": 2044, "partition_key": "0x8001"}


def found(interfaces: tuple[Any, ...], **changes: Any) -> Any:
    [one] = live.find(wanted.read([{**RAIL, **changes}]), live.State(interfaces=interfaces, routes=(), rules=())).values()
    return one


def test_the_partitions_interface_is_set_up_by_its_name() -> None:
    assert found((PORT, OWN)).name == "ib0.8001"
    assert found((PORT, OWN), partition_key="").name == "ib0"
    rails = wanted.read([RAIL])
    text = files.networkd([(rails[0], found((PORT, OWN)))], {"rail0": files.Definition()})["/etc/systemd/network/05-clusterwright-rail0.network"].content
    assert "Name=ib0.8001\n" in text
    assert "MACAddress" not in text
    assert '"ib0.8001":' in files.netplan([(rails[0], found((PORT, OWN)))], {"rail0": files.Definition()})[files.NETPLAN].content


def test_a_missing_interface_of_a_partition_is_named() -> None:
    with pytest.raises(live.Failed, match=r"rail0: ib0\.8001, the interface of the InfiniBand partition 0x8001, is missing"):
        found((PORT,))


def test_an_interface_in_a_bond_is_refused_with_the_name_of_the_bond() -> None:
    first = live.Interface("eno1", "aa:00:00:00:00:01", is_physical=True, mtu=9000, is_up=True, addresses=(), bond="bond0")
    second = dataclasses.replace(first, name="eno2", mac="aa:00:00:00:00:02")
    bond = dataclasses.replace(first, name="bond0", is_physical=False, bond="")
    for one in (first, second):
        with pytest.raises(live.Failed, match=f"rail0: {one.name} is in the bond bond0, which has the addresses"):
            found((bond, first, second), mac=one.mac, partition_key="")
    assert found((bond, first, second), name="bond0", mac="", partition_key="") == bond
