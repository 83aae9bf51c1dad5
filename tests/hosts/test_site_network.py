"""Nodes without a way out reach other networks and resolve names through the controllers, whichever of them is lost, and nothing of it stays."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.local.machine import command
from tests.hosts import plays
from tests.hosts.deployment import wait_until
from tests.hosts.plain import PlainHosts, plain_hosts

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(1800)]

HEADS, NODE = ("head-1", "head-2"), "gpu-1"
DOMAIN = "lab.internal"
ON_CONTROLLERS = ["site_nat", "site_dns", "control_address"]
ON_NODES = ["site_nat/route", "site_dns/resolver"]
MOVES_WITHIN_S = 60
NOTICED_WITHIN_S = 60
UNITS = ("clusterwright-nat", "clusterwright-dns", "clusterwright-control-address")
CUTTING = """\
[Service]
ExecStartPost=/usr/sbin/nft add table inet cut
ExecStartPost=/usr/sbin/nft add chain inet cut input { type filter hook input priority 0; }
ExecStartPost=/usr/sbin/nft add rule inet cut input tcp dport 22 drop
ExecStopPost=-/usr/sbin/nft delete table inet cut
"""
ASK = "import socket; print(socket.create_connection(('{address}', {port}), timeout=3).makefile().read())"


class Peer(socketserver.BaseRequestHandler):
    """Tells whoever connects by which address it came."""

    def handle(self) -> None:
        self.request.sendall(self.client_address[0].encode())


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain_hosts("site-network", 3, suites=("trixie", "noble", "trixie"), names=(*HEADS, NODE)) as made:
        made.inside(NODE, "ip", "route", "del", "default")
        # This machine would translate frames between its servers, too, where its bridges call iptables.
        within = ["POSTROUTING", "-s", made.cidr, "-o", made.names.bridge, "-m", "comment", "--comment", made.names.label, "-j", "ACCEPT"]
        command.run("iptables", "-t", "nat", "-I", *within)
        try:
            yield made
        finally:
            command.run("iptables", "-t", "nat", "-D", *within)


@pytest.fixture(scope="module")
def outside() -> Iterator[tuple[str, int]]:
    """A service in another network: address and port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, socketserver.ThreadingTCPServer(("", 0), Peer) as server:
        probe.connect(("192.0.2.1", 9))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield probe.getsockname()[0], server.server_address[1]
        server.shutdown()


def address(servers: PlainHosts) -> str:
    return servers.cidr.rpartition(".")[0] + ".5"


def variables(servers: PlainHosts, **more: Any) -> dict[str, Any]:
    hosts = {name: servers[name].address for name in HEADS}
    shared = {"address": address(servers), "hosts": hosts, "inside": [servers.cidr]}
    provided = {
        "nat": shared,
        "dns": {**shared, "domain": DOMAIN},
        "control_address": {"address": address(servers), "hosts": hosts, "units": [f"{unit}.service" for unit in UNITS[:2]]},
        "addresses": {name: servers[name].address for name in (*HEADS, NODE)},
    }
    return {"provided": provided, "secrets": {"munge_key": "A" * 44}, **more}


def seen_from(servers: PlainHosts, outside: tuple[str, int]) -> str:
    """Give the address by which the node comes to a service of another network; empty: it does not."""
    words = ASK.format(address=outside[0], port=outside[1])
    return servers.inside(NODE, "sh", "-c", f'python3 -c "{words}" 2>/dev/null || true').strip()


def resolved(servers: PlainHosts, name: str) -> str:
    found = servers.inside(NODE, "sh", "-c", f"timeout 10 getent ahostsv4 {name} || true").split()
    return found[0] if found else ""


def holder(servers: PlainHosts, *names: str) -> str:
    """Name the controller that has the address; empty: none has it."""
    return next((name for name in names or HEADS if f"inet {address(servers)}/32" in servers.inside(name, "ip", "-4", "address")), "")


def tables(servers: PlainHosts, name: str) -> set[str]:
    return {line.split()[-1] for line in servers.inside(name, "nft", "list", "tables").splitlines()}


def test_a_node_without_a_way_out_has_one_and_names(servers: PlainHosts, outside: tuple[str, int], tmp_path: Path) -> None:
    assert seen_from(servers, outside) == ""
    assert plays.changed(plays.run(servers, HEADS, ON_CONTROLLERS, variables(servers), folder=tmp_path, group="control")) > 0
    assert plays.changed(plays.run(servers, [NODE], ON_NODES, variables(servers), folder=tmp_path, group="compute")) > 0
    assert seen_from(servers, outside) == servers[holder(servers)].address, "a controller answers for the node"
    assert resolved(servers, "head-2") == resolved(servers, f"head-2.{DOMAIN}") == servers["head-2"].address
    archive = (
        servers.inside(NODE, "sh", "-c", "grep -rhoE 'http://[^/ ]+' /etc/apt/sources.list /etc/apt/sources.list.d | head -n 1").strip().removeprefix("http://")
    )
    assert resolved(servers, archive), "names of others are asked for outside"
    assert resolved(servers, f"nobody.{DOMAIN}") == ""
    assert servers.inside("head-1", "cat", "/proc/sys/net/ipv4/ip_forward").strip() == "1"
    assert "policy" not in servers.inside("head-1", "nft", "list", "table", "ip", "clusterwright_nat").partition("drop")[2]
    assert plays.changed(plays.run(servers, HEADS, ON_CONTROLLERS, variables(servers), folder=tmp_path, group="control")) == 0
    assert plays.changed(plays.run(servers, [NODE], ON_NODES, variables(servers), folder=tmp_path, group="compute")) == 0


