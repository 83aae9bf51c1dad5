"""Slurm's REST API over the balancer: who has a token lists nodes, and nobody else."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from blueprints import library
from components import rest
from tests.hosts.deployment import Deployment, deployment, wait_until

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(1800)]

KEY = "/etc/slurm/jwt_hs256.key"
NODES = "/slurm/v0.0.42/nodes/"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("rest")
    blueprint = yaml.safe_load(library.find("starter").read_text())
    blueprint["access"] = {"login_nodes": 2, "rest_api": True}
    blueprint["pools"]["train"] |= {"nodes": 1}
    (folder / "rest.yaml").write_text(json.dumps(blueprint))
    with deployment("test-sitenet-rest", folder, blueprint=str(folder / "rest.yaml")) as one:
        one.up()
        yield one


def token(stack: Deployment, *words: str) -> str:
    given = stack.clusterwright("token", *words)
    assert given.returncode == 0, given.stderr
    return given.stdout.strip()


@pytest.fixture(scope="module")
def address(stack: Deployment) -> str:
    """Give the address where users log in."""
    return str(stack.outputs()["login"]["address"])


def asked(address: str, path: str = NODES, **headers: str) -> tuple[int, Any]:
    """Ask the API; give the status and the answer."""
    connection = http.client.HTTPConnection(address, rest.PORT, timeout=30)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else None
    finally:
        connection.close()


def test_a_token_opens_the_api_and_nothing_else_does(stack: Deployment, address: str) -> None:
    given = token(stack, "--user", "ada")
    status, answer = asked(address, X_SLURM_USER_TOKEN=given)
    assert status == 200
    assert [node["name"] for node in answer["nodes"]] == ["train-0"]
    assert asked(address, Authorization=f"Bearer {given}")[0] == 200
    assert asked(address)[0] == 401
    assert asked(address, X_SLURM_USER_TOKEN=f"{given[:-4]}AAAA")[0] == 401
    short = token(stack, "--lifespan", "5")
    wait_until(lambda: asked(address, X_SLURM_USER_TOKEN=short)[0] == 401, awaiting="the token to expire", within_s=60)
    assert asked(address, X_SLURM_USER_TOKEN=given)[0] == 200


def test_the_key_of_tokens_is_on_the_controller_alone(stack: Deployment) -> None:
    secret = stack.inside("control-0", "cat", KEY)
    assert stack.inside("control-0", "stat", "--format=%a %U", KEY).split() == ["600", "slurm"]
    for host in ("login-0", "login-1", "train-0"):
        assert stack.inside(host, "sh", "-c", f"test -e {KEY} || echo none").strip() == "none"
    for host in ("control-0", "login-0"):
        assert secret not in stack.inside(host, "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' '")


def test_a_second_up_changes_nothing_and_hosts_are_as_recorded(stack: Deployment) -> None:
    """Packages of the API came after the image was recorded."""
    assert stack.preview_changes() == {}
    assert json.loads(stack.clusterwright("drift", "--layer", "hosts", "--json").stdout)["findings"] == []


def test_a_user_without_a_place_in_the_cluster_gets_no_token(stack: Deployment) -> None:
    refused = stack.clusterwright("token", "--user", "mallory")
    assert refused.returncode == 1
    assert "no user mallory" in refused.stderr
