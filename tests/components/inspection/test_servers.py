"""Servers that their owner installed: each kind of drift is found once, and a server as it should be gives nothing."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from blueprints.finding.subject import HostPart
from blueprints.load import load
from blueprints.spec import Site, SiteHost, SiteInterface, SiteRoce, SiteRoute
from components import this_machine
from components.inspection import common_settings, hosts, servers
from components.inspection.codes import Code
from components.inspection.finding import drift
from components.inspection.recorded_cluster import Known, KnownHost

RAIL = SiteInterface("rail0", "aa:00:00:00:00:01", "10.40.0.11/24", 9000, "10.40.0.1", (SiteRoute("10.41.0.0/16", "10.40.0.1"),))
PORT = "00:00:10:28:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:aa:bb:cc"
SEEN = "00:00:11:04" + PORT[11:]
"""The same port with another queue pair, as after a restart of its driver."""
SITE = Site(
    "ubuntu",
    22,
    (SiteHost("train-0", "10.0.0.1", "", serial="S0", interfaces=(RAIL,)), SiteHost("train-1", "10.0.0.2", "")),
    roce=SiteRoce(26, 3, 48, 6),
)
HOSTS = tuple(KnownHost(f"train-{number}", "train", "compute", f"10.0.0.{number + 1}", "", "") for number in range(3))
RESOURCES = (
    {"type": "clusterwright:metal:Site", "name": "site", "id": "", "outputs": {"token": "ours"}},
    {"type": "clusterwright:metal:Hosts", "name": "train", "id": "", "outputs": {"identity": {"train-1": {"machine-id": "m1", "serial number": "S1"}}}},
)
SERVER: dict[str, Any] = {
    "mark": {"stack": "lab", "token": "ours"},
    "machine_id": "m",
    "identity": {"serial number": "S", "serial number of the board": "", "product": "P"},
    "firmware": {"firmware of the mainboard": "1.2", "firmware of mlx5_0 (MT_0838)": "28.39"},
    "interfaces": {
        "host0": {"mac": "aa:00:00:00:00:00", "mtu": 1500, "addresses": ["10.0.0.1/24"]},
        "eth1": {"mac": "aa:00:00:00:00:01", "mtu": 9000, "addresses": ["10.40.0.11/24"]},
    },
    "routes": [
        {"dst": "default", "gateway": "10.0.0.254", "dev": "host0"},
        {"dst": "default", "gateway": "10.40.0.1", "dev": "eth1", "table": "101"},
        {"dst": "10.41.0.0/16", "gateway": "10.40.0.1", "dev": "eth1", "table": "101"},
        {"dst": "10.41.0.0/16", "gateway": "10.40.0.1", "dev": "eth1", "metric": 4100},
    ],
    "roce": {"changes": [], "failed": []},
    "rules": [{"priority": 0, "src": "all", "table": "local"}, {"priority": 4100, "src": "10.40.0.11", "table": "101"}],
    "next_start": {"running": "6.8.0-60-generic", "kernel": "6.8.0-60-generic", "missing": []},
}


def known(**versions: str) -> Known:
    starter = load("starter", target="local", stack="test", facts=this_machine.facts(), overrides={})
    cluster = dataclasses.replace(starter, site=SITE, software=dataclasses.replace(starter.software, versions=tuple(versions.items())))
    return Known(cluster, HOSTS, "", "", "", {}, (), None, (), RESOURCES)


def clean() -> dict[KnownHost, dict[str, Any]]:
    found = {host: {"server": copy.deepcopy(SERVER)} for host in HOSTS}
    for number, host in enumerate(HOSTS):
        found[host]["server"]["machine_id"] = f"m{number}"
        found[host]["server"]["identity"]["serial number"] = f"S{number}"
    return found


def places(facts: dict[KnownHost, dict[str, Any]], **versions: str) -> list[str]:
    return [f"{one.code} {one.place}" for one in servers.findings(known(**versions), facts)]


def test_servers_as_they_should_be_give_nothing() -> None:
    assert places(clean()) == []
    assert places(clean(), kernel="6.8.0-60-generic") == []


def _route_gone(server: dict[str, Any]) -> None:
    del server["routes"][2]


def _route_turned(server: dict[str, Any]) -> None:
    server["routes"][2]["gateway"] = "10.40.0.9"


PLANTED: list[tuple[str, int, Callable[[dict[str, Any]], object], list[str]]] = [
    ("mark gone", 2, lambda server: server.update(mark=None), ["CW950 train-2: mark"]),
    ("mark of another stack", 2, lambda server: server["mark"].update(token="theirs"), ["CW951 train-2: mark"]),
    ("mark unreadable", 2, lambda server: server.update(mark={"stack": "", "token": ""}), ["CW951 train-2: mark"]),
    ("installed again", 1, lambda server: server.update(machine_id="m9"), ["CW952 train-1: machine-id"]),
    ("installed again, without the mark", 1, lambda server: server.update(machine_id="m9", mark=None), ["CW952 train-1: machine-id"]),
    ("another machine than the inventory says", 0, lambda server: server["identity"].update({"serial number": "X"}), ["CW953 train-0: serial number"]),
    ("another machine than was adopted", 1, lambda server: server["identity"].update({"serial number": "X"}), ["CW953 train-1: serial number"]),
    ("a machine that nobody knows from before", 2, lambda server: server["identity"].update({"serial number": "X"}), []),
    ("a machine that says no serial number", 1, lambda server: server["identity"].update({"serial number": ""}), []),
    ("adapter exchanged", 0, lambda server: server["interfaces"]["eth1"].update(mac="aa:00:00:00:00:09"), ["CW954 train-0: interface rail0"]),
    ("address gone", 0, lambda server: server["interfaces"]["eth1"].update(addresses=[]), ["CW955 train-0: address of rail0"]),
    ("MTU", 0, lambda server: server["interfaces"]["eth1"].update(mtu=1500), ["CW955 train-0: MTU of rail0"]),
    ("route gone", 0, _route_gone, ["CW955 train-0: route to 10.41.0.0/16 of rail0"]),
    ("route elsewhere", 0, _route_turned, ["CW955 train-0: route to 10.41.0.0/16 of rail0"]),
    ("route gone from the main table", 0, lambda server: server["routes"].pop(3), ["CW955 train-0: route to 10.41.0.0/16 of rail0"]),
    ("gateway gone", 0, lambda server: server["routes"].pop(1), ["CW955 train-0: route to default of rail0"]),
    ("rule gone", 0, lambda server: server["rules"].pop(), ["CW955 train-0: routing rule of rail0"]),
    (
        "RoCE settings lost",
        0,
        lambda server: server.update(roce={"changes": [{"interface": "rail0", "what": what} for what in ("DSCP", "flow control")], "failed": []}),
        ["CW955 train-0: RoCE of rail0"],
    ),
    (
        "no RDMA device",
        0,
        lambda server: server.update(roce={"changes": [], "failed": [{"interface": "rail0", "what": "eth1 has no RDMA device."}]}),
        ["CW955 train-0: RoCE of rail0"],
    ),
    ("firmware", 1, lambda server: server["firmware"].update({"firmware of mlx5_0 (MT_0838)": "28.40"}), ["CW956 train-1: firmware of mlx5_0 (MT_0838)"]),
    ("another adapter", 1, lambda server: server["firmware"].update({"firmware of mlx5_1 (MT_0999)": "1"}), []),
    ("kernel installed by somebody", 1, lambda server: server["next_start"].update(kernel="6.8.0-90-generic"), ["CW957 train-1: next start"]),
    (
        "kernel without its modules",
        1,
        lambda server: server["next_start"].update(kernel="6.8.0-90-generic", missing=["nvidia"]),
        ["CW958 train-1: next start"],
    ),
    ("container", 1, lambda server: server["next_start"].update(kernel=""), []),
]


@pytest.mark.parametrize(("number", "plant", "expected"), [pytest.param(*one[1:], id=one[0]) for one in PLANTED])
def test_each_drift_is_found_once(number: int, plant: Callable[[dict[str, Any]], object], expected: list[str]) -> None:
    facts = clean()
    plant(facts[HOSTS[number]]["server"])
    assert places(facts) == expected


def partition(**port: Any) -> list[str]:
    """Give what is found of a rail that is a partition's interface, of which the host has what is given."""
    rail = dataclasses.replace(RAIL, mac=PORT, partition_key="0x8001", gateway="", routes=())
    site = dataclasses.replace(SITE, hosts=(SiteHost("train-0", "10.0.0.1", "", interfaces=(rail,)),))
    seen = {"ib0": {"mac": SEEN, "mtu": 2044, "addresses": [], "partition_keys": ["0x8001", "0xffff"]}, **port}
    server = {**SERVER, "interfaces": seen, "rules": [{"src": "10.40.0.11"}]}
    return [
        f"{one.code} {one.place}"
        for one in servers.findings(dataclasses.replace(known(), cluster=dataclasses.replace(known().cluster, site=site)), {HOSTS[0]: {"server": server}})
    ]


