"""The files from which Multus gives pods an interface: on top of which interface of a node, and with which addresses."""

import json
from typing import Any

from tests.playbooks import templates

RAIL, BONDED, VIRTUAL = "02:00:00:00:01:0b", "02:00:00:00:03:0b", "02:00:00:00:04:0b"
LINKS = [
    {"ifname": "lo", "address": "00:00:00:00:00:00"},
    {"ifname": "enp5s0.7", "link": "enp5s0", "address": RAIL},
    {"ifname": "enp6s0", "master": "bond0", "address": BONDED},
    {"ifname": "bond0", "address": BONDED},
    {"ifname": "veth1", "link": "veth0", "address": VIRTUAL},
    {"ifname": "enp5s0", "link_index": 9, "address": RAIL},
    {"ifname": "host0", "link_index": 3, "address": "02:00:00:00:00:0b", "addr_info": [{"family": "inet", "local": "10.20.0.11", "prefixlen": 24}]},
    {"ifname": "rail1", "address": "02:00:00:00:02:0b"},
]
FILE = "/etc/cni/multus/net.d/{}.conf"


def network(name: str, macs: dict[str, str] | None = None) -> dict[str, Any]:
    own = {"name": name, "cidr": "10.40.0.0/24", "first": "10.40.0.128", "last": "10.40.0.254"}
    return own if macs is None else {**own, "macs": macs}


def known(*networks: dict[str, Any], host: str = "gpu-1", before: tuple[str, ...] = ()) -> dict[str, Any]:
    kubernetes = {"secondary_networks": [*networks]} if networks else {}
    return {"spec": {"kubernetes": kubernetes}, "inventory_hostname": host, "kubeadm_node_networks_before": {"stdout_lines": [*before]}}


def written(variables: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the configuration of each file."""
    networks = templates.value("kubeadm_node_networks", role="kubeadm_node", **variables)
    files = templates.evaluate("{{ networks | multus_files(host, '10.20.0.11', links) }}", networks=networks, host=variables["inventory_hostname"], links=LINKS)
    return {one["path"]: json.loads(one["content"]) for one in files if "content" in one}


def gone(variables: dict[str, Any]) -> list[str]:
    found = templates.value("kubeadm_node_networks_gone", role="kubeadm_node", **variables)
    return sorted(map(str, found))


def test_pods_get_their_interface_on_the_port_that_has_the_rails_hardware_address() -> None:
    """A VLAN of the port has the same one, and a bond has that of its ports. Without one, the interface has the rail's name."""
    wanted = {RAIL: "enp5s0", BONDED: "bond0", VIRTUAL: "veth1", "": "rail1"}
    for mac, master in wanted.items():
        [plugin] = written(known(network("rail1", {"gpu-1": mac}))).values()
        assert plugin["master"] == master


def test_addresses_of_pods_are_the_blueprints_part_of_the_whole_network() -> None:
    [plugin] = written(known(network("rail0", {"gpu-1": RAIL}))).values()
    assert (plugin["type"], plugin["name"]) == ("macvlan", "rail0")
    assert plugin["ipam"] == {"type": "whereabouts", "range": "10.40.0.0/24", "range_start": "10.40.0.128", "range_end": "10.40.0.254"}


def test_a_node_without_the_interface_has_no_file() -> None:
    assert written(known(network("rail0", {"gpu-2": RAIL}))) == {}


def test_hosts_of_this_machine_use_the_interface_of_their_own_address() -> None:
    """Without one, macvlan of Debian 13 says that there is no interface of a default route."""
    [plugin] = written(known(network("rail0"))).values()
    assert plugin["master"] == "host0"


def test_multus_goes_with_the_last_network_and_stays_with_any_other() -> None:
    """Without its pods, its file would keep containerd from starting any pod."""
    before = ("/etc/cni/net.d/00-multus.conf", FILE.format("rail0"), FILE.format("rail1"))
    assert gone(known(before=before)) == sorted(before)
    assert gone(known(network("rail0", {"gpu-1": RAIL}), before=before)) == [FILE.format("rail1")]
    assert gone(known(network("rail0"), network("rail1"), before=before)) == []
