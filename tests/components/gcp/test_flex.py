"""The end of flex-start nodes: what waits in the queue is cancelled, and what runs ends through its group, which would replace it otherwise."""

import threading
from typing import Any

import pytest

from components.gcp.nodes import Nodes, NodesInputs
from components.provider.kind import Work
from tests.components.gcp import steps
from tests.components.gcp.test_image import project
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

__all__ = ["project"]
GROUP = f"regions/{REGION}/instanceGroupManagers/ours"
LABELS = {"clusterwright-stack": "dev", "clusterwright-part": "compute", "clusterwright-node-set": "train", "clusterwright-owner": "ours"}
FLEX = {
    "provisioningModel": "FLEX_START",
    "maxRunDuration": {"seconds": "3600"},
    "instanceTerminationAction": "DELETE",
    "onHostMaintenance": "TERMINATE",
    "automaticRestart": False,
}
PROPERTIES = {
    "machineType": "n2-standard-4",
    "networkInterfaces": [{"subnetwork": f"projects/{PROJECT}/regions/{REGION}/subnetworks/sub"}],
    "disks": [{"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}],
    "labels": LABELS,
    "scheduling": FLEX,
    "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
}
MANAGER = {
    "name": "ours",
    "baseInstanceName": "flex",
    "instanceTemplate": f"projects/{PROJECT}/global/instanceTemplates/t",
    "targetSize": 0,
    "distributionPolicy": {"targetShape": "ANY_SINGLE_ZONE", "zones": [{"zone": f"zones/{ZONE}"}]},
    "updatePolicy": {"instanceRedistributionType": "NONE"},
}
INPUTS = NodesInputs(project=PROJECT, zone=ZONE, stack="dev", cluster="ours", owner="ours", node_set="train", group=GROUP, starter="owner@example.com")


@pytest.fixture
def group(project: SimulatedCloud) -> SimulatedCloud:
    steps.ask(project, "POST", "global/instanceTemplates", {"name": "t", "properties": PROPERTIES})
    steps.ask(project, "POST", f"regions/{REGION}/instanceGroupManagers", MANAGER)
    return project


def requested(cloud: SimulatedCloud, *nodes: str) -> None:
    body = {"name": f"launch-{nodes[0]}", "instances": [{"name": node} for node in nodes]}
    answer = cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/{GROUP}/resizeRequests", body=body)
    assert answer.status == 200, answer.body


def shown(cloud: SimulatedCloud, path: str) -> Any:
    return cloud.request("compute.googleapis.com", "GET", f"/compute/v1/projects/{PROJECT}/{path}").body


def test_nodes_end_through_their_group_and_what_waits_is_cancelled(group: SimulatedCloud) -> None:
    requested(group, "node-0")
    assert [one["name"] for one in shown(group, f"zones/{ZONE}/instances")["items"]] == ["node-0"]
    group.set("capacity", {"n2-standard-4": 1})
    requested(group, "node-1", "node-2")
    Nodes().delete(INPUTS, {}, Work(show=lambda text, keep: None, stopping=threading.Event(), timeout_s=60))
    assert "items" not in shown(group, f"zones/{ZONE}/instances")
    states = {one["name"]: one["state"] for one in shown(group, f"{GROUP}/resizeRequests")["items"]}
    assert states == {"launch-node-0": "SUCCEEDED", "launch-node-1": "CANCELLED"}
    assert shown(group, GROUP)["targetSize"] == 0, "the group wants none back"
