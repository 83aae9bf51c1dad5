"""Secrets of a running stack are in the encrypted state, on the hosts that need them, and nowhere else."""

import base64
from pathlib import Path

import pytest

from blueprints.project import project_root
from tests.hosts.deployment import Deployment

pytestmark = pytest.mark.hosts


def markers(stack: Deployment) -> dict[str, bytes]:
    """Pieces of each secret that can't be anywhere by chance."""
    exported = stack.run("pulumi", "stack", "export", "--show-secrets", "--stack", stack.stack).stdout
    import json

    found = {}
    for resource in json.loads(exported)["deployment"]["resources"]:
        if resource["type"] == "clusterwright:secret:Secret":
            value = resource["outputs"]["value"]
            plain = json.loads(value["plaintext"]) if isinstance(value, dict) else value
            body = plain.splitlines()[2] if plain.startswith("-----") else plain
            found[resource["urn"].rpartition("::")[2]] = body[8:40].encode()
    return found


def test_secrets_are_nowhere_in_clear(running: Deployment) -> None:
    planted = markers(running)
    assert {"munge-key", "admin-key", "database-password", "login-host-key", "user-ada-key"} <= planted.keys()
    assert all(len(marker) >= 24 for marker in planted.values())
    places = [*_files(running.home), *_files(project_root() / "stacks"), *_process_files()]
    found = [(name, place) for place in places for name, marker in planted.items() if marker in _content(place)]
    assert found == []


def test_the_search_finds_what_is_there(running: Deployment, tmp_path: Path) -> None:
    """The key that `up` writes for its user is a place where a secret belongs: the search must see it there."""
    marker = markers(running)["user-ada-key"]
    [key] = (project_root() / ".clusterwright" / "stacks" / running.stack).glob("ada.key")
    assert marker in key.read_bytes()
    assert key.stat().st_mode & 0o077 == 0


def test_seeds_on_hosts_are_for_root_alone(running: Deployment) -> None:
    munge = base64.b64decode(_state_secret(running, "munge-key"))
    for hostname in running.leaders():
        if hostname == "balancer":
            continue
        seed = running.host(hostname).upper / "etc/clusterwright/secrets/munge.key"
        assert seed.read_bytes() == munge
        assert seed.stat().st_mode & 0o077 == 0
        assert seed.parent.stat().st_mode & 0o077 == 0


def _state_secret(stack: Deployment, name: str) -> str:
    import json

    exported = stack.run("pulumi", "stack", "export", "--show-secrets", "--stack", stack.stack).stdout
    [resource] = [one for one in json.loads(exported)["deployment"]["resources"] if one["urn"].endswith(f"::{name}")]
    value = resource["outputs"]["value"]
    return str(json.loads(value["plaintext"]) if isinstance(value, dict) else value)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _process_files() -> list[Path]:
    return [process / name for process in Path("/proc").iterdir() if process.name.isdigit() for name in ("cmdline", "environ")]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
