"""Rails of servers that exist: set up by the network service that each distribution has, and never at the price of the way in."""

import functools
import importlib
import ipaddress
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints import project
from tests.hosts import plain, plays, rails
from tests.hosts.deployment import wait_until
from tests.playbooks import test_roce

pytestmark = pytest.mark.hosts
sys.path.insert(0, str(project.project_root() / "playbooks/roles/acceptance/files"))  # as nodes import it

NETWORKD, NETPLAN, IFUPDOWN = "networkd-1", "netplan-1", "ifupdown-1"
ELSEWHERE = "10.41.0.0/16"
PACKETS = 50
SETTLED = ("ip -json -4 address show", "ip -json -4 rule show", "ip -json -4 route show table all", "ip -json link show")
OWN_FILES = "find /etc/netplan /etc/systemd/network /etc/systemd/system /etc/network /etc/sysctl.d -type f -exec sha256sum {} + 2>/dev/null | sort"


@pytest.fixture(scope="module")
def servers() -> Iterator[plain.PlainHosts]:
    """One server of each network service, with four rails."""
    with plain.plain_hosts("network-rails", 3, suites=("trixie", "noble", "bookworm"), interfaces=5, names=(NETWORKD, NETPLAN, IFUPDOWN)) as made:
        one = made[NETWORKD]
        text = f"[Match]\nName=host0\n\n[Network]\nAddress={one.address}/24\nGateway={made.gateway}\n"
        made.inside(NETWORKD, "sh", "-c", "cat >/etc/systemd/network/20-host0.network", stdin=text)
        made.inside_all(NETWORKD, "sh", "-c", "systemctl disable --quiet --now networking; systemctl enable --quiet --now systemd-networkd")
        rails.open_for_finishing(made)
        yield made


@pytest.fixture
def clean(servers: plain.PlainHosts) -> Iterator[plain.PlainHosts]:
    """The servers, whose rails are taken back afterwards."""
    yield servers
    for name in servers.servers:
        program(servers, name, "remove")


def program(servers: plain.PlainHosts, name: str, verb: str, order: Any = None) -> str:
    words = "if [ -e /usr/lib/clusterwright/rails/__main__.py ]; then cd /usr/lib/clusterwright; exec python3 -B -m rails"
    return servers.inside_all(name, "sh", "-c", f"{words} {verb} <<'END'\n{json.dumps(order)}\nEND\nfi")


def state(servers: plain.PlainHosts, name: str) -> list[Any]:
    """Give what the kernel and the files have: without counters and lifetimes, which pass by themselves."""
    found = [json.loads(servers.inside(name, *words.split()) or "[]") for words in SETTLED]
    passing = ("valid_life_time", "preferred_life_time", "operstate", "flags", "linkmode", "qdisc")
    kept = json.loads(json.dumps(found), object_hook=lambda entry: {key: value for key, value in entry.items() if key not in passing})
    routes = sorted(json.dumps(route) for route in kept[2] if route.get("dev") != "host0")  # its owner's, and not of this matter
    return [kept[0], kept[1], routes, kept[3], servers.inside(name, "sh", "-c", OWN_FILES)]


def has(servers: plain.PlainHosts, name: str, address: str) -> bool:
    return address in servers.inside(name, "ip", "-4", "address")


def is_set_up(servers: plain.PlainHosts, name: str, interfaces: Any) -> bool:
    return bool(json.loads(program(servers, name, "status", {"interfaces": interfaces}))["changes"] == [])


def sent(servers: plain.PlainHosts, name: str) -> dict[str, int]:
    return {one: int(servers.inside(name, "cat", f"/sys/class/net/{one}/statistics/tx_packets")) for one in ("host0", "eth1", "eth2", "eth3", "eth4")}


def test_rails_are_set_up_and_a_second_run_changes_nothing_and_removal_restores_what_was_there(clean: plain.PlainHosts, tmp_path: Path) -> None:
    wanted = {name: rails.rails(clean[name]) for name in clean.servers}
    before = {name: state(clean, name) for name in clean.servers}
    first = rails.set_up(clean, wanted, tmp_path)
    assert first.ok, first
    for name in clean.servers:
        links = {link["ifname"]: link for link in json.loads(clean.inside(name, "ip", "-json", "address", "show"))}
        for number, rail in enumerate(wanted[name], start=1):
            found = links[f"eth{number}"]
            assert (found["mtu"], found["operstate"]) == (9000, "UP")
            assert rail["address"] in {f"{one['local']}/{one['prefixlen']}" for one in found["addr_info"]}
    second = rails.set_up(clean, wanted, tmp_path)
    assert second.ok, second
    assert second.changed == 0
    for name in clean.servers:
        program(clean, name, "remove")
    assert {name: state(clean, name) for name in clean.servers} == before


