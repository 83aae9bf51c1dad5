"""Machines that NVLink joins across instances, on the simulated Google Cloud: several of them start only in a slice, which a policy names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google.cloud import Cloud

from .test_bulk import codes, ended
from .test_door import NETWORK, SUBNET, SUBNETS, ask, made, reason
from .test_instances import BOOT, TEMPLATE

ZONE, MACHINE = "zones/us-central1-a", "a4x-highgpu-4g"
BULK, POLICIES = f"{ZONE}/instances/bulkInsert", "regions/us-central1/resourcePolicies"
ARM = {"sourceImage": "projects/debian-cloud/global/images/family/debian-12-arm64", "diskType": "hyperdisk-balanced"}
SCHEDULING = {"onHostMaintenance": "TERMINATE", "automaticRestart": False}
SLICE = {"collocation": "COLLOCATED", "gpuTopology": "1x72"}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        properties = {**TEMPLATE, "machineType": MACHINE, "disks": [{**BOOT, "initializeParams": ARM}], "scheduling": SCHEDULING}
        made(one, "global/instanceTemplates", {"name": "t", "properties": properties})
        made(one, POLICIES, {"name": "first", "groupPlacementPolicy": SLICE})
        made(one, POLICIES, {"name": "near", "groupPlacementPolicy": {"collocation": "COLLOCATED"}})
        yield one


def wanted(cloud: Cloud, *numbers: int, policy: str = "", **more: Any) -> dict[str, Any]:
    named = {"resourcePolicies": [f"projects/{cloud.project}/{POLICIES}/{policy}"]} if policy else {}
    instances: dict[str, Any] = {f"node-{number}": {} for number in numbers}
    return {
        "count": str(len(numbers)),
        "sourceInstanceTemplate": "global/instanceTemplates/t",
        "perInstanceProperties": instances,
        "instanceProperties": {**named, **more},
    }


@pytest.mark.parametrize(("count", "policy", "status"), [(1, "", 200), (2, "", 400), (2, "near", 400), (18, "first", 200), (19, "first", 400)])
def test_several_instances_need_a_policy_with_their_topology_and_fit_into_a_slice(cloud: Cloud, count: int, policy: str, status: int) -> None:
    assert ask(cloud, "POST", BULK, wanted(cloud, *range(count), policy=policy)).status == status


def test_a_slice_that_is_full_takes_no_more(cloud: Cloud) -> None:
    assert codes(ended(cloud, wanted(cloud, *range(17), policy="first"), BULK)) == []
    assert reason(ask(cloud, "POST", BULK, wanted(cloud, 17, 18, policy="first"))) == "400 invalid"
    assert codes(ended(cloud, wanted(cloud, 17, policy="first"), BULK)) == []


def test_a_slice_goes_with_a_dense_reservation_which_refuses_other_placement(cloud: Cloud) -> None:
    held = {"count": "2", "instanceProperties": {"machineType": MACHINE}}
    made(cloud, f"{ZONE}/reservations", {"name": "r", "specificReservationRequired": True, "specificReservation": held})
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name", "values": ["r"]}
    bound = {"reservationAffinity": affinity, "scheduling": {**SCHEDULING, "provisioningModel": "RESERVATION_BOUND", "instanceTerminationAction": "DELETE"}}
    assert codes(ended(cloud, wanted(cloud, 0, 1, policy="first", **bound), BULK)) == []
    assert reason(ask(cloud, "POST", BULK, wanted(cloud, 2, policy="near", **bound))) == "400 invalid"


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ({"groupPlacementPolicy": SLICE}, 200),
        ({"groupPlacementPolicy": {**SLICE, "gpuTopology": "2x72"}}, 400),
        ({"groupPlacementPolicy": {"gpuTopology": "1x72"}}, 400),
        ({"workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"}}, 200),
        ({"workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x64"}}, 400),
    ],
)
def test_a_policy_names_a_topology_that_there_is(cloud: Cloud, policy: dict[str, Any], status: int) -> None:
    assert ask(cloud, "POST", POLICIES, {"name": "p", **policy}).status == status


def test_other_machines_have_no_slices(cloud: Cloud) -> None:
    named = {"resourcePolicies": [f"projects/{cloud.project}/{POLICIES}/first"]}
    assert reason(ask(cloud, "POST", "global/instanceTemplates", {"name": "n", "properties": {**TEMPLATE, **named}})) == "400 invalid"


@pytest.mark.parametrize(("policy", "expected"), [(None, "400 required"), ({"type": "HIGH_THROUGHPUT"}, "400 required")])
def test_a_group_of_them_needs_a_workload_policy(cloud: Cloud, policy: dict[str, str] | None, expected: str) -> None:
    group: dict[str, Any] = {"name": "g", "baseInstanceName": "g", "instanceTemplate": "global/instanceTemplates/t", "targetSize": 0}
    if policy:
        made(cloud, POLICIES, {"name": "w", "workloadPolicy": policy})
        group |= {"resourcePolicies": {"workloadPolicy": f"projects/{cloud.project}/{POLICIES}/w"}}
    assert reason(ask(cloud, "POST", f"{ZONE}/instanceGroupManagers", group)) == expected
    made(cloud, POLICIES, {"name": "s", "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"}})
    fitting = {**group, "resourcePolicies": {"workloadPolicy": f"projects/{cloud.project}/{POLICIES}/s"}}
    assert ask(cloud, "POST", f"{ZONE}/instanceGroupManagers", fitting).status == 200
