"""A host project of others: what its users may, and what nobody may."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.simcloud.google.cloud import PROJECT, Answer, Cloud
from tests.simcloud.google.rights import OWNER

from .test_bulk import BULK, wanted
from .test_instances import INSTANCE, TEMPLATE, ZONE

HOST = "net-host"
COMPUTE, REGION = "compute.googleapis.com", "us-central1"
SUBNET = f"projects/{HOST}/regions/{REGION}/subnetworks/hosts"


def ask(cloud: Cloud, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
    return cloud.request(COMPUTE, method, f"/compute/v1/projects/{HOST}/{path}", body=body)


def shared(cloud: Cloud, users: Sequence[str]) -> None:
    cloud.store.settings["shared_vpc"] = {"project": HOST, "users": [*users]}


@pytest.fixture
def host() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as cloud:
        made(cloud)
        yield cloud


def made(cloud: Cloud) -> None:
    ask(cloud, "POST", "global/networks", {"name": "shared", "autoCreateSubnetworks": False})
    subnet = {"name": "hosts", "network": f"projects/{HOST}/global/networks/shared", "ipCidrRange": "10.20.0.0/20"}
    assert ask(cloud, "POST", f"regions/{REGION}/subnetworks", subnet).status == 200
    shared(cloud, [OWNER])


def launch(cloud: Cloud) -> Answer:
    body = {**INSTANCE, "networkInterfaces": [{"subnetwork": SUBNET}]}
    return cloud.request(COMPUTE, "POST", f"/compute/v1/projects/{PROJECT}/{ZONE}/instances", body=body)


def test_its_users_start_instances_in_its_subnets(host: Cloud) -> None:
    assert launch(host).status == 200
    (one,) = host.store.all("compute.instances")
    assert one["networkInterfaces"][0]["networkIP"].startswith("10.20.")


def test_others_do_not(host: Cloud) -> None:
    shared(host, [])
    answer = launch(host)
    assert (answer.status, "compute.subnetworks.use" in json.dumps(answer.body)) == (403, True)
    assert ask(host, "GET", "global/networks/shared").status == 403


def test_a_template_starts_nothing_for_others_either(host: Cloud) -> None:
    properties = {**TEMPLATE, "networkInterfaces": [{"subnetwork": SUBNET}]}
    answer = host.request(COMPUTE, "POST", f"/compute/v1/projects/{PROJECT}/global/instanceTemplates", body={"name": "t", "properties": properties})
    assert answer.status == 200, answer.body
    shared(host, [])
    answer = host.request(COMPUTE, "POST", f"/compute/v1/projects/{PROJECT}/{BULK}", body=wanted(2))
    assert (answer.status, "compute.subnetworks.use" in json.dumps(answer.body)) == (403, True)


def test_nobody_changes_anything_there(host: Cloud) -> None:
    rule = {"name": "ours", "network": f"projects/{HOST}/global/networks/shared", "allowed": [{"IPProtocol": "all"}], "sourceRanges": ["10.20.0.0/20"]}
    assert ask(host, "POST", "global/firewalls", rule).status == 403
    assert ask(host, "DELETE", f"regions/{REGION}/subnetworks/hosts").status == 403
    assert ask(host, "GET", f"regions/{REGION}/subnetworks/hosts").status == 200


@pytest.mark.parametrize(("users", "held"), [([OWNER], ["compute.subnetworks.use"]), (["user:somebody@example.com"], None)])
def test_a_user_learns_what_he_may(host: Cloud, users: list[str], held: list[str] | None) -> None:
    shared(host, users)
    answer = ask(host, "POST", f"regions/{REGION}/subnetworks/hosts/testIamPermissions", {"permissions": ["compute.subnetworks.use"]})
    assert answer.status == (200 if held else 403)
    assert answer.body.get("permissions") == held
