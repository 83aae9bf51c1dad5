"""What the simulated Google Cloud takes and says of it that it would not work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google import audit, happenings
from tests.simcloud.google.cloud import Cloud

from .test_balancing import CHECK, REGION, RULE, SERVICE
from .test_door import NETWORK, SUBNET, SUBNETS, ask, made
from .test_instances import INSTANCE, TEMPLATE, ZONE

NAT = {"name": "n", "natIpAllocateOption": "AUTO_ONLY", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}
OPEN = {"name": "open", "network": "global/networks/net", "allowed": [{"IPProtocol": "tcp", "ports": ["20-30"]}]}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, {**SUBNET, "privateIpGoogleAccess": True})
        made(one, f"{REGION}/routers", {"name": "r", "network": "global/networks/net", "nats": [NAT]})
        made(one, f"{ZONE}/instances", INSTANCE)
        made(one, f"{ZONE}/instanceGroups", {"name": "login"})
        ask(one, "POST", f"{ZONE}/instanceGroups/login/addInstances", {"instances": [{"instance": f"{ZONE}/instances/one"}]})
        made(one, f"{REGION}/healthChecks", CHECK)
        made(one, f"{REGION}/backendServices", SERVICE)
        made(one, f"{REGION}/forwardingRules", RULE)
        made(one, "global/firewalls", OPEN)
        made(one, "global/instanceTemplates", {"name": "t", "properties": TEMPLATE})
        yield one


def findings(cloud: Cloud) -> list[str]:
    """Give what is found when all operations are done."""
    happenings.by_time(cloud)
    return audit.findings(cloud)


def test_what_works_is_not_mentioned(cloud: Cloud) -> None:
    assert findings(cloud) == []


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("DELETE", f"{REGION}/routers/r", None, "no NAT"),
        ("PATCH", f"{REGION}/routers/r", {"nats": None}, "translates no addresses"),
        ("DELETE", "global/firewalls/open", None, "no firewall rule lets port 22"),
        ("PATCH", "global/firewalls/open", {"allowed": [{"IPProtocol": "tcp", "ports": ["80"]}]}, "no firewall rule lets port 22"),
        ("POST", f"{ZONE}/instanceGroups/login/removeInstances", {"instances": [{"instance": f"{ZONE}/instances/one"}]}, "no instance is behind it"),
    ],
)
def test_what_can_not_work_is(cloud: Cloud, method: str, path: str, body: Any, expected: str) -> None:
    assert ask(cloud, method, path, body).status == 200
    assert any(expected in one for one in findings(cloud))


def test_a_template_that_starts_nowhere_is_found(cloud: Cloud) -> None:
    made(cloud, "global/images", {"name": "old", "sourceImage": "projects/debian-cloud/global/images/family/debian-12"})
    disks = [{"boot": True, "initializeParams": {"sourceImage": "global/images/old"}}]
    made(cloud, "global/instanceTemplates", {"name": "u", "properties": {**TEMPLATE, "disks": disks}})
    assert findings(cloud) == []
    assert ask(cloud, "DELETE", "global/images/old").status == 200
    assert [one for one in findings(cloud) if "instanceTemplates/u: it starts in no zone" in one]
    gpus = {**TEMPLATE, "machineType": "a2-highgpu-8g", "scheduling": {"onHostMaintenance": "TERMINATE"}}
    made(cloud, "regions/us-east5/subnetworks", {**SUBNET, "name": "far", "ipCidrRange": "10.9.0.0/16", "privateIpGoogleAccess": True})
    made(cloud, "global/instanceTemplates", {"name": "w", "properties": {**gpus, "networkInterfaces": [{"subnetwork": "regions/us-east5/subnetworks/far"}]}})
    assert [one for one in findings(cloud) if one.endswith("instanceTemplates/w: no zone of us-east5 has a2-highgpu-8g")]