def test_a_removed_rule_fails_the_service_and_moves_the_address(servers: PlainHosts, outside: tuple[str, int], tmp_path: Path) -> None:
    first = holder(servers)
    [second] = {*HEADS} - {first}
    servers.inside(first, "nft", "flush", "chain", "ip", "clusterwright_nat", "out")
    wait_until(lambda: holder(servers) == second, awaiting="the address at the other controller", within_s=NOTICED_WITHIN_S)
    assert servers.inside_all(first, "sh", "-c", "systemctl is-failed clusterwright-nat || true").strip() == "failed", "drift reports failed units"
    assert servers.inside(first, "ls", "/run/clusterwright/pending").split() == ["site-nat"], "and `up` configures hosts with a pending change again"
    assert seen_from(servers, outside) == servers[second].address
    assert plays.changed(plays.run(servers, [first], ["site_nat"], variables(servers), folder=tmp_path, group="control")) > 0
    assert servers.inside(first, "ls", "/run/clusterwright/pending").split() == []


def test_a_lost_controller_takes_neither_way_nor_names_with_it(servers: PlainHosts, outside: tuple[str, int]) -> None:
    lost = holder(servers)
    [kept] = {*HEADS} - {lost}
    servers.power_off(lost)
    wait_until(lambda: seen_from(servers, outside) == servers[kept].address, awaiting="the way out by the other controller", within_s=MOVES_WITHIN_S)
    assert resolved(servers, lost) == servers[lost].address
    servers.power_on(lost)
    wait_until(lambda: "clusterwright_nat" in tables(servers, lost), awaiting="rules after the start", within_s=MOVES_WITHIN_S)
    assert holder(servers) == kept, "nothing moves a second time"


@pytest.mark.soak  # tests/hosts/test_rails.py has a host take a setting back in the same way
def test_a_change_that_cuts_ssh_is_taken_back(servers: PlainHosts, tmp_path: Path) -> None:
    first = HEADS[0]
    dropin = "/etc/systemd/system/clusterwright-nat.service.d"
    servers.inside(
        first,
        "sh",
        "-c",
        f"mkdir -p {dropin}; cat >{dropin}/cut.conf; mkdir -p /run/clusterwright/pending; touch /run/clusterwright/pending/site-nat",
        stdin=CUTTING,
    )
    times = {"site_nat_confirm_within_s": 20, "site_nat_answers_within_s": 120}
    done = plays.run(servers, [first], ["site_nat"], variables(servers, **times), folder=tmp_path, group="control")
    assert done.returncode != 0
    assert "clusterwright-nat.service does not run" in done.stdout
    assert not {"clusterwright_nat", "cut"} & tables(servers, first)
    wants = "/etc/systemd/system/multi-user.target.wants/clusterwright-nat.service"
    assert servers.inside(first, "sh", "-c", f"test -e {wants} || echo gone").strip() == "gone", "it does not start with the host either"
    servers.inside(first, "rm", "-r", dropin)
    assert plays.changed(plays.run(servers, [first], ["site_nat"], variables(servers), folder=tmp_path, group="control")) > 0


def test_nothing_stays(servers: PlainHosts, outside: tuple[str, int], tmp_path: Path) -> None:
    assert plays.changed(plays.run(servers, [NODE], ["site_nat/absent", "site_dns/no_resolver"], variables(servers), folder=tmp_path, group="compute")) > 0
    gone = ["control_address/absent", "site_dns/absent", "site_nat/absent"]
    assert plays.changed(plays.run(servers, HEADS, gone, variables(servers), folder=tmp_path, group="control")) > 0
    assert seen_from(servers, outside) == ""
    assert address(servers) not in servers.inside(NODE, "cat", "/etc/resolv.conf")
    for name in HEADS:
        assert not {"clusterwright_nat", "clusterwright_dns"} & tables(servers, name)
        # As on a server that never was a gateway: a new network namespace takes this from its machine.
        assert forwards(servers, name) == forwards(servers, NODE)
        assert holder(servers, name) == ""
        assert servers.inside(name, "sh", "-c", "ls /etc/systemd/system/clusterwright-* 2>/dev/null || true").split() == []


def forwards(servers: PlainHosts, name: str) -> str:
    """Read whether the kernel of a server forwards packets."""
    return servers.inside(name, "cat", "/proc/sys/net/ipv4/ip_forward").strip()
