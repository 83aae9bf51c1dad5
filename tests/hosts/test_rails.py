"""Rails of servers that exist: set up by the network service that each distribution has, and never at the price of the way in."""

import ipaddress
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import plain, rails
from tests.hosts.deployment import wait_until

pytestmark = pytest.mark.hosts

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


def sent(servers: plain.PlainHosts, name: str) -> dict[str, int]:
    return {one: int(servers.inside(name, "cat", f"/sys/class/net/{one}/statistics/tx_packets")) for one in ("host0", "eth1", "eth2", "eth3", "eth4")}


@pytest.mark.parametrize("name", [NETWORKD, NETPLAN, IFUPDOWN])
def test_rails_have_their_addresses_and_mtu_and_a_second_run_changes_nothing(clean: plain.PlainHosts, name: str, tmp_path: Path) -> None:
    wanted = {name: rails.rails(clean[name])}
    before = state(clean, name)
    first = rails.set_up(clean, wanted, tmp_path)
    assert first.ok, first
    assert first.changed
    links = {link["ifname"]: link for link in json.loads(clean.inside(name, "ip", "-json", "address", "show"))}
    for number, rail in enumerate(wanted[name], start=1):
        found = links[f"eth{number}"]
        assert (found["mtu"], found["operstate"]) == (9000, "UP")
        assert rail["address"] in {f"{one['local']}/{one['prefixlen']}" for one in found["addr_info"]}
    second = rails.set_up(clean, wanted, tmp_path)
    assert second.ok, second
    assert second.changed == 0
    program(clean, name, "remove")
    assert state(clean, name) == before


@pytest.mark.parametrize("name", [NETWORKD, NETPLAN, IFUPDOWN])
def test_rails_are_set_up_again_after_a_reboot(clean: plain.PlainHosts, name: str, tmp_path: Path) -> None:
    wanted = {name: rails.rails(clean[name])}
    assert rails.set_up(clean, wanted, tmp_path).ok
    clean.power_off(name)
    clean.power_on(name)
    order = {"interfaces": wanted[name]}
    wait_until(lambda: json.loads(program(clean, name, "status", order))["changes"] == [], awaiting="the rails after a reboot", within_s=30)


@pytest.mark.parametrize("name", [NETWORKD, NETPLAN, IFUPDOWN])
def test_a_packet_of_rail_3_leaves_by_rail_3(clean: plain.PlainHosts, name: str, tmp_path: Path) -> None:
    neighbour = next(one for one in clean.servers if one != name)
    last = clean[neighbour].address.rsplit(".", 1)[1]
    # Every rail leads there: without rules of its own, a packet would take the first.
    own = [rails.rail(clean[name], number, routes=[{"to": ELSEWHERE, "via": f"10.40.{number}.{last}"}]) for number in range(1, 5)]
    outcome = rails.set_up(clean, {name: own, neighbour: rails.rails(clean[neighbour])}, tmp_path)
    assert outcome.ok, outcome
    before = sent(clean, name)
    source = own[2]["address"].split("/")[0]
    clean.inside(name, "sh", "-c", f"ping -q -c {PACKETS} -i 0.002 -W 1 -I {source} {ipaddress.ip_network(ELSEWHERE)[5]} || true")
    more = {one: count - before[one] for one, count in sent(clean, name).items()}
    assert more["eth3"] >= PACKETS
    assert max(more["eth1"], more["eth2"], more["eth4"], more["host0"]) < PACKETS / 2


@pytest.mark.parametrize("name", [NETWORKD, NETPLAN, IFUPDOWN])
def test_a_setting_that_cuts_ssh_is_taken_back_by_the_host(clean: plain.PlainHosts, name: str, tmp_path: Path) -> None:
    before = state(clean, name)
    last = clean[next(one for one in clean.servers if one != name)].address.rsplit(".", 1)[1]
    # The way back to whoever is logged in leads into the rail.
    cutting = rails.rail(clean[name], 1, routes=[{"to": f"{clean.gateway}/32", "via": f"10.40.1.{last}"}])
    outcome = rails.set_up(clean, {name: [cutting]}, tmp_path, confirm_within_s=8)
    [failure] = outcome.failures
    assert (failure.host, failure.unreachable) == (name, False)
    assert "were taken back: nobody confirmed them over a new SSH connection in time" in failure.message
    assert clean.ssh(name, "hostname").strip() == name
    assert state(clean, name) == before


@pytest.mark.parametrize("name", [NETWORKD, NETPLAN, IFUPDOWN])
def test_what_nobody_confirmed_does_not_survive_a_reboot(clean: plain.PlainHosts, name: str, tmp_path: Path) -> None:
    assert rails.set_up(clean, {name: []}, tmp_path).ok  # brings the program
    before = state(clean, name)
    program(clean, name, "begin", {"interfaces": rails.rails(clean[name]), "confirm_within_s": 600})
    wait_until(lambda: "10.40.1." in clean.inside(name, "ip", "address"), awaiting="the change", within_s=30)
    clean.power_off(name)
    clean.power_on(name)
    wait_until(lambda: state(clean, name)[4] == before[4], awaiting="the files from before the change", within_s=30)
    assert "10.40.1." not in clean.inside(name, "ip", "address")


@pytest.mark.parametrize("name", [NETWORKD, NETPLAN, IFUPDOWN])
def test_a_rail_that_leaves_the_inventory_is_taken_back_alone(clean: plain.PlainHosts, name: str, tmp_path: Path) -> None:
    both = [rails.rail(clean[name], 1), rails.rail(clean[name], 2)]
    assert rails.set_up(clean, {name: both}, tmp_path).ok
    assert rails.set_up(clean, {name: both[:1]}, tmp_path).ok
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
