"""All nodes of a node set are gone when its resource is: those that can't end yet, and those that are still being made."""

import json
import threading
from typing import Any

import pytest

from components.gcp import names, rest
from components.gcp.nodes import Nodes, NodesInputs
from components.provider.kind import Refused, Work
from tests.components.gcp import steps
from tests.simcloud.google.client import PROJECT, ZONE, SimulatedCloud

OWNER, ACCOUNT = "ab12cd", "owner@example.com"
LABELS = {names.STACK_LABEL: "prod", names.NODE_SET_LABEL: "train", names.OWNER_LABEL: OWNER, names.PART_LABEL: names.COMPUTE}
INSTANCE = {"id": "7", "name": "c-prod-train-0", "labels": LABELS}
WANTED = NodesInputs(project=PROJECT, zone=ZONE, stack="prod", cluster="c", owner=OWNER, node_set="train", starter=ACCOUNT)


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    steps.network(cloud)
    return cloud


def bulk(cloud: SimulatedCloud, count: int) -> None:
    """Ask for nodes, as the elastic program does, and wait for nothing."""
    properties = {**steps.properties("n2-standard-2"), "labels": LABELS}
    body = {"count": str(count), "instanceProperties": properties, "perInstanceProperties": {f"c-prod-train-{number}": {} for number in range(count)}}
    steps.ask(cloud, "POST", f"zones/{ZONE}/instances/bulkInsert", body, wait=False)


def delete() -> None:
    Nodes().delete(WANTED, {}, Work(show=lambda text, keep: None, stopping=threading.Event(), timeout_s=60))


class Late:
    """Compute Engine with a bulk request whose one instance is listed when the request is done, and not before."""

    def __init__(self, user: str):
        self._looks: dict[str, list[list[dict[str, Any]]]] = {"operations": [[{"user": user}], []], "instances": [[], [INSTANCE], []]}
        self.deleted: list[str] = []

    def __call__(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        if method == "DELETE":
            self.deleted.append(path.partition("?")[0].rpartition("/")[2])
            return 200, b'{"name": "operation-1"}'
        looks = self._looks["operations" if "/operations" in path else "instances"]
        return 200, json.dumps({"items": looks.pop(0) if len(looks) > 1 else looks[0]}).encode()


@pytest.mark.parametrize(("user", "deleted"), [(ACCOUNT, ["c-prod-train-0"]), ("another@example.com", [])], ids=["of the stack", "of another"])
def test_nodes_that_are_still_being_made_are_terminated(user: str, deleted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    late = Late(user)
    monkeypatch.setattr(rest, "Sender", lambda: late)
    delete()
    assert late.deleted == deleted


def test_a_node_that_cannot_end_yet_is_asked_again(project: SimulatedCloud) -> None:
    bulk(project, 2)
    project.fault("compute.instances.delete", "fail", code="resourceNotReady", times=1)
    delete()
    assert project.things("compute.instances") == []
    assert project.count("compute.instances.delete") == 3


def test_a_deletion_that_is_forbidden_is_said_after_the_others_were_asked(project: SimulatedCloud) -> None:
    bulk(project, 3)
    project.fault("compute.instances.delete", "fail", code="forbidden", times=1)
    with pytest.raises(Refused, match="the nodes of train can't be terminated"):
        delete()
    assert project.count("compute.instances.delete") == 3


def test_another_zone_is_another_resource() -> None:
    assert "zone" in Nodes.replace_on
