"""What a stack changes on the machine itself: it works under other people's firewalls, and the machine gets its own settings back."""

import contextlib
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.inspection import ssh
from components.local.machine import cgroup, network
from components.local.machine import host as hosts
from components.local.machine.command import CommandFailed, run
from components.local.machine.names import HostNames, StackNames
from tests.hosts import plain
from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

OUTSIDE = "cw-test-outside"
OUTSIDE_ADDRESS, MACHINE_ADDRESS = "10.255.255.2", "10.255.255.1"
PORT = 8080


@contextlib.contextmanager
def a_place_outside() -> Iterator[None]:
    """A network namespace behind another interface of the machine, with a web server: what hosts reach only through the machine."""
    run("ip", "netns", "add", OUTSIDE)
    try:
        run("ip", "link", "add", "cwtest0", "type", "veth", "peer", "name", "eth0", "netns", OUTSIDE)
        run("ip", "address", "add", f"{MACHINE_ADDRESS}/30", "dev", "cwtest0")
        run("ip", "link", "set", "cwtest0", "up")
        run("ip", "-netns", OUTSIDE, "address", "add", f"{OUTSIDE_ADDRESS}/30", "dev", "eth0")
        run("ip", "-netns", OUTSIDE, "link", "set", "eth0", "up")
        server = subprocess.Popen(
            ["ip", "netns", "exec", OUTSIDE, "python3", "-u", "-m", "http.server", str(PORT)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert server.stdout
            assert server.stdout.readline().startswith("Serving HTTP")
            yield
        finally:
            server.kill()
            server.communicate()
    finally:
        run("ip", "netns", "del", OUTSIDE)


@contextlib.contextmanager
def forward_policy(policy: str) -> Iterator[None]:
    """As Docker and ufw leave the machine."""
    before = run("iptables", "-w", "-S", "FORWARD").splitlines()[0].split()[2]
    run("iptables", "-w", "-P", "FORWARD", policy)
    try:
        yield
    finally:
        run("iptables", "-w", "-P", "FORWARD", before)


def reach_out(stack: Deployment) -> None:
    stack.inside("login-0", "timeout", "3", "bash", "-c", f"exec 3<>/dev/tcp/{OUTSIDE_ADDRESS}/{PORT}")


def test_hosts_reach_out_where_forwarding_is_dropped_by_default(running: Deployment) -> None:
    spec = running.outputs()["spec"]["network"]
    with a_place_outside(), forward_policy("DROP"):
        reach_out(running)
        for arguments in network.labelled_rules(running.names):
            run("iptables", "-w", *arguments)
        with pytest.raises(CommandFailed):
            reach_out(running)
        network.ensure(running.names, cidr=spec["cidr"], gateway=spec["gateway"])
        reach_out(running)


RAISES_AND_RESTORES = """
import pathlib, sys
from components.local.machine import sysctl
sysctl.ORIGINALS = pathlib.Path(sys.argv[1])
sysctl.MINIMUMS = {name: value for name, value in sysctl.MINIMUMS.items() if name == "net.ipv4.ip_forward"}
setting = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
setting.write_text("0")
sysctl.raise_to_minimums()
print(setting.read_text().strip())
sysctl.raise_to_minimums()  # a second stack must not take our value for the machine's
sysctl.restore()
print(setting.read_text().strip())
"""
"""Run in a network of its own: the setting is the network's, and stacks that run meanwhile keep theirs."""


def test_kernel_settings_get_their_old_values_back(tmp_path: Path) -> None:
    assert run("unshare", "--net", sys.executable, "-c", RAISES_AND_RESTORES, str(tmp_path / "originals.json")).split() == ["1", "0"]


CABLES = StackNames("test-cables")
CIDR, GATEWAY, ONE, OTHER, THIRD = "10.255.254.0/24", "10.255.254.1", "10.255.254.5", "10.255.254.6", "10.255.254.7"
ELSEWHERE = "10.255.253.1"
"""Of this machine, but not of the stack's network: who asks from here where a host is tells the host nothing of the gateway."""
NOBODY_LISTENS = 9


def test_what_was_killed_while_its_group_was_frozen_ends() -> None:
    group = "clusterwright/test-frozen"
    files = cgroup.make(group)
    sleeping = subprocess.Popen(["sleep", "600"])
    try:
        for file in files:
            file.write_text(str(sleeping.pid))
            for freezes, value in ((file.with_name(cgroup.FREEZER), "FROZEN"), (file.with_name("cgroup.freeze"), "1")):
                if freezes.exists():
                    freezes.write_text(value)
        cgroup.kill(group)
        wait_until(lambda: cgroup.remove(group), awaiting="the frozen process to end", within_s=SOON_S)
    finally:
        sleeping.kill()
        cgroup.remove(group)
        sleeping.wait()


@pytest.fixture
def cables(running: Deployment) -> Iterator[None]:
    """A stack's network without hosts, whose cables end in namespaces. Another stack runs, so that the machine's settings are what hosts need, and stay so."""
    with plain.guarded(CABLES):
        plain.remove(CABLES)
        try:
            network.ensure(CABLES, cidr=CIDR, gateway=GATEWAY)
            yield
        finally:
            plain.remove(CABLES)


def at(address: str) -> HostNames:
    return CABLES.host(f"at-{address.rpartition('.')[2]}")


def plug_in(address: str, *, port: str | None = None) -> None:
    """Plug a cable in; `port` is the hardware address of the machine's end, which is random otherwise."""
    hosts._plug_in(at(address), hosts.Boot(address=address, prefix=24, gateway=GATEWAY, bridge=CABLES.bridge, lowers=(), binds=()))
    if port:
        run("ip", "link", "set", at(address).interface(address), "address", port)


def pull(address: str) -> None:
    hosts._unplug(at(address).interface(address))
    if Path(f"/run/netns/{at(address).namespace}").exists():
        run("ip", "netns", "del", at(address).namespace)


def reaches(address: str, *, source: str = "") -> bool:
    """Say whether the machine gets an answer: that nobody listens is one."""
    try:
        socket.create_connection((address, NOBODY_LISTENS), timeout=2, source_address=(source, 0)).close()
    except ConnectionRefusedError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.usefixtures("cables")
def test_a_host_that_comes_cuts_no_other_off_from_the_machine() -> None:
    plug_in(ONE, port="02:00:00:00:00:03")
    plug_in(OTHER, port="02:00:00:00:00:02")
    assert reaches(ONE)
    plug_in(THIRD, port="02:00:00:00:00:01")
    run("ip", "address", "add", f"{ELSEWHERE}/32", "dev", CABLES.bridge)
    assert reaches(ONE, source=ELSEWHERE)
    assert reaches(ONE)


@pytest.mark.usefixtures("cables")
def test_a_host_born_again_is_reached_although_it_says_nothing() -> None:
    plug_in(ONE)
    plug_in(OTHER)  # with its last cable the bridge would forget its neighbours
    assert reaches(ONE)
    pull(ONE)
    plug_in(ONE)
    assert reaches(ONE)


@pytest.mark.usefixtures("cables")
def test_a_host_that_is_gone_is_unreachable_before_anybody_gives_up() -> None:
    plug_in(ONE)
    plug_in(OTHER)
    assert reaches(ONE)
    pull(ONE)
    with pytest.raises(OSError, match=os.strerror(errno.EHOSTUNREACH)):
        socket.create_connection((ONE, NOBODY_LISTENS), timeout=ssh.CONNECT_WITHIN_S)
    assert reaches(OTHER)


@pytest.mark.usefixtures("cables")
def test_a_bridge_of_an_older_version_keeps_the_address_that_its_hosts_know() -> None:
    def parts() -> dict[str, bool]:
        return network.observe(CABLES, cidr=CIDR, gateway=GATEWAY) or {}

    run("ip", "link", "del", CABLES.bridge)
    run("ip", "link", "add", CABLES.bridge, "type", "bridge")
    run("ip", "address", "add", f"{GATEWAY}/24", "dev", CABLES.bridge)
    plug_in(ONE, port="02:00:00:00:00:02")
    assert not parts()["bridge"]
    network.ensure(CABLES, cidr=CIDR, gateway=GATEWAY)
    assert all(parts().values())
    plug_in(OTHER, port="02:00:00:00:00:01")
    assert Path(f"/sys/class/net/{CABLES.bridge}/address").read_text().strip() == "02:00:00:00:00:02"
