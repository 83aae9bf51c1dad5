"""Servers that hang or are off come back through their BMCs: the simulated BMCs really cut and give the power of plain servers."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.local.machine import host as hosts
from stacks import project
from stacks.cli import main
from tests.bmcs import redfish
from tests.hosts import plain
from tests.hosts.deployment import SOON_S, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = pytest.mark.hosts

STACK = "test-power-hosts"
CONTROL, LOGIN, NODE = "head-1", "login-1", "gpu-001"
NAMES = (CONTROL, LOGIN, NODE)
PASSWORD = "correct horse"
BMC_NETWORK = "127.72.0."
PORT = 9443
BOOT_ID = "cat /proc/sys/kernel/random/boot_id"


class Rack:
    """Servers with BMCs that switch them."""

    def __init__(self, servers: PlainHosts, folder: Path, bmcs: dict[str, redfish.Bmc]):
        self.servers, self.bmcs = servers, bmcs
        self.password = folder / "password"
        self.password.write_text(PASSWORD)
        self.password.chmod(0o600)

    def inventory(self) -> dict[str, Any]:
        """Give the `inventory` of a blueprint, with the BMCs."""
        found = self.servers.inventory()
        found["bmc"] = {"user": "operator", "password_file": str(self.password), "protocol": "redfish", "port": PORT}
        for number, (name, bmc) in enumerate(self.bmcs.items(), start=1):
            found["hosts"][name] |= {"bmc": f"{BMC_NETWORK}{number}", "bmc_certificate": bmc.certificate}
        return found

    def hang(self, name: str) -> None:
        """Stop every process of a server but the first: its kernel accepts connections, and nobody answers."""
        self.servers.inside(name, "sh", "-c", "kill -STOP -1")
        wait_until(lambda: not hosts.answers(self.servers[name].address), awaiting=f"{name} to hang", within_s=SOON_S)


@contextlib.contextmanager
def rack(servers: PlainHosts, folder: Path) -> Iterator[Rack]:
    """Give each server a BMC."""

    def switch(name: str, reset: str) -> None:
        if reset in ("ForceOff", "GracefulShutdown", "PowerCycle", "ForceRestart"):
            servers.power_off(name)
        if reset in redfish.ON_AFTER:
            servers.power_on(name, wait=False)

    with contextlib.ExitStack() as stack:
        bmcs = {}
        for number, name in enumerate(servers.servers, start=1):
            (folder / name).mkdir()
            bmc = redfish.Bmc(folder / name, password=PASSWORD, switch=lambda reset, name=name: switch(name, reset))  # type: ignore[misc]
            bmcs[name] = stack.enter_context(bmc.serving(f"{BMC_NETWORK}{number}", PORT))
        yield Rack(servers, folder, bmcs)


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("bmc-power", len(NAMES), names=NAMES) as found:
        yield found


@pytest.fixture(scope="module")
def racked(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    with rack(servers, tmp_path_factory.mktemp("bmcs")) as made:
        yield made


def blueprint(made: Rack) -> dict[str, Any]:
    return {
        "name": "lab",
        "description": "servers of a test",
        "software": "debian-13",
        "inventory": made.inventory(),
        "network": {"cidr": made.servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "pools": {"train": {"hosts": NODE}},
    }


def test_a_server_that_hangs_is_cycled_and_boots(racked: Rack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(json.dumps(blueprint(racked)))
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "state").as_uri())
    racked.hang(NODE)
    try:
        status = main.main(["power", "--stack", STACK, "--blueprint", str(file), "--target", "metal", "cycle", NODE, "--yes"])
    finally:
        shutil.rmtree(project.private_folder(STACK), ignore_errors=True)

    assert (status, racked.bmcs[NODE].resets) == (0, ["PowerCycle"]), capsys.readouterr()
    racked.servers.wait_for(NODE)
