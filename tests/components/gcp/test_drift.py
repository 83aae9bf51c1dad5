"""Drift of what is in the project, seen with rights that only read."""

from pathlib import Path

import pytest

from components import discovery as of_targets
from components.gcp import discovery
from components.gcp.names import OWNER_LABEL, STACK_LABEL
from stacks.drift import cloud as layer
from stacks.engine import preview
from tests.components.gcp.standing import Standing
from tests.components.project import STACK
from tests.simcloud.google.client import PROJECT, ZONE, SimulatedCloud

pytestmark = pytest.mark.engine

BLUEPRINT = str(Path(__file__).with_name("cpu.yaml"))
READS = ("roles/viewer", "roles/iam.securityReviewer", "roles/secretmanager.secretAccessor")
"""What docs/google-cloud.md gives a drift check."""
WATCHER = f"watcher@{PROJECT}.iam.gserviceaccount.com"


def watcher(cloud: SimulatedCloud) -> str:
    """Make a service account that may only read, and give a token of it."""
    cloud.request("iam.googleapis.com", "POST", f"/v1/projects/{PROJECT}/serviceAccounts", body={"accountId": "watcher"})
    project = "cloudresourcemanager.googleapis.com", f"/v1/projects/{PROJECT}"
    policy = cloud.request(project[0], "POST", f"{project[1]}:getIamPolicy", body={}).body
    policy["bindings"] = [*policy.get("bindings", ()), *({"role": role, "members": [f"serviceAccount:{WATCHER}"]} for role in READS)]
    answer = cloud.request(project[0], "POST", f"{project[1]}:setIamPolicy", body={"policy": policy})
    assert answer.status == 200, answer.body
    return cloud.token_of(WATCHER)


def test_drift_is_seen_by_who_may_only_read(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT) as stack:
        for name, value in stack.environment.items():
            monkeypatch.setenv(name, value)
        stack.up()
        monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", watcher(cloud))
        assert _differences(stack) == []
        assert discovery.Discovery().instances(_recorded(stack)) == of_targets.Instances()

        _meddle(cloud, _recorded(stack))
        assert _differences(stack) == [
            ("CW702", "error", "gcp:compute/firewall:Firewall checks-firewall: sourceRanges"),
            ("CW701", "error", "gcp:compute/instanceTemplate:InstanceTemplate batch-template"),
        ]
        found = discovery.Discovery().instances(_recorded(stack))
        assert [(one.id, one.reason) for one in found.strays] == [("stray", "it is neither recorded nor a compute node")]


def _differences(stack: Standing) -> list[tuple[str, str, str]]:
    """Give code, level and place of what a refresh that is only previewed shows; every resource could be read."""
    seen = preview.of_resources(STACK, stack.folder)
    assert (dict(seen.unread), seen.error) == ({}, "")
    return [(str(one.code), str(one.level), str(one.place)) for one in layer.findings(seen.steps, None)]


def _recorded(stack: Standing) -> of_targets.Stack:
    resources = tuple(
        {"type": one["type"], "name": one["urn"].rpartition("::")[2], "id": one.get("id", ""), "outputs": one.get("outputs", {})} for one in stack.resources()
    )
    nodes = {one.hosts.name: one.hosts.hostnames for one in stack.spec.node_sets}
    return of_targets.Stack(name=STACK, region=stack.spec.network.region, resources=resources, nodes=nodes)


def _meddle(cloud: SimulatedCloud, recorded: of_targets.Stack) -> None:
    """Open the login nodes to everybody, lose a template, and start an instance under the stack's name."""
    (opened,) = [one for one in cloud.things("compute.firewalls") if one.id.endswith("checks")]
    cloud.drift(opened.id, kind=opened.kind, sourceRanges=["0.0.0.0/0"])
    (lost,) = [one for one in cloud.things("compute.instanceTemplates") if "batch" in one.id]
    cloud.lose(lost.id, kind=lost.kind)
    owner = next(one["outputs"]["owner"] for one in recorded.resources if one["type"] == discovery.SITE)
    subnet = next(one.id for one in cloud.things("compute.subnetworks"))
    body = {
        "name": "stray", "machineType": f"zones/{ZONE}/machineTypes/n2-standard-2", "networkInterfaces": [{"subnetwork": subnet}],
        "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}],
        "labels": {STACK_LABEL: STACK, OWNER_LABEL: owner},
    }  # fmt: skip
    answer = cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/instances", body=body)
    assert answer.status == 200, answer.body