def test_a_rail_in_a_partition_is_the_interface_below_that_of_its_port(clean: plain.PlainHosts, tmp_path: Path) -> None:
    """These servers have no InfiniBand: an interface of another kind has the name of the partition's."""
    wanted = {name: [rails.rail(clean[name], 1, mtu=1400, partition_key="0x8001")] for name in clean.servers}
    for name in clean.servers:
        clean.inside(name, "ip", "link", "set", "eth1", "up")  # it has its carrier from there
        clean.inside(name, "ip", "link", "add", "link", "eth1", "name", "eth1.8001", "type", "macvlan")
    try:
        before = {name: state(clean, name) for name in clean.servers}
        first = rails.set_up(clean, wanted, tmp_path)
        assert first.ok, first
        for name in clean.servers:
            links = {link["ifname"]: link for link in json.loads(clean.inside(name, "ip", "-json", "-4", "address", "show"))}
            assert wanted[name][0]["address"] in {f"{one['local']}/{one['prefixlen']}" for one in links["eth1.8001"]["addr_info"]}
            assert links["eth1.8001"]["mtu"] == 1400
            assert "eth1" not in links or links["eth1"]["addr_info"] == []
        assert rails.set_up(clean, wanted, tmp_path).changed == 0
        for name in clean.servers:
            program(clean, name, "remove")
        assert {name: state(clean, name) for name in clean.servers} == before
    finally:
        for name in clean.servers:
            clean.inside(name, "ip", "link", "delete", "eth1.8001")


def test_the_interface_of_ssh_is_left_alone_when_its_file_was_written_again(clean: plain.PlainHosts, tmp_path: Path) -> None:
    clean.inside_all(NETPLAN, "systemctl", "daemon-reload")  # has netplan write the files of all interfaces
    before = state(clean, NETPLAN)
    assert rails.set_up(clean, {NETPLAN: rails.rails(clean[NETPLAN])}, tmp_path).ok
    assert "host0: Reconfiguring" not in clean.inside_all(NETPLAN, "journalctl", "--boot", "--no-pager", "--unit=systemd-networkd")
    assert accepted(clean, NETPLAN) == []
    program(clean, NETPLAN, "remove")
    assert state(clean, NETPLAN) == before


@pytest.mark.soak
def test_rails_are_set_up_again_after_a_reboot(clean: plain.PlainHosts, tmp_path: Path) -> None:
    wanted = {name: rails.rails(clean[name]) for name in clean.servers}
    assert rails.set_up(clean, wanted, tmp_path).ok
    for name in clean.servers:
        clean.power_off(name)
        clean.power_on(name)
    for name, interfaces in wanted.items():
        wait_until(functools.partial(is_set_up, clean, name, interfaces), awaiting=f"the rails of {name} after a reboot", within_s=30)


def test_a_packet_of_rail_3_leaves_by_rail_3(clean: plain.PlainHosts, tmp_path: Path) -> None:
    names = [*clean.servers]
    own = {}
    for name, neighbour in zip(names, [*names[1:], names[0]], strict=True):
        last = clean[neighbour].address.rsplit(".", 1)[1]
        # Every rail leads there: without rules of its own, a packet would take the first.
        own[name] = [rails.rail(clean[name], number, routes=[{"to": ELSEWHERE, "via": f"10.40.{number}.{last}"}]) for number in range(1, 5)]
    outcome = rails.set_up(clean, own, tmp_path)
    assert outcome.ok, outcome
    for name in names:
        before = sent(clean, name)
        source = own[name][2]["address"].split("/")[0]
        clean.inside(name, "sh", "-c", f"ping -q -c {PACKETS} -i 0.002 -W 1 -I {source} {ipaddress.ip_network(ELSEWHERE)[5]} || true")
        more = {one: count - before[one] for one, count in sent(clean, name).items()}
        assert more["eth3"] >= PACKETS
        assert max(more["eth1"], more["eth2"], more["eth4"], more["host0"]) < PACKETS / 2


