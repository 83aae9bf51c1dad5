"""Every role says what it takes, and its shell programs do what their first lines promise."""

import pathlib
import socket
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.playbooks import templates

ROLES = sorted(path.name for path in (templates.PLAYBOOKS / "roles").iterdir())


def read(path: pathlib.Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def described(role: str) -> dict[str, Any]:
    specs = read(templates.PLAYBOOKS / "roles" / role / "meta" / "argument_specs.yml")
    return dict(specs["argument_specs"])


@pytest.mark.parametrize("role", ROLES)
def test_every_entry_of_a_role_is_described(role: str) -> None:
    entries = {path.stem for path in (templates.PLAYBOOKS / "roles" / role / "tasks").glob("*.yml")}
    assert entries == set(described(role))
    assert all(entry["short_description"] and entry["description"] for entry in described(role).values())


@pytest.mark.parametrize("role", ROLES)
def test_every_default_is_typed_and_described_and_named_after_its_role(role: str) -> None:
    defaults = read(templates.PLAYBOOKS / "roles" / role / "defaults" / "main.yml")
    options: dict[str, Any] = {}
    for entry in described(role).values():
        options.update(entry.get("options", {}))
    assert set(defaults) <= set(options)
    assert all(name.startswith(f"{role}_") for name in defaults)
    assert all(option.get("type") and option.get("description") for option in options.values())


@pytest.mark.parametrize("program", sorted((templates.PLAYBOOKS / "roles" / "boot" / "files").glob("*.sh")), ids=lambda path: path.name)
def test_shell_programs_have_no_known_fault(program: pathlib.Path) -> None:
    ended = subprocess.run([str(pathlib.Path(sys.executable).with_name("shellcheck")), str(program)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_waiting_for_a_port_ends_when_something_listens_and_fails_in_time_when_nothing_does() -> None:
    program = templates.PLAYBOOKS / "roles" / "boot" / "files" / "wait-port.sh"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        assert subprocess.run(["bash", str(program), "127.0.0.1", port, "5"], check=False, timeout=30).returncode == 0
        # Of several hosts one has to listen, whichever it is; nobody has an address that is kept for examples (RFC 5737).
        for hosts in ("192.0.2.1,127.0.0.1", "127.0.0.1,192.0.2.1"):
            assert subprocess.run(["bash", str(program), hosts, port, "20"], check=False, timeout=60).returncode == 0
    ended = subprocess.run(["bash", str(program), "127.0.0.1", port, "1"], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 1
    assert f"127.0.0.1:{port}" in ended.stderr
