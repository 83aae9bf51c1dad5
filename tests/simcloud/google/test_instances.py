"""Instances of the simulated Google Cloud: what they need to start, what they take, and what stays of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google.cloud import Cloud

from .test_door import NETWORK, SUBNET, SUBNETS, ask, made, reason

ZONE = "zones/us-central1-a"
IMAGE = "projects/debian-cloud/global/images/family/debian-12"
BOOT: dict[str, Any] = {"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": IMAGE, "diskType": f"{ZONE}/diskTypes/pd-balanced"}}
INSTANCE: dict[str, Any] = {
    "name": "one", "machineType": f"{ZONE}/machineTypes/n2-standard-4", "disks": [BOOT],
    "networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/sub"}],
}  # fmt: skip
TEMPLATE = {**INSTANCE, "machineType": "n2-standard-4", "disks": [{**BOOT, "initializeParams": {"sourceImage": IMAGE, "diskType": "pd-balanced"}}]}
del TEMPLATE["name"]


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        yield one


def test_an_instance_takes_an_address_and_brings_its_disk(cloud: Cloud) -> None:
    one = made(cloud, f"{ZONE}/instances", INSTANCE)
    assert (one["status"], one["networkInterfaces"][0]["networkIP"]) == ("RUNNING", "10.0.0.2")
    assert one["networkInterfaces"][0]["network"].endswith("/networks/net")
    disk = ask(cloud, "GET", f"{ZONE}/disks/one").body
    assert (disk["sizeGb"], disk["users"]) == ("10", [one["selfLink"]])
    assert reason(ask(cloud, "DELETE", f"{ZONE}/disks/one")) == "400 resourceInUseByAnotherResource"
    assert reason(ask(cloud, "DELETE", f"{SUBNETS}/sub")) == "400 resourceInUseByAnotherResource"
    assert ask(cloud, "DELETE", f"{ZONE}/instances/one").status == 200
    assert ask(cloud, "GET", f"{ZONE}/disks/one").status == 404
    assert ask(cloud, "DELETE", f"{SUBNETS}/sub").status == 200


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"machineType": f"{ZONE}/machineTypes/n2-standard-5"}, "404 notFound"),
        ({"machineType": "zones/us-central1-b/machineTypes/n2-standard-4"}, "400 invalid"),
        ({"machineType": "n2-standard-4"}, "400 invalid"),
        ({"disks": []}, "400 invalid"),
        ({"disks": [{**BOOT, "boot": False}]}, "400 invalid"),
        ({"disks": [{**BOOT, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-7"}}]}, "404 notFound"),
        ({"disks": [{**BOOT, "initializeParams": {"sourceImage": IMAGE, "diskSizeGb": "5"}}]}, "400 invalid"),
        ({"disks": [{**BOOT, "initializeParams": {"sourceImage": f"{IMAGE}-arm64"}}]}, "400 invalid"),
        ({"networkInterfaces": []}, "400 invalid"),
        ({"networkInterfaces": INSTANCE["networkInterfaces"] * 2}, "400 invalid"),
        ({"networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/sub", "networkIP": "10.1.0.5"}]}, "400 invalid"),
        ({"scheduling": {"provisioningModel": "SPOT", "automaticRestart": True}}, "400 invalid"),
        ({"scheduling": {"provisioningModel": "FLEX_START"}}, "400 required"),
        ({"scheduling": {"provisioningModel": "FLEX_START", "maxRunDuration": {"seconds": "600"}, "onHostMaintenance": "TERMINATE"}}, "400 invalid"),
        ({"scheduling": {"provisioningModel": "RESERVATION_BOUND"}}, "400 invalid"),
        ({"metadata": {"items": [{"key": "a b", "value": "1"}]}}, "400 invalid"),
        ({"metadata": {"items": [{"key": "a", "value": "x" * 262145}]}}, "400 invalid"),
        ({"labels": {"Team": "x"}}, "400 invalid"),
        ({"labels": {"team": "X"}}, "400 invalid"),
        ({"serviceAccounts": [{"email": "nobody@proj.iam.gserviceaccount.com", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}]}, "404 notFound"),
    ],
)
def test_an_instance_that_can_not_start_is_refused(cloud: Cloud, change: Any, expected: str) -> None:
    assert reason(ask(cloud, "POST", f"{ZONE}/instances", {**INSTANCE, **change})) == expected
    assert ask(cloud, "POST", f"{ZONE}/instances", INSTANCE).status == 200


def test_a_zone_without_room_says_so_in_the_operation(cloud: Cloud) -> None:
    cloud.store.set_setting("capacity", {"n2-standard-4": 1, "n2-standard-4/us-central1-b": 0})
    made(cloud, f"{ZONE}/instances", INSTANCE)
    begun = ask(cloud, "POST", f"{ZONE}/instances", {**INSTANCE, "name": "two"}).body
    ended = ask(cloud, "GET", f"{ZONE}/operations/{begun['name']}").body
    assert ended["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED"
    assert ask(cloud, "GET", f"{ZONE}/instances/two").status == 404
    ask(cloud, "DELETE", f"{ZONE}/instances/one")
    assert made(cloud, f"{ZONE}/instances", {**INSTANCE, "name": "two"})["status"] == "RUNNING"


def test_metadata_and_labels_change_under_their_fingerprints(cloud: Cloud) -> None:
    one = made(cloud, f"{ZONE}/instances", INSTANCE)
    wanted = {"items": [{"key": "k", "value": "v"}]}
    assert reason(ask(cloud, "POST", f"{ZONE}/instances/one/setMetadata", wanted)) == "412 conditionNotMet"
    assert ask(cloud, "POST", f"{ZONE}/instances/one/setMetadata", {**wanted, "fingerprint": one["metadata"]["fingerprint"]}).status == 200
    assert reason(ask(cloud, "POST", f"{ZONE}/instances/one/setLabels", {"labels": {"a": "b"}})) == "412 conditionNotMet"
    assert ask(cloud, "POST", f"{ZONE}/instances/one/setLabels", {"labels": {"a": "b"}, "labelFingerprint": one["labelFingerprint"]}).status == 200
    after = ask(cloud, "GET", f"{ZONE}/instances/one").body
    assert (after["metadata"]["items"], after["labels"]) == (wanted["items"], {"a": "b"})


def test_a_machine_type_changes_only_while_stopped(cloud: Cloud) -> None:
    made(cloud, f"{ZONE}/instances", INSTANCE)
    wanted = {"machineType": f"{ZONE}/machineTypes/n2-standard-8"}
    assert reason(ask(cloud, "POST", f"{ZONE}/instances/one/setMachineType", wanted)) == "400 resourceNotReady"
    ask(cloud, "POST", f"{ZONE}/instances/one/stop")
    assert ask(cloud, "GET", f"{ZONE}/instances/one").body["status"] == "TERMINATED"
    assert ask(cloud, "POST", f"{ZONE}/instances/one/setMachineType", wanted).status == 200
    ask(cloud, "POST", f"{ZONE}/instances/one/start")
    assert ask(cloud, "GET", f"{ZONE}/instances/one").body["status"] == "RUNNING"


def test_a_protected_instance_stays(cloud: Cloud) -> None:
    made(cloud, f"{ZONE}/instances", {**INSTANCE, "deletionProtection": True})
    assert reason(ask(cloud, "DELETE", f"{ZONE}/instances/one")) == "400 invalid"
    ask(cloud, "POST", f"{ZONE}/instances/one/setDeletionProtection", deletionProtection="false")
    assert ask(cloud, "DELETE", f"{ZONE}/instances/one").status == 200


def test_a_template_names_no_zone(cloud: Cloud) -> None:
    assert made(cloud, "global/instanceTemplates", {"name": "t", "properties": TEMPLATE})["properties"]["machineType"] == "n2-standard-4"
    wrong = {**TEMPLATE, "machineType": INSTANCE["machineType"]}
    assert reason(ask(cloud, "POST", "global/instanceTemplates", {"name": "u", "properties": wrong})) == "400 invalid"
    gpus = {**TEMPLATE, "machineType": "a3-megagpu-8g"}
    assert reason(ask(cloud, "POST", "global/instanceTemplates", {"name": "u", "properties": gpus})) == "400 invalid"
    assert ask(cloud, "POST", "global/instanceTemplates", {"name": "u", "properties": {**gpus, "scheduling": {"onHostMaintenance": "TERMINATE"}}}).status == 200


def test_an_image_comes_from_a_disk_at_rest(cloud: Cloud) -> None:
    made(cloud, f"{ZONE}/instances", INSTANCE)
    wanted = {"name": "baked", "sourceDisk": f"{ZONE}/disks/one", "family": "ours"}
    assert reason(ask(cloud, "POST", "global/images", wanted)) == "400 resourceInUseByAnotherResource"
    ask(cloud, "POST", f"{ZONE}/instances/one/stop")
    made(cloud, "global/images", wanted)
    assert ask(cloud, "GET", "global/images/family/ours").body["name"] == "baked"


def test_an_image_is_used_when_it_is_made(cloud: Cloud) -> None:
    made(cloud, f"{ZONE}/instances", INSTANCE)
    ask(cloud, "POST", f"{ZONE}/instances/one/stop")
    cloud.store.set_setting("operation_s", 60)
    begun = made(cloud, "global/images", {"name": "baked", "sourceDisk": f"{ZONE}/disks/one"})
    boot = {**INSTANCE["disks"][0], "initializeParams": {"sourceImage": "global/images/baked"}}
    assert reason(ask(cloud, "POST", f"{ZONE}/instances", {**INSTANCE, "name": "two", "disks": [boot]})) == "400 resourceNotReady"
    cloud.store.set_clock(60)
    assert (begun["status"], ask(cloud, "GET", "global/images/baked").body["status"]) == ("PENDING", "READY")
    assert ask(cloud, "POST", f"{ZONE}/instances", {**INSTANCE, "name": "two", "disks": [boot]}).status == 200


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (SUBNETS, {**SUBNET, "name": "b", "ipCidrRange": "10.0.128.0/24"}, "400 invalid"),
        (SUBNETS, {**SUBNET, "name": "b", "ipCidrRange": "10.1.0.0/30"}, "400 invalid"),
        (SUBNETS, {**SUBNET, "name": "b", "ipCidrRange": "10.1.0.1/24"}, "400 invalid"),
        ("global/networks", {"name": "b"}, "400 invalid"),
        ("global/networks", {**NETWORK, "name": "b", "mtu": 9000}, "400 invalid"),
        ("global/firewalls", {"name": "f", "network": "global/networks/net"}, "400 invalid"),
        ("global/firewalls", {"name": "f", "network": "global/networks/net", "allowed": [{"IPProtocol": "tcp", "ports": ["70000"]}]}, "400 invalid"),
        ("global/firewalls", {"name": "f", "network": "global/networks/net", "allowed": [{"IPProtocol": "icmp", "ports": ["1"]}]}, "400 invalid"),
        (
            "regions/us-central1/routers",
            {"name": "r", "network": "global/networks/net", "nats": [{"name": "n", "natIpAllocateOption": "AUTO_ONLY"}]},
            "400 required",
        ),
        ("regions/us-central1/addresses", {"name": "a", "addressType": "INTERNAL"}, "400 required"),
    ],
)
def test_a_network_that_can_not_be_is_refused(cloud: Cloud, path: str, body: Any, expected: str) -> None:
    assert reason(ask(cloud, "POST", path, body)) == expected


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SUBNETS, {**SUBNET, "name": "b", "ipCidrRange": "10.1.0.0/24"}),
        ("global/networks", {**NETWORK, "name": "b", "mtu": 8896}),
        ("global/networks", {**NETWORK, "name": "b", "networkProfile": "global/networkProfiles/us-central1-b-vpc-roce"}),
        ("global/firewalls", {"name": "f", "network": "global/networks/net", "allowed": [{"IPProtocol": "tcp", "ports": ["22", "80-90"]}]}),
        (
            "regions/us-central1/routers",
            {
                "name": "r",
                "network": "global/networks/net",
                "nats": [{"name": "n", "natIpAllocateOption": "AUTO_ONLY", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}],
            },
        ),
        ("regions/us-central1/addresses", {"name": "a", "addressType": "INTERNAL", "subnetwork": "regions/us-central1/subnetworks/sub"}),
        ("global/addresses", {"name": "a", "addressType": "INTERNAL", "purpose": "VPC_PEERING", "prefixLength": 20, "network": "global/networks/net"}),
    ],
)
def test_a_network_that_can_be_is_made(cloud: Cloud, path: str, body: Any) -> None:
    assert made(cloud, path, body)["name"] == body["name"]
