"""Cloud SQL without a peering: editions, tiers and flags, and endpoints of Private Service Connect, over which hosts of a network reach an instance."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google.cloud import Answer, Cloud

from .test_door import NETWORK, SUBNET, SUBNETS, made, reason

BASE = "/sql/v1beta4/projects/proj/instances"
REGION = "/compute/v1/projects/proj/regions/us-central1"
PRIVATE = {"ipv4Enabled": False, "sslMode": "ENCRYPTED_ONLY", "pscConfig": {"pscEnabled": True, "allowedConsumerProjects": ["proj"]}}
SETTINGS = {"tier": "db-custom-2-8192", "edition": "ENTERPRISE", "ipConfiguration": PRIVATE}
DATABASE = {"name": "accounts", "databaseVersion": "MYSQL_8_4", "region": "us-central1", "settings": SETTINGS}
ENDPOINT = {"name": "accounts", "IPAddress": "regions/us-central1/addresses/accounts", "network": "global/networks/net"}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        made(one, "global/networks", {**NETWORK, "name": "other"})
        address = {"name": "accounts", "addressType": "INTERNAL", "subnetwork": f"regions/us-central1/subnetworks/{SUBNET['name']}"}
        made(one, "regions/us-central1/addresses", address)
        made(one, "regions/us-central1/addresses", {"name": "outside"})
        yield one


def create(cloud: Cloud, change: dict[str, Any] | None = None, **settings: Any) -> Answer:
    return cloud.request("sqladmin.googleapis.com", "POST", BASE, None, {**DATABASE, **(change or {}), "settings": {**SETTINGS, **settings}})


def instance(cloud: Cloud) -> Any:
    return cloud.request("sqladmin.googleapis.com", "GET", f"{BASE}/accounts").body


def rule(cloud: Cloud, **change: Any) -> Answer:
    body = {**ENDPOINT, "target": instance(cloud)["pscServiceAttachmentLink"], **change}
    return cloud.request("compute.googleapis.com", "POST", f"{REGION}/forwardingRules", None, body)


def status(cloud: Cloud) -> str:
    return str(cloud.request("compute.googleapis.com", "GET", f"{REGION}/forwardingRules/accounts").body["pscConnectionStatus"])


def test_an_endpoint_gives_an_instance_an_address_in_the_network(cloud: Cloud) -> None:
    assert create(cloud).status == 200
    shown = instance(cloud)
    assert shown["ipAddresses"] == [], "it has no address of its own"
    assert shown["dnsName"].endswith(".us-central1.sql.goog.")
    assert [(one["name"], one["connectionType"]) for one in shown["dnsNames"]] == [(shown["dnsName"], "PRIVATE_SERVICE_CONNECT")]
    assert rule(cloud).status == 200
    found = cloud.request("compute.googleapis.com", "GET", f"{REGION}/forwardingRules/accounts").body
    address = cloud.request("compute.googleapis.com", "GET", f"{REGION}/addresses/accounts").body["address"]
    assert (found["IPAddress"], found["pscConnectionStatus"], found.get("loadBalancingScheme")) == (address, "ACCEPTED", None)
    assert cloud.request("sqladmin.googleapis.com", "DELETE", f"{BASE}/accounts").status == 200
    instance(cloud)
    assert status(cloud) == "CLOSED"


def test_an_endpoint_of_a_project_that_is_not_named_waits(cloud: Cloud) -> None:
    assert create(cloud, ipConfiguration={**PRIVATE, "pscConfig": {"pscEnabled": True}}).status == 200
    assert rule(cloud).status == 200
    assert status(cloud) == "PENDING"


@pytest.mark.parametrize(
    "change",
    [
        {"loadBalancingScheme": "INTERNAL"},
        {"ports": ["3306"]},
        {"network": None},
        {"network": "global/networks/other"},
        {"IPAddress": None},
        {"IPAddress": "regions/us-central1/addresses/outside"},
        {"target": "https://www.googleapis.com/compute/v1/projects/tenant/regions/us-central1/serviceAttachments/none"},
    ],
)
def test_what_is_no_endpoint_is_refused(cloud: Cloud, change: dict[str, Any]) -> None:
    assert create(cloud).status == 200
    assert rule(cloud, **change).status in (400, 404)
    assert rule(cloud).status == 200


@pytest.mark.parametrize(
    "settings",
    [
        {"edition": None},
        {"edition": "ENTERPRISE_PLUS"},
        {"tier": "db-n1-standard-3"},
        {"tier": "db-custom-3-12288"},
        {"tier": "db-custom-2-8000"},
        {"tier": "db-custom-2-16384"},
        {"tier": "db-custom-1-2048"},
        {"databaseFlags": [{"name": "innodb_lock_wait_timeout", "value": "0"}]},
        {"availabilityType": "REGIONAL"},
        {"availabilityType": "REGIONAL", "backupConfiguration": {"enabled": False, "binaryLogEnabled": True}},
        {"ipConfiguration": {**PRIVATE, "pscConfig": {"pscEnabled": False}}},
    ],
)
def test_settings_that_can_not_be_are_refused(cloud: Cloud, settings: dict[str, Any]) -> None:
    assert reason(create(cloud, **settings)).startswith("400 ")
    backups = {"enabled": True, "binaryLogEnabled": True}
    flags = [{"name": "innodb_lock_wait_timeout", "value": "900"}]
    assert create(cloud, availabilityType="REGIONAL", backupConfiguration=backups, databaseFlags=flags).status == 200


def test_the_edition_of_an_instance_that_names_none_goes_by_its_version(cloud: Cloud) -> None:
    assert create(cloud, {"databaseVersion": "MYSQL_8_0"}, edition=None).status == 200
    assert instance(cloud)["settings"]["edition"] == "ENTERPRISE"


def test_a_flag_without_a_rule_is_not_simulated(cloud: Cloud) -> None:
    assert create(cloud, databaseFlags=[{"name": "innodb_ft_min_token_size", "value": "3"}]).status == 501
