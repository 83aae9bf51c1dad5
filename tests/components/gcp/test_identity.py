"""Permissions of hosts on Google Cloud."""

import contextlib
from pathlib import Path

from components.gcp import identity
from tests.elastic import gce
from tests.elastic.gce import GceWorld
from tests.simcloud.google import conditions, rights, test_bulk, test_rights
from tests.simcloud.google.cloud import Cloud
from tests.simcloud.google.test_instances import ZONE

cloud = test_rights.cloud
PREFIX = "starter-prod-"

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
    assert needed - {*identity._STARTS, *identity._CHANGES, *identity._ENDS} == set()


def test_a_controller_changes_only_what_carries_its_stacks_name() -> None:
    """The right holds for a new instance, for the project and for a managed group, and not for instances and disks of others."""
    condition = identity.guarded("starter-prod-")
    zone = "projects/proj/zones/us-central1-a"
    granted = {
        f"{zone}/instances/starter-prod-train-0": True,
        f"{zone}/disks/starter-prod-train-0": True,
        f"{zone}/instances/other-0": False,
        f"{zone}/disks/other-0": False,
        "projects/proj": True,
        "projects/proj/regions/us-central1/instanceGroupManagers/starter-prod-nodes-train": True,
    }
    assert {path: conditions.holds(condition, rights.attributes(path)) for path in granted} == granted


def test_nodes_start_with_the_rights_of_a_controller_and_no_other_instance_can_be_changed(cloud: Cloud) -> None:
    for what, permissions, condition in (("starts", identity._STARTS, ""), ("changes", identity._CHANGES, identity.guarded(PREFIX))):
        role = {"roleId": f"own_{what}", "role": {"includedPermissions": [*permissions]}}
        test_rights.right(cloud.request("iam.googleapis.com", "POST", f"{test_rights.PROJECT}/roles", {}, role))
        bound = {"title": what, "expression": condition} if condition else None
        test_rights.right(test_rights.bind(cloud, f"projects/proj/roles/own_{what}", condition=bound))
    test_rights.right(test_rights.bind(cloud, "roles/iam.serviceAccountUser", host="iam", path=f"{test_rights.ACCOUNTS}/{test_rights.OTHER}"))
    told = {"labels": {"a": "b"}, "metadata": {"items": [{"key": "k", "value": "v"}]}}
    started = {name: test_bulk.wanted(1, instanceProperties=told, perInstanceProperties={name: {}}) for name in (f"{PREFIX}train-0", "other-0")}
    assert test_rights.by_account(cloud, "POST", test_bulk.BULK, started[f"{PREFIX}train-0"]) == "done"
    assert "setLabels" in test_rights.by_account(cloud, "POST", test_bulk.BULK, started["other-0"])
    test_rights.right(cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/proj/{test_bulk.BULK}", {}, started["other-0"]))
    for name, answer in ((f"{PREFIX}train-0", "done"), ("other-0", "403")):
        path = f"{ZONE}/instances/{name}"
        labels = cloud.need(f"projects/proj/{path}", "compute.instances")["labelFingerprint"]
        changed = test_rights.by_account(cloud, "POST", f"{path}/setLabels", {"labels": {"c": "d"}, "labelFingerprint": labels})
        assert changed.split()[0] == answer, changed


def calls(world: GceWorld) -> set[str]:
    """Give the methods that the program calls in the life of nodes that don't boot."""
    before = dict(world.cloud.world.faults.calls)
    world.submit(2)
    world.boots = False
    world.advance(900)
    return {method.removeprefix("compute.") for method, count in world.cloud.world.faults.calls.items() if count > before.get(method, 0)}
