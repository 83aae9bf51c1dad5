"""HAProxy's configuration, read by HAProxy itself where an image with one was baked."""

import subprocess
from pathlib import Path

import pytest

from components.local.balancer import Backend, BalancerInputs, configuration
from components.local.machine.names import cache_root

ONE, TWO = Backend("login-0", "10.80.0.20"), Backend("login-1", "10.80.0.21")


def balancer(*backends: Backend) -> BalancerInputs:
    return BalancerInputs(
        stack="test", site="token", address="10.80.0.2", cidr="10.80.0.0/20", gateway="10.80.0.1", bridge="cw-test", image="image", lowers=(), backends=backends,
    )  # fmt: skip


def servers(text: str) -> list[list[str]]:
    return [line.split()[:3] for line in text.splitlines() if line.split()[:1] == ["server"]]


@pytest.mark.parametrize("backends", [(), (ONE,), (ONE, TWO)])
def test_every_login_node_is_a_checked_server(backends: tuple[Backend, ...]) -> None:
    text = configuration(balancer(*backends))
    assert servers(text) == [["server", backend.name, f"{backend.address}:22"] for backend in backends]
    assert all("check" in line.split() for line in text.splitlines() if line.split()[:1] == ["server"])
    assert "bind 10.80.0.2:22" in [line.strip() for line in text.splitlines()]


def baked_haproxy() -> list[str] | None:
    """A command that runs the HAProxy of a baked image with the image's own libraries."""
    for program in (cache_root() / "layers").glob("*/upper/usr/sbin/haproxy"):
        layer = program.parents[2]
        for base in (cache_root() / "rootfs").glob("*/"):
            loader = base / "lib64" / "ld-linux-x86-64.so.2"
            libraries = [root / "usr/lib/x86_64-linux-gnu" for root in (layer, base)]
            command = [str(loader), "--library-path", ":".join(map(str, libraries)), str(program)]
            if loader.exists() and subprocess.run([*command, "-v"], capture_output=True, check=False).returncode == 0:
                return command
    return None


@pytest.mark.parametrize("backends", [(ONE,), (ONE, TWO)])
def test_haproxy_takes_it_without_a_warning(backends: tuple[Backend, ...], tmp_path: Path) -> None:
    command = baked_haproxy()
    if command is None:
        pytest.skip("no image is baked yet; the tests on real hosts start HAProxy with this configuration")
    file = tmp_path / "haproxy.cfg"
    file.write_text(configuration(balancer(*backends)))
    done = subprocess.run([*command, "-c", "-f", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    file.write_text(file.read_text().replace("tcp-check expect rstring", "tcp-check expects"))
    assert subprocess.run([*command, "-c", "-f", str(file)], capture_output=True, check=False).returncode == 1
