"""Load balancers, placement and reservations of the simulated Google Cloud: both sides of their rules."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google.cloud import Cloud

from .test_door import NETWORK, SUBNET, SUBNETS, ask, made, reason
from .test_instances import INSTANCE, ZONE

REGION = "regions/us-central1"
CHECK = {"name": "check", "type": "TCP", "tcpHealthCheck": {"port": 22}}
SERVICE = {
    "name": "login", "loadBalancingScheme": "EXTERNAL", "protocol": "TCP", "healthChecks": [f"{REGION}/healthChecks/check"],
    "backends": [{"group": f"{ZONE}/instanceGroups/login", "balancingMode": "CONNECTION"}],
}  # fmt: skip
RULE = {"name": "login", "loadBalancingScheme": "EXTERNAL", "IPProtocol": "TCP", "ports": ["22"], "backendService": f"{REGION}/backendServices/login"}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        made(one, f"{ZONE}/instances", INSTANCE)
        yield one


def balanced(cloud: Cloud) -> None:
    made(cloud, f"{ZONE}/instanceGroups", {"name": "login"})
    assert ask(cloud, "POST", f"{ZONE}/instanceGroups/login/addInstances", {"instances": [{"instance": f"{ZONE}/instances/one"}]}).status == 200
    made(cloud, f"{REGION}/healthChecks", CHECK)
    made(cloud, f"{REGION}/backendServices", SERVICE)


def test_a_load_balancer_goes_in_the_order_of_its_parts(cloud: Cloud) -> None:
    balanced(cloud)
    made(cloud, f"{REGION}/addresses", {"name": "login"})
    rule = made(cloud, f"{REGION}/forwardingRules", {**RULE, "IPAddress": f"{REGION}/addresses/login"})
    address = ask(cloud, "GET", f"{REGION}/addresses/login").body
    assert (rule["IPAddress"], address["status"]) == (address["address"], "IN_USE")
    health = ask(cloud, "POST", f"{REGION}/backendServices/login/getHealth", {"group": f"{ZONE}/instanceGroups/login"}).body
    assert [one["healthState"] for one in health["healthStatus"]] == ["HEALTHY"]
    parts = [f"{REGION}/forwardingRules/login", f"{REGION}/addresses/login", f"{REGION}/backendServices/login", f"{ZONE}/instanceGroups/login"]
    for part in parts[1:]:
        assert reason(ask(cloud, "DELETE", part)) == "400 resourceInUseByAnotherResource"
    for part in parts:
        assert ask(cloud, "DELETE", part).status == 200


def test_a_deleted_instance_leaves_its_group_and_its_namesake_is_no_member(cloud: Cloud) -> None:
    balanced(cloud)
    assert ask(cloud, "DELETE", f"{ZONE}/instances/one").status == 200
    made(cloud, f"{ZONE}/instances", INSTANCE)
    assert ask(cloud, "POST", f"{ZONE}/instanceGroups/login/listInstances", {}).body.get("items", []) == []
    assert ask(cloud, "GET", f"{ZONE}/instanceGroups/login").body["size"] == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{REGION}/healthChecks", {**CHECK, "name": "b", "type": "HTTP"}),
        (f"{REGION}/healthChecks", {**CHECK, "name": "b", "tcpHealthCheck": None}),
        (f"{REGION}/healthChecks", {**CHECK, "name": "b", "timeoutSec": 6}),
        (f"{REGION}/backendServices", {**SERVICE, "name": "b", "healthChecks": []}),
        (f"{REGION}/backendServices", {**SERVICE, "name": "b", "backends": [{"group": f"{ZONE}/instanceGroups/login"}]}),
        (f"{REGION}/forwardingRules", {**RULE, "ports": []}),
        (f"{REGION}/forwardingRules", {**RULE, "loadBalancingScheme": "INTERNAL"}),
        (f"{REGION}/forwardingRules", {**RULE, "IPProtocol": "UDP"}),
        (f"{REGION}/forwardingRules", {**RULE, "ports": [str(port) for port in range(6)]}),
        (f"{ZONE}/instanceGroups/login/addInstances", {"instances": [{"instance": f"{ZONE}/instances/one"}]}),
        (f"{ZONE}/instanceGroups/login/addInstances", {"instances": [{"instance": f"{ZONE}/instances/two"}]}),
    ],
)
def test_a_load_balancer_that_can_not_be_is_refused(cloud: Cloud, path: str, body: Any) -> None:
    balanced(cloud)
    assert ask(cloud, "POST", path, body).status in (400, 404)


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ({"groupPlacementPolicy": {"collocation": "COLLOCATED"}}, 200),
        ({"groupPlacementPolicy": {"collocation": "COLLOCATED", "vmCount": 1501}}, 400),
        ({"groupPlacementPolicy": {"collocation": "NEAR"}}, 400),
        ({"workloadPolicy": {"type": "HIGH_THROUGHPUT", "maxTopologyDistance": "BLOCK"}}, 200),
        ({"workloadPolicy": {"type": "HIGH_AVAILABILITY", "maxTopologyDistance": "BLOCK"}}, 400),
        ({"workloadPolicy": {}}, 400),
        ({}, 400),
    ],
)
def test_a_resource_policy_says_one_thing(cloud: Cloud, policy: Any, status: int) -> None:
    assert ask(cloud, "POST", f"{REGION}/resourcePolicies", {"name": "p", **policy}).status == status


def test_a_reservation_is_for_a_machine_of_its_zone(cloud: Cloud) -> None:
    wanted = {"name": "r", "specificReservation": {"count": "2", "instanceProperties": {"machineType": "a3-megagpu-8g"}}, "specificReservationRequired": True}
    assert made(cloud, f"{ZONE}/reservations", wanted)["specificReservation"]["inUseCount"] == "0"
    assert reason(ask(cloud, "POST", "zones/us-central1-f/reservations", wanted)) == "400 invalid"


def test_a_thing_answers_to_its_number(cloud: Cloud) -> None:
    number = ask(cloud, "GET", f"{ZONE}/instances/one").body["id"]
    assert ask(cloud, "GET", f"{ZONE}/instances/{number}").body["name"] == "one"
    assert ask(cloud, "DELETE", f"{ZONE}/instances/{number}").status == 200
    assert ask(cloud, "GET", f"{ZONE}/instances/{number}").status == 404
    assert ask(cloud, "GET", f"{ZONE}/instances/one").status == 404
