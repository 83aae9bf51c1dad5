"""One address for all login hosts: it answers with one host key, moves when its host is lost, and is never taken from another machine."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import plays
from tests.hosts.deployment import wait_until
from tests.hosts.plain import PlainHosts, plain_hosts

pytestmark = pytest.mark.hosts

NAMES = ("login-a", "login-b")
MOVES_WITHIN_S = 30
"""Three announcements of keepalived that did not come, and a login on a busy machine."""


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain_hosts("services-access", 2, suites=("trixie", "noble"), names=NAMES) as made:
        yield made


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "login"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def address(servers: PlainHosts) -> str:
    return servers.cidr.rpartition(".")[0] + ".5"


def variables(servers: PlainHosts, key: Path, **access: Any) -> dict[str, Any]:
    shared = {"address": address(servers), "hosts": {name: servers[name].address for name in NAMES}, "allowed": [servers.cidr], **access}
    return {"provided": {"access": shared}, "secrets": {"munge_key": "A" * 44, "login_host_key": key.read_text()}}


def holders(servers: PlainHosts, *names: str) -> list[str]:
    return [name for name in names or NAMES if f"inet {address(servers)}/32" in servers.inside(name, "ip", "-4", "address")]


def answers_with(address: str, port: int = 22) -> str:
    """Give the host key at an address as ssh-keyscan prints it; empty: nobody answers."""
    done = subprocess.run(["ssh-keyscan", "-T", "3", "-t", "ed25519", "-p", str(port), address], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[1:3])


def login(servers: PlainHosts, key: Path, tmp_path: Path) -> str:
    """Log in through the address as a user who knows the stack's host key; give the name of the host, empty: no login."""
    known = tmp_path / "known_hosts"
    known.write_text(f"{address(servers)} {key.with_suffix('.pub').read_text()}")
    options = ["-F", "none", "-i", str(servers.identity), "-o", f"UserKnownHostsFile={known}", "-o", "BatchMode=yes", "-o", "ConnectTimeout=2"]
    done = subprocess.run(["ssh", *options, f"{servers.user}@{address(servers)}", "hostname"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_an_address_of_another_machine_is_refused_and_not_taken(servers: PlainHosts, key: Path, tmp_path: Path) -> None:
    [taken] = servers.add_all(["other"], ["trixie"])
    done = plays.run(servers, NAMES, ["access_address"], variables(servers, key, address=taken.address), folder=tmp_path)
    assert done.returncode != 0
    assert f"Another machine has {taken.address}" in done.stdout
    assert servers.inside_all("login-a", "sh", "-c", "systemctl is-active clusterwright-address || true").strip() == "inactive"
    assert answers_with(taken.address) == taken.host_key


def test_all_login_hosts_answer_at_one_address_with_one_key_and_keep_their_own(servers: PlainHosts, key: Path, tmp_path: Path) -> None:
    assert plays.changed(plays.run(servers, NAMES, ["access_address"], variables(servers, key), folder=tmp_path)) > 0
    assert len(holders(servers)) == 1
    assert key.with_suffix(".pub").read_text().startswith(answers_with(address(servers)))
    assert {login(servers, key, tmp_path) for _ in range(6)} == set(NAMES)
    assert [answers_with(servers[name].address) for name in NAMES] == [servers[name].host_key for name in NAMES]
    assert answers_with(servers["login-a"].address, port=2222) == "", "nobody passes the balancer"
    commands = servers.inside("login-a", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    [line] = [line for line in servers.inside("login-a", "cat", "/etc/clusterwright/access/keepalived.conf").splitlines() if "auth_pass" in line]
    assert line.split()[1] not in commands
    assert plays.changed(plays.run(servers, NAMES, ["access_address"], variables(servers, key), folder=tmp_path)) == 0


def test_a_lost_login_host_moves_the_address_and_a_returned_one_leaves_it(servers: PlainHosts, key: Path, tmp_path: Path) -> None:
    [lost] = holders(servers)
    [kept] = {*NAMES} - {lost}
    servers.power_off(lost)
    wait_until(lambda: login(servers, key, tmp_path) == kept, awaiting="a login at the other host", within_s=MOVES_WITHIN_S)
    servers.power_on(lost)
    wait_until(lambda: {login(servers, key, tmp_path) for _ in range(4)} == set(NAMES), awaiting="sessions on the host that came back", within_s=MOVES_WITHIN_S)
    assert holders(servers) == [kept]


def test_an_address_without_a_balancer_moves(servers: PlainHosts, key: Path, tmp_path: Path) -> None:
    [holder] = holders(servers)
    [other] = {*NAMES} - {holder}
    servers.inside_all(holder, "systemctl", "stop", "clusterwright-balancer")
    wait_until(lambda: holders(servers) == [other], awaiting="the address at the other host", within_s=MOVES_WITHIN_S)
    servers.inside_all(holder, "systemctl", "start", "clusterwright-balancer")


def test_only_allowed_networks_may_log_in(servers: PlainHosts, key: Path, tmp_path: Path) -> None:
    assert plays.changed(plays.run(servers, NAMES, ["access_address"], variables(servers, key, allowed=[]), folder=tmp_path)) > 0
    assert answers_with(address(servers)) == ""
    assert plays.changed(plays.run(servers, NAMES, ["access_address"], variables(servers, key, allowed=[servers.cidr]), folder=tmp_path)) > 0
    assert login(servers, key, tmp_path) in NAMES
