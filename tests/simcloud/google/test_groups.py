"""Managed groups, requests that wait, and what happens to instances by themselves, on the simulated Google Cloud."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simcloud.google import happenings
from tests.simcloud.google.cloud import Cloud

from .test_bulk import codes, ended
from .test_door import NETWORK, SUBNET, SUBNETS, ask, made, reason
from .test_instances import INSTANCE, TEMPLATE, ZONE

GROUP = "regions/us-central1/instanceGroupManagers"
FLEX = {
    "provisioningModel": "FLEX_START",
    "maxRunDuration": {"seconds": "3600"},
    "instanceTerminationAction": "DELETE",
    "onHostMaintenance": "TERMINATE",
    "automaticRestart": False,
}
MANAGER = {
    "name": "flex", "baseInstanceName": "flex", "instanceTemplate": "global/instanceTemplates/t", "targetSize": 0,
    "distributionPolicy": {"targetShape": "ANY_SINGLE_ZONE", "zones": [{"zone": "zones/us-central1-a"}]}, "updatePolicy": {"instanceRedistributionType": "NONE"},
}  # fmt: skip
REQUEST = {"name": "launch-1", "instances": [{"name": "node-0"}, {"name": "node-1"}], "requestedRunDuration": {"seconds": "600"}}


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        made(one, "global/networks", NETWORK)
        made(one, SUBNETS, SUBNET)
        properties = {**TEMPLATE, "scheduling": FLEX, "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}
        made(one, "global/instanceTemplates", {"name": "t", "properties": properties})
        made(one, GROUP, MANAGER)
        yield one


def asked(cloud: Cloud, **change: Any) -> Any:
    ask(cloud, "POST", f"{GROUP}/flex/resizeRequests", {**REQUEST, **change})
    return ask(cloud, "GET", f"{GROUP}/flex/resizeRequests/launch-1").body


def test_a_request_with_room_becomes_instances_of_its_names(cloud: Cloud) -> None:
    assert asked(cloud)["state"] == "SUCCEEDED"
    found = ask(cloud, "GET", f"{ZONE}/instances").body["items"]
    assert [(one["name"], one["status"], one["scheduling"]["provisioningModel"]) for one in found] == [
        ("node-0", "RUNNING", "FLEX_START"),
        ("node-1", "RUNNING", "FLEX_START"),
    ]
    assert len(ask(cloud, "POST", f"{GROUP}/flex/listManagedInstances").body["managedInstances"]) == 2
    ask(cloud, "POST", f"{GROUP}/flex/deleteInstances", {"instances": [f"{ZONE}/instances/node-0"]})
    assert ask(cloud, "GET", f"{GROUP}/flex").body["targetSize"] == 1
    cloud.store.set_clock(601)
    assert "items" not in ask(cloud, "GET", f"{ZONE}/instances").body


def test_a_request_without_room_waits_and_says_why(cloud: Cloud) -> None:
    cloud.store.set_setting("capacity", {"n2-standard-4": 1})
    waiting = asked(cloud)
    assert (waiting["state"], waiting["status"]["lastAttempt"]["error"]["errors"][0]["code"]) == ("ACCEPTED", "ZONE_RESOURCE_POOL_EXHAUSTED")
    assert not list(cloud.store.all("compute.instances"))
    assert reason(ask(cloud, "DELETE", f"{GROUP}/flex/resizeRequests/launch-1")) == "400 invalid"
    cloud.store.set_setting("capacity", {})
    assert ask(cloud, "GET", f"{GROUP}/flex/resizeRequests/launch-1").body["state"] == "SUCCEEDED"
    assert ask(cloud, "DELETE", f"{GROUP}/flex/resizeRequests/launch-1").status == 200


def test_a_cancelled_request_gets_nothing(cloud: Cloud) -> None:
    cloud.store.set_setting("flex_wait_s", 60)
    assert asked(cloud)["state"] == "ACCEPTED"
    assert ask(cloud, "POST", f"{GROUP}/flex/resizeRequests/launch-1/cancel").status == 200
    cloud.store.set_clock(61)
    assert ask(cloud, "GET", f"{GROUP}/flex/resizeRequests/launch-1").body["state"] == "CANCELLED"
    assert reason(ask(cloud, "POST", f"{GROUP}/flex/resizeRequests/launch-1/cancel")) == "400 invalid"
    assert ask(cloud, "GET", f"{GROUP}/flex").body["targetSize"] == 0


def test_a_request_that_can_not_be_fulfilled_fails(cloud: Cloud) -> None:
    cloud.store.set_setting("flex_fails", {"n2-standard-4": "QUOTA_EXCEEDED"})
    assert asked(cloud)["status"]["error"]["errors"][0]["code"] == "QUOTA_EXCEEDED"


@pytest.mark.parametrize(
    "change",
    [
        {"resizeBy": 2},
        {"instances": None},
        {"requestedRunDuration": {"seconds": "599"}},
        {"requestedRunDuration": {"seconds": "604801"}},
        {"instances": [{}]},
        {"name": "Launch"},
    ],
)
def test_a_request_that_can_not_be_is_refused(cloud: Cloud, change: Any) -> None:
    assert ask(cloud, "POST", f"{GROUP}/flex/resizeRequests", {**REQUEST, **change}).status == 400


def test_a_group_needs_one_zone_and_no_redistribution_for_requests(cloud: Cloud) -> None:
    assert reason(ask(cloud, "POST", GROUP, {**MANAGER, "name": "b", "updatePolicy": {}})) == "400 invalid"
    assert reason(ask(cloud, "POST", GROUP, {**MANAGER, "name": "b", "distributionPolicy": {"zones": [{"zone": "zones/us-east1-b"}]}})) == "400 invalid"
    assert reason(ask(cloud, "POST", GROUP, {**MANAGER, "name": "b", "targetSize": None})) == "400 required"
    made(cloud, GROUP, {**MANAGER, "name": "b", "distributionPolicy": {"zones": [{"zone": "zones/us-central1-a"}]}})
    assert reason(ask(cloud, "POST", f"{GROUP}/b/resizeRequests", REQUEST)) == "400 invalid"


def test_a_group_goes_with_its_instances_and_holds_its_template(cloud: Cloud) -> None:
    asked(cloud)
    assert reason(ask(cloud, "DELETE", "global/instanceTemplates/t")) == "400 resourceInUseByAnotherResource"
    assert ask(cloud, "DELETE", f"{GROUP}/flex").status == 200
    assert "items" not in ask(cloud, "GET", f"{ZONE}/instances").body
    assert ask(cloud, "DELETE", "global/instanceTemplates/t").status == 200


def test_flex_start_may_silently_be_standard(cloud: Cloud) -> None:
    cloud.store.set_setting("flex_is_standard", True)
    asked(cloud)
    assert ask(cloud, "GET", f"{ZONE}/instances/node-0").body["scheduling"]["provisioningModel"] == "STANDARD"


def test_a_spot_instance_is_taken_back_after_its_notice(cloud: Cloud) -> None:
    spot = {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}
    one = made(cloud, f"{ZONE}/instances", {**INSTANCE, "scheduling": spot})
    happenings.preempt(cloud, cloud.need(f"projects/proj/{ZONE}/instances/one"))
    assert ask(cloud, "GET", f"{ZONE}/instances/one").body["status"] == "STOPPING"
    cloud.store.set_clock(31)
    assert ask(cloud, "GET", f"{ZONE}/instances/one").status == 404
    shown = ask(cloud, "GET", f"{ZONE}/operations", filter='operationType = "compute.instances.preempted"', orderBy="creationTimestamp desc").body["items"]
    assert [(event["targetId"], event["user"]) for event in shown] == [(one["id"], "system")]


@pytest.mark.parametrize(("restarts", "status"), [(True, "RUNNING"), (False, "TERMINATED")])
def test_a_failed_host_ends_what_does_not_restart(cloud: Cloud, restarts: bool, status: str) -> None:
    made(cloud, f"{ZONE}/instances", {**INSTANCE, "scheduling": {"automaticRestart": restarts}})
    happenings.fail_host(cloud, cloud.need(f"projects/proj/{ZONE}/instances/one"))
    assert ask(cloud, "GET", f"{ZONE}/instances/one").body["status"] == status


def test_maintenance_is_announced_and_a_host_reported(cloud: Cloud) -> None:
    gpus = {"machineType": f"{ZONE}/machineTypes/a3-megagpu-8g", "scheduling": {"onHostMaintenance": "TERMINATE"}}
    made(cloud, f"{ZONE}/instances", {**INSTANCE, **gpus})
    happenings.announce(cloud, cloud.need(f"projects/proj/{ZONE}/instances/one"), windowStartTime="2026-12-01T00:00:00Z")
    status = ask(cloud, "GET", f"{ZONE}/instances/one").body["resourceStatus"]
    assert status["upcomingMaintenance"]["windowStartTime"] == "2026-12-01T00:00:00Z"
    assert set(status["physicalHostTopology"]) == {"cluster", "block", "subblock", "host"}
    report = {"disruptionSchedule": "IMMEDIATE", "faultReasons": [{"behavior": "PERFORMANCE", "description": "slow"}]}
    assert codes(ended(cloud, report, f"{ZONE}/instances/one/reportHostAsFaulty")) == []
    assert reason(ask(cloud, "POST", f"{ZONE}/instances/one/reportHostAsFaulty", {"faultReasons": [{"behavior": "SDC"}]})) == "400 invalid"
