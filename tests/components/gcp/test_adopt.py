"""What a killed run created is found by its name and the stack's mark."""

from typing import Any

import pytest

from components.adoption import Certainty, Creation, NotAsked
from components.gcp import adopt, credentials
from components.gcp.names import OWNER_LABEL
from tests.components.gcp import programs
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

NETWORK = "gcp:compute/network:Network"
CONNECTION = "gcp:servicenetworking/connection:Connection"
LUSTRE = {"kind": "lustre", "mount": "/fast"}


@pytest.fixture
def account(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> adopt.Account:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/global/networks", body=asked("ours"))
    return adopt.Account(REGION)


def asked(owner: str, **more: Any) -> dict[str, Any]:
    return {"name": "net", "description": f"Network of cluster c, stack s, clusterwright-owner={owner}", "autoCreateSubnetworks": False, **more}


def creation(inputs: dict[str, Any], kind: str = NETWORK) -> Creation:
    return Creation(f"urn:pulumi:dev::clusterwright::{kind}::network", kind, inputs)


def test_what_has_the_name_and_the_mark_is_it(account: adopt.Account) -> None:
    found = account.trace(creation(asked("ours")), recorded=())
    assert (found.certainty, found.identities) == (Certainty.FOUND, (f"projects/{PROJECT}/global/networks/net",))


@pytest.mark.parametrize("inputs", [asked("theirs"), asked("ours", name="other"), {"name": "net"}])
def test_what_is_not_ours_is_not_found(account: adopt.Account, inputs: dict[str, Any]) -> None:
    assert account.trace(creation(inputs), recorded=()).certainty is Certainty.ABSENT


def test_what_is_recorded_belongs_to_another_resource(account: adopt.Account) -> None:
    assert account.trace(creation(asked("ours")), recorded=(f"projects/{PROJECT}/global/networks/net",)).certainty is Certainty.ABSENT


def test_a_project_that_nobody_names_is_no_empty_one(account: adopt.Account, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in credentials.PROJECT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NotAsked, match="GOOGLE_PROJECT"):
        account.trace(creation(asked("ours")), recorded=())


@pytest.mark.parametrize(("owner", "found"), [("ours", ("accounts-1234567",)), ("theirs", ())])
def test_a_database_has_the_mark_among_its_settings(account: adopt.Account, cloud: SimulatedCloud, owner: str, found: tuple[str, ...]) -> None:
    psc = {"pscEnabled": True, "allowedConsumerProjects": [PROJECT]}
    settings = {"tier": "db-custom-2-8192", "edition": "ENTERPRISE", "ipConfiguration": {"ipv4Enabled": False, "pscConfig": psc}}
    body = {"name": "accounts-1234567", "databaseVersion": "MYSQL_8_4", "settings": {**settings, "userLabels": {OWNER_LABEL: "ours"}}}
    answer = cloud.request("sqladmin.googleapis.com", "POST", f"/v1/projects/{PROJECT}/instances", body=body)
    assert answer.status == 200, answer.body
    inputs = {"name": "accounts-1234567", "settings": {"userLabels": {OWNER_LABEL: owner}}}
    assert account.trace(creation(inputs, "gcp:sql/databaseInstance:DatabaseInstance"), recorded=()).identities == found


@pytest.mark.parametrize(("owner", "found"), [("ours", True), ("theirs", False)])
def test_a_lustre_instance_and_the_peering_that_it_needs_are_found(account: adopt.Account, cloud: SimulatedCloud, owner: str, found: bool) -> None:
    network = f"projects/{PROJECT}/global/networks/net"
    reserved = {"name": "range", "addressType": "INTERNAL", "purpose": "VPC_PEERING", "prefixLength": 20, "network": network, "labels": {OWNER_LABEL: "ours"}}
    connected = {"network": network, "reservedPeeringRanges": ["range"]}
    instance = {"filesystem": "data", "capacityGib": "18000", "perUnitStorageThroughput": "500", "network": network, "labels": {OWNER_LABEL: "ours"}}
    where = f"/v1/projects/{PROJECT}/locations/{ZONE}/instances"
    for host, path, query, body in (
        ("compute", f"/compute/v1/projects/{PROJECT}/global/addresses", {}, reserved),
        ("servicenetworking", "/v1/services/servicenetworking.googleapis.com/connections", {}, connected),
        ("lustre", where, {"instanceId": "fast"}, instance),
    ):
        answer = cloud.request(f"{host}.googleapis.com", "POST", path, query, body)
        assert answer.status == 200, answer.body
    labels = {"labels": {OWNER_LABEL: owner}}
    for kind, inputs, identity in (
        ("gcp:compute/globalAddress:GlobalAddress", {"name": "range", **labels}, f"projects/{PROJECT}/global/addresses/range"),
        ("gcp:lustre/instance:Instance", {"location": ZONE, "instanceId": "fast", **labels}, f"projects/{PROJECT}/locations/{ZONE}/instances/fast"),
    ):
        assert account.trace(creation(inputs, kind), recorded=()).identities == ((identity,) if found else ())
    connection = account.trace(creation({"network": network, "service": "servicenetworking.googleapis.com"}, CONNECTION), recorded=())
    assert connection.identities == (f"projects%2F{PROJECT}%2Fglobal%2Fnetworks%2Fnet:servicenetworking.googleapis.com",)
    assert connection.certainty is Certainty.LIKELY, "the refresh that follows finds out"


@pytest.mark.parametrize("database", ["embedded", "managed"])
def test_every_kind_that_the_target_creates_is_found_again(database: str) -> None:
    let_in: dict[str, Any] = {"access__os_login": True, "users__ada__cloud_identity": "ada@example.org"}
    found = programs.program(programs.CPU, accounting__database=database, software="ubuntu-24.04-gcp", storage__fast=LUSTRE, **let_in)
    assert {one.type for one in programs.gcp(found)} <= adopt.KINDS
