"""States that something outside broke: each ends after at most two commands that the program itself named.

The stack has a record and no hosts; `down` has to come to its end. States of hosts are in tests/hosts/test_broken_states.py.
"""

import dataclasses
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blueprints.project import project_root
from components.local.machine import names
from stacks import project
from tests import typed

pytestmark = pytest.mark.engine
STACK = f"test-broken-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
"""Settings of stacks are files of the checkout, which all workers share."""
DEAD_ADDRESS = "http://127.0.0.1:9"
LOCK = {"username": "ada", "timestamp": "2024-01-02T03:04:05.123456789Z"}


@dataclasses.dataclass
class Broken:
    """A stack in an engine home, a backend and an environment of its own."""

    home: Path
    environment: dict[str, str]
    mounts: list[Path] = dataclasses.field(default_factory=list)

    @property
    def backend(self) -> Path:
        return self.home / "state"

    @property
    def state(self) -> Path:
        return self.backend / ".pulumi/stacks/clusterwright" / f"{STACK}.json"

    @property
    def settings(self) -> Path:
        return project.stack_file(STACK)

    def run(self, command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=project_root(), env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def lock(self, **more: object) -> None:
        folder = self.backend / ".pulumi/locks/organization/clusterwright" / STACK
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "one.json").write_text(json.dumps({**LOCK, **more}))

    def engine(self, content: str) -> None:
        """Put an engine first on PATH, as tools/engine/install lays one out."""
        program = self.home / "engine/key/bin/pulumi"
        program.parent.mkdir(parents=True)
        program.write_bytes(content.encode("latin-1"))
        program.chmod(0o755)
        self.environment["PATH"] = f"{program.parent}:{self.environment['PATH']}"

    def mount(self, folder: Path, options: str) -> None:
        """Move a folder to a file system of its own."""
        aside = folder.with_name(f"{folder.name}.aside")
        folder.rename(aside)
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True)
        self.mounts.append(folder)
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def of(home: Path) -> Broken:
    environment = {
        **os.environ,
        "PULUMI_HOME": str(home / "pulumi"),
        "PULUMI_BACKEND_URL": (home / "state").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(home / "passphrase"),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    environment.pop("PULUMI_CONFIG_PASSPHRASE", None)
    return Broken(home, environment)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Give the home of a stack that nothing broke, and its settings. Each test breaks a copy."""
    one = of(tmp_path_factory.mktemp("whole"))
    one.backend.mkdir()
    (one.home / "passphrase").write_text("correct horse")
    one.settings.unlink(missing_ok=True)
    assert one.run(f"pulumi stack init --no-select {STACK}")[0] == 0
    settings = one.settings.read_text()
    salt = settings.partition("encryptionsalt: ")[2].split()[0]
    program = {"urn": f"urn:pulumi:{STACK}::clusterwright::pulumi:pulumi:Stack::clusterwright-{STACK}", "type": "pulumi:pulumi:Stack"}
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": '"hidden"'}
    deployment = {
        "manifest": {},
        "secrets_providers": {"type": "passphrase", "state": {"salt": salt}},
        "resources": [{**program, "outputs": {"user_keys": secret}}],
    }
    (one.home / "record.json").write_text(json.dumps({"version": 3, "deployment": deployment}))
    status, said = one.run(f"pulumi stack import --stack {STACK} --file {one.home / 'record.json'}")
    one.settings.unlink()
    assert status == 0, said
    return one.home, settings


@pytest.fixture
def broken(tmp_path: Path, whole: tuple[Path, str]) -> Iterator[Broken]:
    home, settings = whole
    shutil.copytree(home, tmp_path, symlinks=True, dirs_exist_ok=True)
    one = of(tmp_path)
    one.settings.write_text(settings)
    try:
        yield one
    finally:
        for folder in one.mounts:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        for file in (one.settings, one.settings.with_name(f"{one.settings.name}.broken")):
            file.unlink(missing_ok=True)
        shutil.rmtree(names.STATE_ROOT / STACK, ignore_errors=True)


def dead() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def write(text: str) -> Callable[[Broken], object]:
    return lambda one: one.state.write_text(text)


def variables(**values: str) -> Callable[[Broken], object]:
    return lambda one: one.environment.update(values)


def without(*names_of: str) -> Callable[[Broken], object]:
    return lambda one: [one.environment.pop(name, None) for name in names_of]


def stale_own_lock(one: Broken) -> None:
    (one.backend / "clusterwright-locks").mkdir()
    (one.backend / f"clusterwright-locks/{STACK}.json").write_text(json.dumps({**LOCK, "pid": dead(), "hostname": socket.gethostname(), "purpose": "up"}))


def pending(one: Broken) -> None:
    whole = json.loads(one.state.read_text())
    resource = {"urn": f"urn:pulumi:{STACK}::clusterwright::clusterwright:local:Site::site", "type": "clusterwright:local:Site", "custom": True, "inputs": {}}
    whole["checkpoint"]["latest"]["pending_operations"] = [{"type": "creating", "resource": resource}]
    one.state.write_text(json.dumps(whole))


def claimed(text: str) -> Callable[[Broken], object]:
    """Give this machine's folder of the stack an owner; the record of the stack here is deleted first."""

    def break_it(one: Broken) -> None:
        assert one.run(f"pulumi stack rm --force --yes --stack {STACK}")[0] == 0
        folder = names.STATE_ROOT / STACK
        (folder / "folders/home").mkdir(parents=True)
        (folder / "owner.json").write_text(text)

    return break_it


def gone_owner() -> str:
    return json.dumps({"token": "t", "owner": "/nonexistent/checkout", "backend": "file:///nonexistent/checkout/.clusterwright/state", "cidr": "10.250.0.0/20"})


@dataclasses.dataclass(frozen=True)
class Case:
    break_it: Callable[[Broken], object]
    typed: tuple[str, ...] = ()
    """How the commands begin that a user has to type."""
    choose: str = ""


CASES = {
    "lock of a dead process": Case(lambda one: one.lock(pid=dead(), hostname=socket.gethostname())),
    "lock of another machine": Case(lambda one: one.lock(pid=1, hostname="elsewhere"), ("pulumi cancel",)),
    "own lock of a dead process": Case(stale_own_lock),
    "state empty": Case(write("")),
    "state garbage": Case(write("garbage")),
    "state cut": Case(lambda one: one.state.write_bytes(one.state.read_bytes()[:100])),
    "state another document": Case(write("[]")),
    "notes of the backend cut": Case(lambda one: one.state.with_name(f"{one.state.name}.attrs").write_bytes(b"")),
    "operation of a killed engine": Case(pending),
    "passphrase deleted": Case(lambda one: (one.home / "passphrase").unlink(), ("clusterwright down",), "down"),
    "passphrase empty": Case(lambda one: (one.home / "passphrase").write_text(""), ("clusterwright down",), "down"),
    "passphrase of another stack": Case(lambda one: (one.home / "passphrase").write_text("another"), ("clusterwright down",), "down"),
    "settings deleted": Case(lambda one: one.settings.unlink()),
    "settings empty": Case(lambda one: one.settings.write_text("")),
    "settings with bad YAML": Case(lambda one: one.settings.write_text("config: [\n"), ("mv",)),
    "settings name a key service": Case(lambda one: one.settings.write_text("secretsprovider: hashivault://nowhere\n"), ("sed",)),
    "folder of the backend deleted": Case(lambda one: shutil.rmtree(one.backend), ("mkdir",), "mkdir"),
    "folder of the backend read-only": Case(lambda one: one.mount(one.backend, "ro"), ("mount",)),
    "engine's home read-only": Case(lambda one: one.mount(one.home / "pulumi", "ro")),
    "engine of another architecture": Case(lambda one: one.engine("\x7fELF garbage")),
    "engine that dies": Case(lambda one: one.engine("#!/bin/sh\nexit 1\n"), ("rm -rf",)),
    "proxies that don't answer": Case(variables(**dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"), DEAD_ADDRESS))),
    "no terminal and no locale": Case(without("TERM", "LANG", "LC_ALL", "HOME_LOCALE")),
    "unknown locale and terminal": Case(variables(TERM="nowhere", LC_ALL="xx_YY.UTF-8")),
    "owner gone with its state": Case(claimed(gone_owner()), (f"clusterwright down --stack {STACK} --yes",)),
    "claim garbage": Case(claimed("garbage"), ("rm ",)),
    "claim empty": Case(claimed(""), ("rm ",)),
}
AS_ROOT = ("folder of the backend read-only", "engine's home read-only", "owner gone with its state", "claim garbage", "claim empty")


@pytest.mark.parametrize("name", CASES)
def test_the_page_names_the_way_out(name: str, broken: Broken) -> None:
    if name in AS_ROOT and os.geteuid():
        pytest.skip("only root mounts, and has stacks on this machine")
    case = CASES[name]
    case.break_it(broken)
    done = typed.until_it_works(broken.run, f"clusterwright down --stack {STACK}", choose=case.choose)
    assert [words for words, begin in zip(done, case.typed, strict=True) if not words.startswith(begin)] == []
    assert not (names.STATE_ROOT / STACK).exists()
    if broken.state.exists():
        assert not ((json.loads(broken.state.read_text())["checkpoint"].get("latest") or {}).get("resources"))