def accepted(servers: plain.PlainHosts, *chosen: str) -> list[tuple[str, str, str]]:
    """Have every server look at its rails as acceptance's job step does, and give the faults: check, server, what was measured."""
    judge_rails, expectation, allocation = (importlib.import_module(f"acceptance.{module}") for module in ("judge_rails", "expectation", "allocation"))
    names = chosen or tuple(servers.servers)
    expected = {name: tuple(expectation.Rail(gbps=0, **rail) for rail in rails.rails(servers[name])) for name in names}
    nodes = expectation.NodeSet("train", names, cpus=1, gpu_type="", gpu_count=0, simulated=True, machines_exist=True, applicant=None, rails=expected)
    text = (project.project_root() / "playbooks/roles/acceptance/files/acceptance/rails.py").read_text()
    given = json.dumps(allocation.rails_of(nodes, names))
    lines = []
    for name in names:
        printed = servers.inside(name, "env", f"SLURMD_NODENAME={name}", "SLURM_PROCID=0", "python3", "-c", text, stdin=given)
        lines += importlib.import_module("acceptance.steps").json_lines(printed)
    checks = judge_rails.rails(nodes, names, {"lines": lines, "error": ""})
    assert {check.name for check in checks} == ({"rails", "rail routes", "rail packets"} if len(names) > 1 else {"rails"})
    return [(check.name, check.node, check.measured) for check in checks if check.verdict.value != "pass"]


def test_acceptance_names_the_one_rail_with_a_wrong_mtu(clean: plain.PlainHosts, tmp_path: Path) -> None:
    assert rails.set_up(clean, {name: rails.rails(clean[name]) for name in clean.servers}, tmp_path).ok
    assert accepted(clean) == []
    clean.inside(NETPLAN, "ip", "link", "set", "eth3", "mtu", "1500")
    # A server refuses what is larger than its own MTU and drops what others send.
    assert accepted(clean) == [
        ("rails", NETPLAN, "rail3 (eth3) has the MTU 1500, not 9000"),
        ("rail packets", NETWORKD, f"rail3: 9000 bytes don't reach {NETPLAN} (no answer), 1500 do"),
        ("rail packets", NETPLAN, f"rail3: 9000 bytes don't reach {IFUPDOWN} (Message too long), 1500 do"),
    ]


def test_acceptance_names_a_rail_whose_packets_leave_by_another(clean: plain.PlainHosts, tmp_path: Path) -> None:
    assert rails.set_up(clean, {name: rails.rails(clean[name]) for name in clean.servers}, tmp_path).ok
    clean.inside(IFUPDOWN, "sh", "-c", "ip rule del priority 4101; ip route add 10.40.2.0/25 dev eth1")
    assert ("rail routes", IFUPDOWN, "packets of eth2 leave by eth1") in accepted(clean)
    clean.inside(IFUPDOWN, "ip", "route", "del", "10.40.2.0/25")


def test_a_setting_that_cuts_ssh_is_taken_back_by_the_host(clean: plain.PlainHosts, tmp_path: Path) -> None:
    before = {name: state(clean, name) for name in clean.servers}
    # The way back to whoever is logged in leads into the rail.
    cutting = {name: [rails.rail(clean[name], 1, routes=[{"to": f"{clean.gateway}/32", "via": "10.40.1.200"}])] for name in clean.servers}
    outcome = rails.set_up(clean, cutting, tmp_path, confirm_within_s=8)
    assert {(failure.host, failure.unreachable) for failure in outcome.failures} == {(name, False) for name in clean.servers}
    for failure in outcome.failures:
        assert "were taken back: nobody confirmed them over a new SSH connection in time" in failure.message
        assert clean.ssh(failure.host, "hostname").strip() == failure.host
    assert {name: state(clean, name) for name in clean.servers} == before


@pytest.mark.soak
def test_what_nobody_confirmed_does_not_survive_a_reboot(clean: plain.PlainHosts, tmp_path: Path) -> None:
    assert rails.set_up(clean, {name: [rails.rail(clean[name], 4)] for name in clean.servers}, tmp_path).ok  # brings the program
    before = {name: state(clean, name)[4] for name in clean.servers}
    for name in clean.servers:
        program(clean, name, "begin", {"interfaces": rails.rails(clean[name]), "confirm_within_s": 600})
        wait_until(functools.partial(has, clean, name, "10.40.1."), awaiting=f"the change of {name}", within_s=30)
        clean.power_off(name)
        clean.power_on(name)
        wait_until(functools.partial(has, clean, name, "10.40.4."), awaiting=f"the rail of {name} that was confirmed", within_s=30)
        assert not has(clean, name, "10.40.1.")
    assert {name: state(clean, name)[4] for name in clean.servers} == before


