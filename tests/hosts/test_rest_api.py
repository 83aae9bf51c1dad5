"""Slurm's REST API over the balancer: who has a token lists nodes, and nobody else."""

import http.client
import json
from typing import Any

import pytest

from components import rest
from tests.hosts.deployment import Deployment, wait_until

pytestmark = pytest.mark.hosts

KEY = "/etc/slurm/jwt_hs256.key"
NODES = "/slurm/v0.0.42/nodes/"


def token(shared: Deployment, *words: str) -> str:
    given = shared.clusterwright("token", *words)
    assert given.returncode == 0, given.stderr
    return given.stdout.strip()


@pytest.fixture(scope="module")
def address(shared: Deployment) -> str:
    """Give the address where users log in."""
    return str(shared.outputs()["login"]["address"])


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


def test_a_token_opens_the_api_and_nothing_else_does(shared: Deployment, address: str) -> None:
    given = token(shared, "--user", "ada")
    status, answer = asked(address, X_SLURM_USER_TOKEN=given)
    assert status == 200
    assert sorted(node["name"] for node in answer["nodes"]) == ["train-0", "whole-0"]
    assert asked(address, Authorization=f"Bearer {given}")[0] == 200
    assert asked(address)[0] == 401
    assert asked(address, X_SLURM_USER_TOKEN=f"{given[:-4]}AAAA")[0] == 401
    short = token(shared, "--lifespan", "5")
    wait_until(lambda: asked(address, X_SLURM_USER_TOKEN=short)[0] == 401, awaiting="the token to expire", within_s=60)
    assert asked(address, X_SLURM_USER_TOKEN=given)[0] == 200


def test_the_key_of_tokens_is_on_the_controller_alone(shared: Deployment) -> None:
    secret = shared.inside("control-0", "cat", KEY)
    assert shared.inside("control-0", "stat", "--format=%a %U", KEY).split() == ["600", "slurm"]
    for host in ("login-0", "login-1", "train-0", "whole-0"):
        assert shared.inside(host, "sh", "-c", f"test -e {KEY} || echo none").strip() == "none"
    for host in ("control-0", "login-0"):
        assert secret not in shared.inside(host, "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' ' '")


def test_a_user_without_a_place_in_the_cluster_gets_no_token(shared: Deployment) -> None:
    refused = shared.clusterwright("token", "--user", "mallory")
    assert refused.returncode == 1
    assert "no user mallory" in refused.stderr
