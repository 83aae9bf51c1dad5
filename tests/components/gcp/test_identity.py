"""Permissions of hosts on Google Cloud."""

import contextlib
from pathlib import Path

from components.gcp import identity
from tests.elastic import gce
from tests.elastic.gce import GceWorld
from tests.simcloud.google.cloud import Cloud

NEEDS = {
    "bulkInsert": (
        "compute.instances.create",
        "compute.disks.create",
        "compute.subnetworks.use",
        "compute.instances.setLabels",
        "compute.instanceTemplates.useReadOnly",
    ),
    "getSerialPortOutput": ("compute.instances.getSerialPortOutput",),
}
"""Method → permissions, where they are not the method's own name (iann0036/iam-dataset, gcp/map.json; Compute Engine docs, "IAM roles and permissions")."""


def test_everything_that_the_program_asks_is_something_that_controllers_may(tmp_path: Path) -> None:
    with contextlib.closing(Cloud()) as cloud:
        gce.ground(cloud)
        rows = (gce.row(cloud, "train", kind="spot"), gce.row(cloud, "other", kind="block", capacity="h100", bought="on-demand"))
        asked = calls(GceWorld(cloud, tmp_path, *rows))
    assert {"instances.bulkInsert", "instances.delete", "instances.getSerialPortOutput", "zoneOperations.list", "reservations.get"} <= asked
    needed = {permission for method in asked for permission in NEEDS.get(method.rpartition(".")[2], (f"compute.{method}",))}
    assert needed - {*identity._STARTS, *identity._ENDS} == set()


def calls(world: GceWorld) -> set[str]:
    """Give the methods that the program calls in the life of nodes that don't boot."""
    before = dict(world.cloud.world.faults.calls)
    world.submit(2)
    world.boots = False
    world.advance(900)
    return {method.removeprefix("compute.") for method, count in world.cloud.world.faults.calls.items() if count > before.get(method, 0)}