@pytest.mark.soak
def test_a_rail_that_leaves_the_inventory_is_taken_back_alone(clean: plain.PlainHosts, tmp_path: Path) -> None:
    both = {name: [rails.rail(clean[name], 1), rails.rail(clean[name], 2)] for name in clean.servers}
    assert rails.set_up(clean, both, tmp_path).ok
    assert rails.set_up(clean, {name: interfaces[:1] for name, interfaces in both.items()}, tmp_path).ok
    for name in clean.servers:
        shown = clean.inside(name, "ip", "-4", "-oneline", "address")
        assert "10.40.1." in shown
        assert "10.40.2." not in shown
        assert "10.40.2." not in clean.inside(name, "ip", "rule")


def test_the_interface_of_ssh_is_refused_another_address(clean: plain.PlainHosts, tmp_path: Path) -> None:
    server = clean[NETWORKD]
    outcome = rails.set_up(clean, {NETWORKD: [rails.rail(server, 1, mac=server.macs[0])]}, tmp_path)
    [failure] = outcome.failures
    assert f"carries this SSH connection with the address {server.address}, and the inventory gives it 10.40.1." in failure.message


def test_a_missing_interface_is_named_with_those_that_are_there(clean: plain.PlainHosts, tmp_path: Path) -> None:
    server = clean[IFUPDOWN]
    outcome = rails.set_up(clean, {IFUPDOWN: [rails.rail(server, 1, mac="02:00:00:00:00:01")]}, tmp_path)
    [failure] = outcome.failures
    assert "no interface of this host has the hardware address 02:00:00:00:00:01" in failure.message
    assert f"eth1 ({server.macs[1]})" in failure.message


NIC = {
    "net/eth1/address": "02:00:00:00:00:01",
    "net/eth1/device/vendor": "0x15b3",
    "net/eth1/device/infiniband/mlx5_0/x": "",
    "infiniband/mlx5_0/ports/1/link_layer": "Ethernet",
}


def test_roce_is_set_up_by_its_role_and_at_boot_and_undone(servers: plain.PlainHosts, tmp_path: Path) -> None:
    """The NIC is simulated: folders in the place of the kernel's, and a stand-in for dcb(8)."""
    name, own = NETWORKD, {"app": {"26": "5"}, "pfc": {str(priority): "off" for priority in range(8)}}
    variables = {
        "roce_interfaces": [{"name": "rail0", "mac": NIC["net/eth1/address"]}],
        "roce_marking": test_roce.MARKING,
        "roce_catalog_files": [str(project.project_root() / "blueprints/catalog/roce.yaml")],
    }
    folder = "/srv/nic"
    for path, content in NIC.items():
        servers.inside(name, "sh", "-c", f"mkdir -p $(dirname {folder}/{path}); cat >{folder}/{path}", stdin=content)
    servers.inside(name, "sh", "-c", "cat >/usr/local/bin/dcb; chmod 755 /usr/local/bin/dcb", stdin=test_roce.DCB)

    def table(content: Any = None) -> Any:
        if content is not None:
            servers.inside(name, "sh", "-c", "cat >/usr/local/bin/state.json", stdin=json.dumps({"eth1": content}))
        return json.loads(servers.inside(name, "cat", "/usr/local/bin/state.json"))["eth1"]

    def role(tasks: str) -> int:
        return plays.changed(plays.run(servers, [name], [tasks], variables, folder=tmp_path))

    table(own)
    servers.inside_all(name, "mount", "--bind", folder, "/sys/class")
    try:
        assert role("roce") > 0
        wanted = table()
        assert (wanted["app"], wanted["pfc"]["3"]) == ({"26": "3", "48": "6"}, "on")
        table(own)  # the boot
        servers.inside_all(name, "systemctl", "restart", "clusterwright-roce.service")
        assert table() == wanted
        assert role("roce") == 0
        table({**wanted, "app": {"26": "3"}})  # the driver lost a part
        assert role("roce") > 0
        assert table() == wanted
        assert role("roce/absent") > 0
        assert table() == own
        assert servers.inside(name, "find", "/etc", "/usr/lib/clusterwright", "/var/lib/clusterwright", "-name", "*roce*", "-type", "f") == ""
    finally:
        servers.inside_all(name, "umount", "/sys/class")
