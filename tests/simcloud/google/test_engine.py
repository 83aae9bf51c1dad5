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
    small.succeed("up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")

    small.set(machine="n2-standard-8", ports=128, user_data="#!/bin/sh", targets=["try", "other"])
    assert {name: sorted(of) for name, of in small.changes().items()} == {"update": ["head", "inside", "nat"]}
    small.up()
    (head,) = cloud.things("compute.instances")
    assert (head["machineType"].rpartition("/")[2], head["status"], cloud.things("compute.routers")[0]["nats"][0]["minPortsPerVm"]) == (
        "n2-standard-8",
        "RUNNING",
        128,
    )

    small.set(size=60)
    assert small.changes()["replace"] == ["head"]
    small.up()
    assert cloud.things("compute.instances")[0]["id"] != head["id"]

    cloud.drift(cloud.things("compute.firewalls")[0].id, sourceRanges=["0.0.0.0/0"])
    assert small.run("refresh", "--preview-only", "--expect-no-changes").returncode == NO_CHANGES
    small.up("--refresh")
    assert cloud.things("compute.firewalls")[0]["sourceRanges"] == ["10.0.0.0/20"]

    small.destroy()
    assert cloud.things() == []
