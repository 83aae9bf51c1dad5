"""What machine types take on the simulated Google Cloud: interfaces, RDMA networks of their zone, disks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google.cloud import Cloud

from .test_door import NETWORK, SUBNETS, ask, made, reason
from .test_instances import BOOT, INSTANCE, TEMPLATE

ZONE = "zones/us-central1-b"
GPUS = {"onHostMaintenance": "TERMINATE"}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        for number in range(9):
            made(one, "global/networks", {**NETWORK, "name": f"n{number}"})
            made(one, SUBNETS, {"name": f"n{number}", "network": f"global/networks/n{number}", "ipCidrRange": f"10.{number}.0.0/16"})
        for zone in ("us-central1-b", "us-east4-b"):
            made(one, "global/networks", {**NETWORK, "name": f"rdma-{zone}", "networkProfile": f"global/networkProfiles/{zone}-vpc-roce"})
        for number in range(8):
            made(one, SUBNETS, {"name": f"r{number}", "network": "global/networks/rdma-us-central1-b", "ipCidrRange": f"10.{20 + number}.0.0/16"})
        yield one


AT_HOME = {
    "networkInterfaces": [{"subnetwork": f"{SUBNETS}/n0"}],
    "disks": [{**BOOT, "initializeParams": {**BOOT["initializeParams"], "diskType": f"{ZONE}/diskTypes/pd-balanced"}}],
    "scheduling": GPUS,
}
AT_HOME_ANYWHERE = {"networkInterfaces": AT_HOME["networkInterfaces"], "scheduling": GPUS}


def hosts(count: int, kind: str = "GVNIC") -> list[dict[str, str]]:
    return [{"subnetwork": f"{SUBNETS}/n{number}", "nicType": kind} for number in range(count)]


def rdma(count: int, kind: str = "MRDMA") -> list[dict[str, str]]:
    return [{"subnetwork": f"{SUBNETS}/r{number}", "nicType": kind} for number in range(count)]


def started(cloud: Cloud, machine: str, nics: list[dict[str, str]], *, zone: str = ZONE, disk: str = "") -> Any:
    kind = disk or ("hyperdisk-balanced" if machine.startswith("a") else "pd-balanced")
    boot = {**BOOT, "initializeParams": {**BOOT["initializeParams"], "diskType": f"{zone}/diskTypes/{kind}"}}
    body = {**INSTANCE, "machineType": f"{zone}/machineTypes/{machine}", "networkInterfaces": nics, "disks": [boot], "scheduling": GPUS}
    return ask(cloud, "POST", f"{zone}/instances", body)


@pytest.mark.parametrize(
    ("machine", "nics"),
    [
        ("a3-megagpu-8g", hosts(9)),
        ("a3-ultragpu-8g", [*hosts(2), *rdma(8)]),
        ("a4-highgpu-8g", [*hosts(2), *rdma(8)]),
        ("n2-standard-4", hosts(4, "VIRTIO_NET")),
    ],
)
def test_interfaces_as_the_machine_has_them(cloud: Cloud, machine: str, nics: Any) -> None:
    answer = started(cloud, machine, nics)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize(
    ("machine", "nics"),
    [
        ("a3-megagpu-8g", [*hosts(1), *rdma(1)]),
        ("a3-ultragpu-8g", hosts(3)),
        ("a3-ultragpu-8g", [*hosts(1), *rdma(1, "GVNIC")]),
        ("a3-ultragpu-8g", [*hosts(1), {"subnetwork": f"{SUBNETS}/n1", "nicType": "MRDMA"}]),
        ("a3-ultragpu-8g", [*hosts(1), *rdma(1), *rdma(1)]),
        ("a3-megagpu-8g", hosts(1, "VIRTIO_NET")),
        ("n2-standard-2", hosts(3)),
        ("n2-standard-4", [*hosts(1), *rdma(1)]),
    ],
)
def test_other_interfaces_are_refused(cloud: Cloud, machine: str, nics: Any) -> None:
    assert reason(started(cloud, machine, nics)) == "400 invalid"


def test_an_rdma_network_is_one_zones(cloud: Cloud) -> None:
    for name, zone, expected in (("s", "us-central1-b", 400), ("t", "us-east4-b", 200)):
        region = zone.rpartition("-")[0]
        answer = ask(
            cloud, "POST", f"regions/{region}/subnetworks", {"name": name, "network": "global/networks/rdma-us-east4-b", "ipCidrRange": "10.40.0.0/16"}
        )
        assert answer.status == expected
    nics = [{"subnetwork": f"{SUBNETS}/n0", "nicType": "GVNIC"}, *rdma(1)]
    assert reason(started(cloud, "a3-ultragpu-8g", nics, zone="zones/us-central1-a")) == "404 notFound"  # no such machine there


@pytest.mark.parametrize(
    ("machine", "disk", "status"),
    [
        ("a4-highgpu-8g", "pd-ssd", 400),
        ("a3-megagpu-8g", "pd-ssd", 200),
        ("n2-standard-4", "hyperdisk-balanced", 400),
        ("c4-standard-4", "hyperdisk-balanced", 200),
    ],
)
def test_disks_as_the_machine_takes_them(cloud: Cloud, machine: str, disk: str, status: int) -> None:
    assert started(cloud, machine, hosts(1), disk=disk).status == status


@pytest.mark.parametrize(("machine", "policy", "expected"), [("e2-standard-4", "near", 400), ("e2-standard-4", "apart", 200), ("n2-standard-4", "near", 200)])
def test_machines_are_placed_near_each_other_where_their_series_can_be(cloud: Cloud, machine: str, policy: str, expected: int) -> None:
    policies = "regions/us-central1/resourcePolicies"
    made(cloud, policies, {"name": "near", "groupPlacementPolicy": {"collocation": "COLLOCATED"}})
    made(cloud, policies, {"name": "apart", "groupPlacementPolicy": {"availabilityDomainCount": 2}})
    named = {"resourcePolicies": [f"projects/{cloud.project}/{policies}/{policy}"]}
    assert ask(cloud, "POST", f"{ZONE}/instances", {**INSTANCE, "machineType": f"{ZONE}/machineTypes/{machine}", **AT_HOME, **named}).status == expected
    properties = {**TEMPLATE, "machineType": machine, **AT_HOME_ANYWHERE, **named}
    assert ask(cloud, "POST", "global/instanceTemplates", {"name": "t", "properties": properties}).status == expected