def test_the_interface_of_a_partition_is_compared_and_not_that_of_its_port() -> None:
    child = {"mac": "80:00:00:48" + PORT[11:], "mtu": 9000, "addresses": ["10.40.0.11/24"], "partition_keys": [], "is_partition": True}
    assert partition(**{"ib0.8001": child}) == []
    assert partition() == ["CW954 train-0: interface rail0"]
    assert partition(a0=child) == ["CW954 train-0: interface rail0"], "a partition's interface is not the port, whatever its name"
    assert partition(**{"ib0.8001": {**child, "addresses": []}}) == ["CW955 train-0: address of rail0"]


def test_a_partition_that_the_subnet_manager_took_away_is_found() -> None:
    child = {"mac": "80:00:00:48" + PORT[11:], "mtu": 9000, "addresses": ["10.40.0.11/24"], "is_partition": True}
    port = {"mac": SEEN, "mtu": 2044, "addresses": [], "partition_keys": ["0x0001", "0xffff"]}
    assert partition(**{"ib0": port, "ib0.8001": child}) == ["CW955 train-0: partition of rail0"]
    assert partition(**{"ib0": {**port, "partition_keys": ["0x8001"]}, "ib0.8001": child}) == []


def test_the_next_start_takes_the_profiles_kernel() -> None:
    facts = clean()
    for of_host in facts.values():
        of_host["server"]["next_start"] |= {"running": "6.8.0-60-generic", "kernel": "6.8.0-90-generic"}
    assert places(facts, kernel="6.8.0-90-generic") == [], "the roll has not restarted them yet"
    assert places(facts, kernel="6.8.0-60-generic") == [f"CW957 train-{number}: next start" for number in range(3)]


