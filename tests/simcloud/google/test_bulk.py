"""Instances made in bulk on the simulated Google Cloud: all or nothing, at least so many, names, reservations, quotas."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.simcloud.google import reserving
from tests.simcloud.google.cloud import Cloud

from .test_door import NETWORK, SUBNET, SUBNETS, ask, made, reason
from .test_instances import TEMPLATE, ZONE

BULK = f"{ZONE}/instances/bulkInsert"


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        made(one, "global/instanceTemplates", {"name": "t", "properties": TEMPLATE})
        yield one


def wanted(count: int, **more: Any) -> dict[str, Any]:
    named: dict[str, Any] = {f"node-{number}": {} for number in range(count)}
    return {"count": str(count), "sourceInstanceTemplate": "global/instanceTemplates/t", "perInstanceProperties": named, **more}


def ended(cloud: Cloud, body: Mapping[str, Any], path: str = BULK, **query: str) -> Any:
    answer = ask(cloud, "POST", path, body, **query)
    assert answer.status == 200, answer.body
    return ask(cloud, "GET", f"{'/'.join(path.split('/')[:2])}/operations/{answer.body['name']}").body


def names(cloud: Cloud) -> list[str]:
    return [one["name"] for one in ask(cloud, "GET", f"{ZONE}/instances", fields="items(name)").body.get("items", [])]


def codes(operation: Any) -> list[str]:
    return [one["code"] for one in operation.get("error", {}).get("errors", [])]


def status(operation: Any) -> tuple[int, int, int]:
    (one,) = operation["instancesBulkInsertOperationMetadata"]["perLocationStatus"].values()
    return one["createdVmCount"], one["failedToCreateVmCount"], one["deletedVmCount"]


def test_names_are_the_callers_and_properties_are_merged(cloud: Cloud) -> None:
    operation = ended(cloud, wanted(2, instanceProperties={"labels": {"a": "b"}}))
    assert (codes(operation), status(operation), names(cloud)) == ([], (2, 0, 0), ["node-0", "node-1"])
    one = ask(cloud, "GET", f"{ZONE}/instances/node-0").body
    assert (one["labels"], one["status"], one["machineType"].rpartition("/")[2]) == ({"a": "b"}, "RUNNING", "n2-standard-4")


def test_too_few_are_none(cloud: Cloud) -> None:
    cloud.store.set_setting("capacity", {"n2-standard-4": 2})
    operation = ended(cloud, wanted(3))
    assert codes(operation) == ["ZONE_RESOURCE_POOL_EXHAUSTED", "VM_MIN_COUNT_NOT_REACHED"]
    assert (status(operation), names(cloud)) == ((2, 1, 2), [])
    assert not list(cloud.store.all("compute.disks"))


def test_at_least_so_many_may_be_part_of_them(cloud: Cloud) -> None:
    cloud.store.set_setting("capacity", {"n2-standard-4": 2})
    operation = ended(cloud, wanted(3, minCount="1"))
    assert (codes(operation), status(operation), len(names(cloud))) == (["ZONE_RESOURCE_POOL_EXHAUSTED"], (2, 1, 0), 2)


@pytest.mark.parametrize(("least", "told"), [("1", []), ("3", ["VM_MIN_COUNT_NOT_REACHED"])])
def test_why_an_instance_was_not_made_is_in_an_operation_of_its_own(cloud: Cloud, least: str, told: list[str]) -> None:
    cloud.store.set_setting("capacity", {"n2-standard-4": 2})
    cloud.store.set_setting("bulk_is_terse", True)
    operation = ended(cloud, wanted(3, minCount=least))
    assert codes(operation) == told
    group = operation["operationGroupId"]
    parts = ask(cloud, "GET", f"{ZONE}/operations", filter=f'(operationGroupId = "{group}") (operationType = "insert")').body["items"]
    assert [(one["targetLink"].rpartition("/")[2], one["status"], codes(one)) for one in parts] == [("node-2", "DONE", ["ZONE_RESOURCE_POOL_EXHAUSTED"])]


def test_a_name_that_is_taken_is_an_error_of_the_operation(cloud: Cloud) -> None:
    ended(cloud, wanted(1))
    assert "RESOURCE_ALREADY_EXISTS" in codes(ended(cloud, wanted(2)))
    assert names(cloud) == ["node-0"]


def test_the_same_request_twice_is_one(cloud: Cloud) -> None:
    ident = "5a0b6e2c-3a6f-4f6e-9f53-6a3c5a2f8a01"
    assert [ended(cloud, wanted(2), requestId=ident)["name"] for _ in range(2)].count(ended(cloud, wanted(2), requestId=ident)["name"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"count": "0"}, {"count": "5001"}, {"minCount": "3"}, {"perInstanceProperties": {"Node": {}, "node-1": {}}}, {"perInstanceProperties": {"node-0": {}}},
        {"perInstanceProperties": None}, {"sourceInstanceTemplate": None}, {"instanceProperties": {"machineType": "n2-standard-5"}},
    ],
)  # fmt: skip
def test_a_bulk_that_can_not_be_is_refused_at_once(cloud: Cloud, change: Any) -> None:
    assert ask(cloud, "POST", BULK, {**wanted(2), **change}).status in (400, 404)
    assert names(cloud) == []


def test_a_region_chooses_a_zone_with_room(cloud: Cloud) -> None:
    cloud.store.set_setting("capacity", {"n2-standard-4/us-central1-a": 1})
    ended(
        cloud,
        wanted(2, locationPolicy={"locations": {"zones/us-central1-b": {"preference": "ALLOW"}, "zones/us-central1-a": {"preference": "ALLOW"}}}),
        "regions/us-central1/instances/bulkInsert",
    )
    assert [one.region for one in cloud.store.all("compute.instances")] == ["us-central1-b"] * 2


def test_a_reservation_holds_its_own_machines(cloud: Cloud) -> None:
    cloud.store.set_setting("capacity", {"n2-standard-4": 1})
    assert codes(ended(cloud, {**reserved("r"), "name": "r"}, f"{ZONE}/reservations")) == ["ZONE_RESOURCE_POOL_EXHAUSTED"]
    cloud.store.set_setting("capacity", {"n2-standard-4": 2})
    made(cloud, f"{ZONE}/reservations", {**reserved("r"), "name": "r"})
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name", "values": ["r"]}
    assert reason(ask(cloud, "POST", BULK, wanted(2, instanceProperties={"reservationAffinity": {**affinity, "values": ["other"]}}))) == "404 notFound"
    assert reason(ask(cloud, "POST", BULK, wanted(2, instanceProperties={"reservationAffinity": affinity, "machineType": "n2-standard-8"}))) == "400 invalid"
    assert codes(ended(cloud, wanted(3, instanceProperties={"reservationAffinity": affinity}))) == ["CONDITION_NOT_MET", "VM_MIN_COUNT_NOT_REACHED"]
    assert codes(ended(cloud, wanted(2, instanceProperties={"reservationAffinity": affinity}))) == []
    assert ask(cloud, "GET", f"{ZONE}/reservations/r").body["specificReservation"]["inUseCount"] == "2"
    assert reason(ask(cloud, "DELETE", f"{ZONE}/reservations/r")) == "400 resourceInUseByAnotherResource"


def test_a_dense_reservation_takes_only_instances_that_are_bound_to_it(cloud: Cloud) -> None:
    made(cloud, f"{ZONE}/reservations", {**reserved("r"), "deploymentType": "DENSE"})
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name", "values": ["r"]}
    refused = ask(cloud, "POST", BULK, wanted(2, instanceProperties={"reservationAffinity": affinity}))
    assert reason(refused) == "400 invalid"
    assert refused.body["error"]["message"].endswith(reserving.BOUND)
    bound = {"reservationAffinity": affinity, "scheduling": {"provisioningModel": "RESERVATION_BOUND", "instanceTerminationAction": "DELETE"}}
    assert codes(ended(cloud, wanted(2, instanceProperties=bound))) == []


def test_a_reservation_of_a_machine_that_comes_no_other_way_is_dense(cloud: Cloud) -> None:
    held = {"count": "1", "instanceProperties": {"machineType": "a3-ultragpu-8g"}}
    made(cloud, "zones/us-central1-b/reservations", {"name": "r", "specificReservationRequired": True, "specificReservation": held})
    assert ask(cloud, "GET", "zones/us-central1-b/reservations/r").body["deploymentType"] == "DENSE"


def reserved(name: str) -> dict[str, Any]:
    return {"name": name, "specificReservationRequired": True, "specificReservation": {"count": "2", "instanceProperties": {"machineType": "n2-standard-4"}}}


def test_a_quota_is_no_shortage(cloud: Cloud) -> None:
    cloud.store.set_setting("quotas", {"N2_CPUS": 8})
    operation = ended(cloud, wanted(3))
    assert codes(operation) == ["QUOTA_EXCEEDED", "VM_MIN_COUNT_NOT_REACHED"]
    assert operation["error"]["errors"][0]["errorDetails"][0]["quotaInfo"]["limit"] == 8
    assert codes(ended(cloud, wanted(2))) == []


def test_hundreds_start_in_seconds(cloud: Cloud) -> None:
    began = time.process_time()
    ended(cloud, wanted(500))
    assert len(names(cloud)) == 500
    assert time.process_time() - began < 5
