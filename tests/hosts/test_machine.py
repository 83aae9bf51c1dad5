"""What a stack changes on the machine itself: it works under other people's firewalls, and the machine gets its own settings back."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.local.machine import network, sysctl
from components.local.machine.command import CommandFailed, run
from tests.hosts.deployment import Deployment

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
    before = run("iptables", "-S", "FORWARD").splitlines()[0].split()[2]
    run("iptables", "-P", "FORWARD", policy)
    try:
        yield
    finally:
        run("iptables", "-P", "FORWARD", before)


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


def test_kernel_settings_get_their_old_values_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysctl, "ORIGINALS", tmp_path / "originals.json")  # the stacks of this machine keep theirs
    name = "net.ipv4.neigh.default.gc_thresh3"
    before = run("sysctl", "-n", name).strip()
    run("sysctl", "-qw", f"{name}=1500")
    try:
        sysctl.raise_to_minimums()
        assert int(run("sysctl", "-n", name)) == sysctl.MINIMUMS[name]
        sysctl.raise_to_minimums()  # a second stack must not take our value for the machine's
        sysctl.restore()
        assert run("sysctl", "-n", name).strip() == "1500"
    finally:
        run("sysctl", "-qw", f"{name}={before}")