def test_what_the_inventory_gives_to_one_server_is_not_compared_with_the_others() -> None:
    facts = clean()
    for of_host in facts.values():
        of_host["alike"] = {
            "routes": "unicast 10.41.0.0/16 gateway 10.40.0.1 dev eth1 table 101, unicast 10.9.0.0/16 dev host0",
            "routing rules": "priority 100 src 10.40.0.11 table 101, priority 200 iif lo table 300",
            "MTU of eth1": "9000",
            "MTU of host0": "1500",
        }
    left = servers.without_own(known().cluster, facts)
    assert left[HOSTS[0]]["alike"] == {"routes": "unicast 10.9.0.0/16 dev host0", "routing rules": "priority 200 iif lo table 300", "MTU of host0": "1500"}
    assert left[HOSTS[1]]["alike"] == facts[HOSTS[1]]["alike"]


FILTERS = {"head-0": "ip clusterwright_dns, ip clusterwright_nat", "head-1": "ip clusterwright_dns, ip clusterwright_nat", "login-0": "ip clusterwright_access"}


@pytest.mark.parametrize(
    ("dns", "nodes", "changed", "found"),
    [
        (True, 1, {}, []),
        (True, 3, {}, []),
        (True, 1, {"login-0": {"packet filter": "ip clusterwright_access, ip theirs"}}, ["CW714 login-0: packet filter"]),
        (True, 1, {"head-0": {"DNS servers": "192.0.2.53"}}, ["CW716 head-0: DNS servers"]),
        (True, 3, {"train-0": {"DNS servers": "192.0.2.53"}}, ["CW716 train-0: DNS servers of nodes"]),
        (False, 1, {"train-0": {"DNS servers": "192.0.2.53"}}, ["CW716 train-0: DNS servers"]),
    ],
)
def test_what_the_stack_gives_to_one_role_is_no_difference_from_the_others(dns: bool, nodes: int, changed: dict[str, dict[str, str]], found: list[str]) -> None:
    """Controllers translate addresses and answer nodes' name queries, login nodes share an address."""
    roles = {"head-0": "control", "head-1": "control", "login-0": "access", **dict.fromkeys((one.name for one in HOSTS[:nodes]), "compute")}
    facts = {}
    for name, role in roles.items():
        has = {"packet filter": FILTERS.get(name, ""), "DNS servers": "10.0.0.9" if role == "compute" and dns else "10.0.0.1"}
        facts[KnownHost(name, role, role, "", "", "")] = {"alike": has | changed.get(name, {})}
    cluster = dataclasses.replace(known().cluster, site=dataclasses.replace(SITE, dns=dns))
    assert [f"{one.code} {one.place}" for one in common_settings.findings(servers.without_own(cluster, facts))] == found


def test_a_running_kernel_that_is_not_the_profiles_is_a_finding_about_versions_alone() -> None:
    assert places(clean(), kernel="6.8.0-50-generic") == []


def test_remedies_do_not_promise_that_up_starts_what_its_owner_alone_can_start() -> None:
    shows = "`ip route` on train-0 shows them; remove what is foreign, or `clusterwright rebuild train-0`"
    one = drift(Code.ROUTE, HostPart("train-0", "routes"), "packets take another way", remedy=shows)
    assert servers.with_own_remedy(one).remedy == shows, "the command says how its owner installs it again"
    gone = hosts.unreachable(HOSTS[0], "no route to host")
    assert "rebuild" not in servers.with_own_remedy(gone).remedy
