"""Servers that hang or are off come back through their BMCs: the simulated BMCs really cut and give the power of plain servers."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.local.machine import host as hosts
from components.provider import packed
from stacks import project
from stacks.cli import main
from tests.bmcs import redfish
from tests.hosts import plain
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = pytest.mark.hosts

STACK = "test-power-hosts"
CONTROL, LOGIN, NODE = "head-1", "login-1", "gpu-001"
NAMES = (CONTROL, LOGIN, NODE)
HOME = "/home"
PASSWORD = "planted-Zk93-marker"
BMC_NETWORK = "127.72.0."
PORT = 9443


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
    with plain.plain_hosts("bmc-power", len(NAMES), names=NAMES, shared=HOME) as found:
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
        "storage": {"home": {"kind": "existing", "mount": HOME, "source": HOME}},
        "pools": {"train": {"hosts": NODE}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }


@pytest.fixture(scope="module")
def stack(racked: Rack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A stack on all of the servers, up."""
    folder = tmp_path_factory.mktemp("power")
    (folder / "lab.yaml").write_text(json.dumps(blueprint(racked)))
    with deployment("test-power", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        try:
            one.up()
            yield one
        finally:
            project.servers_file(one.stack).unlink(missing_ok=True)


def found(stack: Deployment) -> dict[str, str]:
    """Check the stack; give the findings about servers and hosts that do not answer: place → code."""
    report = json.loads(stack.clusterwright("drift", "--layer", "hosts", "--json").stdout)
    return {one["where"]: one["code"] for one in report["findings"] if one["code"] == "CW720" or one["code"].startswith("CW86")}


def texts(value: Any) -> Iterator[str]:
    """Give all texts of a record, with those inside of packed ones."""
    match packed.unpack(value):
        case dict() as fields:
            for key, field in fields.items():
                yield key
                yield from texts(field)
        case list() as entries:
            for entry in entries:
                yield from texts(entry)
        case other:
            yield str(other)


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


@pytest.mark.soak
def test_a_server_that_is_off_is_one_finding_and_serves_again_when_it_is_switched_on(racked: Rack, stack: Deployment) -> None:
    assert stack.clusterwright("power", "status", "--record").returncode == 0
    assert found(stack) == {f"{name}: next boot": "CW865" for name in NAMES}  # as the simulated BMCs have it
    racked.servers.power_off(NODE)
    racked.bmcs[NODE].power = "Off"
    racked.bmcs[NODE].bios = "1.5.0"

    assert found(stack) == {**{f"{name}: next boot": "CW865" for name in NAMES}, f"{NODE}: power": "CW860", f"{NODE}: firmware": "CW863"}
    done = stack.clusterwright("power", "on", NODE, "--yes")

    assert done.returncode == 0, done.stdout + done.stderr
    assert stack.ssh("srun hostname").split() == [NODE]


@pytest.mark.soak
def test_a_server_that_hangs_is_cycled_as_a_repair_and_serves_again(racked: Rack, stack: Deployment) -> None:
    racked.hang(NODE)
    racked.servers.inside(CONTROL, "scontrol", "update", f"nodename={NODE}", "state=down", "reason=hangs")
    resets = len(racked.bmcs[NODE].resets)

    stack.clusterwright("drift", "fix", "--layer", "hosts", "--kind", "power", "--yes")

    assert racked.bmcs[NODE].resets[resets:] == ["PowerCycle"]
    assert stack.ssh("srun hostname").split() == [NODE]


@pytest.mark.soak
def test_the_password_is_in_no_record(racked: Rack, stack: Deployment) -> None:
    exported = stack.run("pulumi", "stack", "export", "--show-secrets", "--stack", stack.stack).stdout
    recorded = set(texts(json.loads(exported)))
    kept = [path for folder in (stack.home, project.private_folder(stack.stack)) for path in folder.rglob("*") if path.is_file()]

    assert "password_file" in recorded
    assert not [text for text in recorded if PASSWORD in text]
    assert not [path for path in kept if PASSWORD.encode() in path.read_bytes()]
