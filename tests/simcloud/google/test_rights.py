"""Tokens and roles decide each call to the simulated Google Cloud."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.core.failure import Refused
from tests.simcloud.google import conditions, rights
from tests.simcloud.google.cloud import Answer, Cloud

from .test_bulk import BULK, wanted
from .test_door import NETWORK, SUBNET, SUBNETS, made
from .test_instances import INSTANCE, TEMPLATE, ZONE

EMAIL, OTHER = "control@proj.iam.gserviceaccount.com", "compute@proj.iam.gserviceaccount.com"
STARTS = (
    "compute.instances.create", "compute.instances.list", "compute.instances.setLabels", "compute.instances.setServiceAccount", "compute.instanceTemplates.useReadOnly",
    "compute.disks.create", "compute.subnetworks.use", "compute.zoneOperations.get",
)  # fmt: skip
PROJECT, ACCOUNTS = "/v1/projects/proj", "/v1/projects/proj/serviceAccounts"


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        for name in ("control", "compute"):
            right(one.request("iam.googleapis.com", "POST", ACCOUNTS, {}, {"accountId": name}))
        account = {"email": OTHER, "scopes": [rights.PLATFORM]}
        made(one, "global/instanceTemplates", {"name": "t", "properties": {**TEMPLATE, "labels": {"a": "b"}, "serviceAccounts": [account]}})
        right(one.request("iam.googleapis.com", "POST", f"{PROJECT}/roles", {}, {"roleId": "starts", "role": {"includedPermissions": [*STARTS]}}))
        right(
            one.request("iam.googleapis.com", "POST", f"{PROJECT}/roles", {}, {"roleId": "ends", "role": {"includedPermissions": ["compute.instances.delete"]}})
        )
        yield one


def right(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return answer.body


def bind(cloud: Cloud, role: str, *, condition: Any = None, host: str = "cloudresourcemanager", path: str = PROJECT) -> Answer:
    current = right(cloud.request(f"{host}.googleapis.com", "POST", f"{path}:getIamPolicy"))
    binding = {"role": role, "members": [f"serviceAccount:{EMAIL}"], **({"condition": condition} if condition else {})}
    policy = {**current, "bindings": [*current.get("bindings", []), binding], "version": 3}
    return cloud.request(f"{host}.googleapis.com", "POST", f"{path}:setIamPolicy", {}, {"policy": policy})


def by_account(cloud: Cloud, method: str, path: str, body: Any = None) -> str:
    token = rights.token_for(cloud, EMAIL)
    answer = cloud.request("compute.googleapis.com", method, f"/compute/v1/projects/proj/{path}", {}, body, token)
    return "done" if answer.status == 200 else f"{answer.status} {answer.body['error']['message']}"


def test_a_role_and_the_use_of_the_account_let_a_controller_start_nodes(cloud: Cloud) -> None:
    assert (
        by_account(cloud, "POST", BULK, wanted(1))
        == "403 Required 'compute.instances.create' permission for 'projects/proj/zones/us-central1-a/instances/bulkInsert'"
    )
    right(bind(cloud, "projects/proj/roles/starts"))
    assert by_account(cloud, "POST", BULK, wanted(1)) == f"403 Required 'iam.serviceAccounts.actAs' permission for 'projects/proj/serviceAccounts/{OTHER}'"
    right(bind(cloud, "roles/iam.serviceAccountUser", host="iam", path=f"{ACCOUNTS}/{OTHER}"))
    assert by_account(cloud, "POST", BULK, wanted(1)) == "done"
    assert "compute.instances.delete" in by_account(cloud, "DELETE", f"{ZONE}/instances/node-0")


@pytest.mark.parametrize("missing", [one for one in STARTS if one not in ("compute.zoneOperations.get", "compute.instances.list")])
def test_each_permission_of_a_launch_is_needed(cloud: Cloud, missing: str) -> None:
    role = {"includedPermissions": [one for one in STARTS if one != missing]}
    right(cloud.request("iam.googleapis.com", "PATCH", f"{PROJECT}/roles/starts", {}, role))
    right(bind(cloud, "projects/proj/roles/starts"))
    right(bind(cloud, "roles/iam.serviceAccountUser"))
    assert by_account(cloud, "POST", BULK, wanted(1)).startswith(f"403 Required '{missing}'")


def test_a_condition_holds_for_names_of_the_stack_alone(cloud: Cloud) -> None:
    for name in ("mine-0", "other-0"):
        right(cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/proj/{BULK}", {}, {**wanted(1), "perInstanceProperties": {name: {}}}))
    expression = 'resource.type == "compute.googleapis.com/Instance" && resource.name.extract("/instances/{name}").startsWith("mine-")'
    right(bind(cloud, "projects/proj/roles/ends", condition={"title": "own", "expression": expression}))
    assert by_account(cloud, "DELETE", f"{ZONE}/instances/mine-0") == "done"
    assert by_account(cloud, "DELETE", f"{ZONE}/instances/other-0").startswith("403")


@pytest.mark.parametrize(
    "condition",
    [{"expression": "resource.name == 'x'"}, {"title": "t", "expression": "resource.name =="}, {"title": "t", "expression": "resource.size == 'x'"}],
)
def test_a_condition_that_can_not_be_is_refused(cloud: Cloud, condition: Any) -> None:
    assert bind(cloud, "projects/proj/roles/ends", condition=condition).status in (400, 501)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('resource.name.startsWith("projects/p")', True),
        ('!(resource.name.startsWith("projects/p"))', False),
        ('resource.name.endsWith("/i") && resource.service == "compute.googleapis.com"', True),
        ('resource.name == "x" || resource.type != "y"', True),
        ('resource.name.extract("zones/{zone}/") == "z"', True),
    ],
)
def test_conditions_are_expressions(expression: str, expected: bool) -> None:
    assert conditions.holds(expression, rights.attributes("projects/p/zones/z/instances/i")) is expected


def test_a_token_is_somebodys_and_expires(cloud: Cloud) -> None:
    token = rights.token_for(cloud, EMAIL)
    right(bind(cloud, "roles/compute.viewer"))
    path = f"/compute/v1/projects/proj/{ZONE}/instances"
    right(cloud.request("compute.googleapis.com", "GET", path, token=token))
    assert cloud.request("compute.googleapis.com", "GET", path, token="ya29.nobody").status == 401
    narrow = rights.token_for(cloud, EMAIL, ["https://www.googleapis.com/auth/logging.write"])
    assert cloud.request("compute.googleapis.com", "GET", path, token=narrow).status == 403
    cloud.store.set_clock(3601)
    assert cloud.request("compute.googleapis.com", "GET", path, token=token).status == 401


def test_an_instance_without_an_account_has_no_token(cloud: Cloud) -> None:
    right(cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/proj/{BULK}", {}, wanted(1, instanceProperties={"serviceAccounts": []})))
    with pytest.raises(Refused, match="no service account"):
        rights.token_of(cloud, cloud.need(f"projects/proj/{ZONE}/instances/node-0"))


def test_the_policy_of_an_instance_goes_with_it(cloud: Cloud) -> None:
    made(cloud, f"{ZONE}/instances", INSTANCE)
    path = f"/compute/v1{PROJECT.removeprefix('/v1')}/{ZONE}/instances/one"
    policy = {"bindings": [{"role": "roles/compute.osLogin", "members": ["user:ada@example.org"]}]}
    right(cloud.request("compute.googleapis.com", "POST", f"{path}/setIamPolicy", {}, {"policy": policy}))
    right(cloud.request("compute.googleapis.com", "DELETE", path))
    made(cloud, f"{ZONE}/instances", INSTANCE)
    assert "bindings" not in right(cloud.request("compute.googleapis.com", "GET", f"{path}/getIamPolicy"))
