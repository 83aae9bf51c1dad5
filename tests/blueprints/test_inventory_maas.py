"""Machines of MAAS: they become the same hosts as those of other inventories, and what can't be read is found at its place."""

import json
import pathlib
from typing import Any

import pytest

from blueprints import spec
from blueprints.codes import Code
from tests.blueprints import test_inventory
from tests.blueprints.test_inventory import ADDRESSES, KEYS, RAIL


def mac(name: str) -> str:
    return f"B8:3F:D2:00:00:{len(name):02}" if name not in ADDRESSES else f"B8:3F:D2:00:01:{[*ADDRESSES].index(name):02}"


def machine(name: str, **more: Any) -> dict[str, Any]:
    """Give a machine as MAAS 3.5 answers, as far as it is read, with some of what isn't."""
    links = [{"id": 7, "mode": "auto", "ip_address": ADDRESSES[name], "subnet": {"cidr": "10.20.0.0/24"}}] if name in ADDRESSES else []
    boot = {"id": 1, "name": "eno1", "type": "physical", "mac_address": mac(name), "effective_mtu": 1500, "links": links}
    return {
        "system_id": f"id-{name}",
        "hostname": name,
        "fqdn": f"{name}.maas",
        "status_name": "Deployed",
        "pool": {"id": 0, "name": "slurm", "description": ""},
        "tag_names": ["virtual"],
        "ip_addresses": [one["ip_address"] for one in links],
        "boot_interface": boot,
        "interface_set": [boot],
        "hardware_info": {"system_vendor": "Unknown", "system_serial": "Unknown"},
        "workload_annotations": {"ssh_host_key": KEYS[name]} if name in KEYS else {},
        **more,
    }


def rail(name: str, **more: Any) -> dict[str, Any]:
    link = {"mode": "static", "ip_address": "10.40.0.11", "subnet": {"cidr": "10.40.0.0/24"}}
    return {"name": name, "type": "physical", "mac_address": "b8:3f:d2:00:11:22", "effective_mtu": 9000, "links": [link], **more}


MACHINES = [machine("head"), machine("login"), machine("gpu-1"), machine("gpu-2"), machine("spare", pool={"name": "default"}, status_name="Ready")]
MACHINES[2] |= {
    "interface_set": [*MACHINES[2]["interface_set"], rail("rail0"), rail("bond0", type="bond"), rail("eth9", links=[{"mode": "link_up"}], mac_address=None)],
    "hardware_info": {"system_serial": "MX1"},
    "ip_addresses": ["10.40.0.11", "2001:db8::1", ADDRESSES["gpu-1"]],
    "tag_names": ["gpu"],
}
POWER = {"id-gpu-1": {"power_address": "https://10.30.0.11:443", "power_user": "maas", "power_pass": "secret"}, "id-gpu-2": {"power_address": ""}}


@pytest.mark.parametrize("group", ["", "slurm"])
def test_machines_of_maas_are_hosts(group: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "maas.json").write_text(json.dumps({"machines": MACHINES, "power_parameters": POWER}))
    found = test_inventory.hosts(tmp_path, {"file": "maas.json", "format": "maas", **({"group": group} if group else {})})
    assert [(host.name, host.address, host.host_key) for host in found] == [(name, ADDRESSES[name], KEYS[name]) for name in ADDRESSES]
    assert [(host.bmc, host.serial) for host in found] == [("", ""), ("", ""), ("10.30.0.11", "MX1"), ("", "")]
    assert found[2].interfaces == (spec.SiteInterface("eno1", mac=mac("gpu-1").lower()), RAIL)


def test_the_list_that_maas_prints_is_enough(tmp_path: pathlib.Path) -> None:
    (tmp_path / "maas.json").write_text(json.dumps(MACHINES))
    assert [host.address for host in test_inventory.hosts(tmp_path, {"file": "maas.json", "format": "maas"})] == [*ADDRESSES.values()]


def test_the_address_may_be_that_of_a_bond(tmp_path: pathlib.Path) -> None:
    plain = machine("gpu-2")
    slave = {**plain["boot_interface"], "links": [], "parents": []}
    bond = {**plain["boot_interface"], "name": "bond0", "type": "bond", "mac_address": slave["mac_address"], "links": [], "parents": ["eno1", "eno2"]}
    bridge = {**plain["boot_interface"], "name": "br0", "type": "bridge", "parents": ["bond0"]}
    bonded = {**plain, "boot_interface": slave, "interface_set": [rail("rail0"), slave, bridge, bond], "ip_addresses": ["10.40.0.11", "10.20.0.12"]}
    (tmp_path / "maas.json").write_text(json.dumps([*MACHINES[:2], machine("gpu-1"), bonded]))
    assert test_inventory.hosts(tmp_path, {"file": "maas.json", "format": "maas"})[3].address == "10.20.0.12"


def test_only_machines_of_the_named_pool_or_tag_count(tmp_path: pathlib.Path) -> None:
    (tmp_path / "maas.json").write_text(json.dumps(MACHINES))
    for group, unknown in (("gpu", ["head", "login", "gpu-2"]), ("default", ["head", "login", "gpu-[1-2]"])):
        found = test_inventory.faults(tmp_path, {"file": "maas.json", "format": "maas", "group": group})
        assert {fault.code for fault in found} == {Code.HOST_UNKNOWN}
        assert all(any(name in fault.what for fault in found) for name in unknown), [fault.what for fault in found]
        assert len(found) == len(unknown)


def test_a_machine_that_is_not_deployed_has_no_address(tmp_path: pathlib.Path) -> None:
    ready = machine("gpu-2", boot_interface=None, interface_set=[], ip_addresses=[])
    (tmp_path / "maas.json").write_text(json.dumps([*MACHINES[:3], ready], indent=1))
    [fault] = test_inventory.faults(tmp_path, {"file": "maas.json", "format": "maas"})
    assert (fault.code, fault.what) == (Code.HOST_ADDRESS_MISSING, "the inventory has no address for gpu-2")
    assert fault.remedy.startswith("deploy the machine")
    assert fault.where is not None
    assert fault.where.text.strip() == '"hostname": "gpu-2",'


@pytest.mark.parametrize(("text", "said"), [("{", "this is not JSON"), ("{}", "has no machines of MAAS"), ("[1]", "has no machines of MAAS")])
def test_what_maas_does_not_print_is_refused(text: str, said: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "maas.json").write_text(text)
    assert any(said in fault.what for fault in test_inventory.faults(tmp_path, {"file": "maas.json", "format": "maas"}))
