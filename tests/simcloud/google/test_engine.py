"""The real engine on the simulated Google Cloud, with programs that use Pulumi's SDK for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simcloud.google import client, programs
from tests.simcloud.google.client import SimulatedCloud
from tests.simcloud.google.deployment import NO_CHANGES, Deployment, deployment

pytestmark = [pytest.mark.engine, pytest.mark.soak]

KINDS = {"compute.firewalls", "compute.instances", "compute.networks", "compute.routers", "compute.subnetworks"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedCloud]:
    with client.started(tmp_path_factory.mktemp("cloud")) as one:
        yield one


@pytest.fixture
def cloud(running: SimulatedCloud) -> SimulatedCloud:
    """Give the running cloud, empty."""
    running.reset()
    return running


@pytest.fixture
def small(tmp_path: Path, cloud: SimulatedCloud) -> Iterator[Deployment]:
    with deployment(tmp_path / "stack", cloud, programs.SMALL) as one:
        one.set()
        yield one


def test_a_network_with_a_machine_lives_from_up_to_destroy(small: Deployment, cloud: SimulatedCloud) -> None:
    small.up()
    assert {thing.kind for thing in cloud.things()} == KINDS
    small.up("--refresh", "--expect-no-changes")

    small.set(machine="n2-standard-8", ports=128, user_data="#!/bin/sh", targets=["try", "other"])
    assert small.up_changes() == {"update": ["head", "inside", "nat"]}
    (head,) = cloud.things("compute.instances")
    assert (head["machineType"].rpartition("/")[2], head["status"], cloud.things("compute.routers")[0]["nats"][0]["minPortsPerVm"]) == (
        "n2-standard-8",
        "RUNNING",
        128,
    )

    small.set(size=60)
    assert small.up_changes()["replace"] == ["head"]
    assert cloud.things("compute.instances")[0]["id"] != head["id"]

    cloud.drift(cloud.things("compute.firewalls")[0].id, sourceRanges=["0.0.0.0/0"])
    assert small.run("refresh", "--preview-only", "--expect-no-changes").returncode == NO_CHANGES
    small.up("--refresh")
    assert cloud.things("compute.firewalls")[0]["sourceRanges"] == ["10.0.0.0/20"]

    small.destroy()
    assert cloud.things() == []


def test_what_a_killed_engine_left_is_seen_and_taken_over(small: Deployment, cloud: SimulatedCloud) -> None:
    cloud.fault("compute.networks.insert", "kill-engine", after=True)
    assert small.run("up", "--yes", "--skip-preview").returncode != 0
    (left,) = cloud.things("compute.networks")
    assert small.resources() == [] or all(one.get("id") != left.id for one in small.resources())

    small.succeed("cancel", "--yes")
    small.succeed("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
    assert "alreadyExists" in small.fails("up", "--yes", "--skip-preview")
    small.succeed("import", "gcp:compute/network:Network", "net", left.id, "--yes", "--skip-preview", "--generate-code=false", "--protect=false")
    cloud.set("operation_s", 0.2)
    small.up()
    assert cloud.things("compute.networks")[0]["id"] == left["id"]
    small.destroy()
    assert cloud.things() == []


def test_what_cannot_be_had_fails_and_a_later_run_goes_on(small: Deployment, cloud: SimulatedCloud) -> None:
    cloud.set("capacity", {"n2-standard-4": 0})
    said = small.fails("up", "--yes", "--skip-preview")
    assert "does not have enough resources" in said
    assert small.recorded("head") is None
    cloud.set("capacity", {})
    cloud.fault("compute.firewalls.patch", "fail", code="forbidden", message="Required 'compute.firewalls.update' permission")
    small.up()
    small.set(targets=["other"])
    assert "googleapi: Error 403: Required 'compute.firewalls.update' permission" in small.fails("up", "--yes", "--skip-preview")
    small.up()
    assert cloud.things("compute.firewalls")[0]["targetTags"] == ["other"]
    small.destroy()
    assert cloud.things() == []
