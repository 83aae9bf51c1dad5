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
LUSTRE = {"kind": "lustre", "mount": "/fast", "size": "9000 GiB", "throughput": "1000 MB/s/TiB", "protect": False, "on_delete": "delete"}
WATCHER = f"watcher@{PROJECT}.iam.gserviceaccount.com"


ATTACHED = [
    ("network", "firewall rule open-to-all", "ingress from 0.0.0.0/0"),
    ("network", "route elsewhere", "192.0.2.0/24 to 10.80.0.9"),
    ("network", "peering theirs", "active, with projects/others/global/networks/theirs"),
    ("control-keys", "member user:eve@example.com", "user:eve@example.com has roles/secretmanager.secretAccessor"),
    ("cluster-subnet", "machine of others neighbour", f"in {ZONE}"),
]
"""What `_meddle` attaches to resources of the stack."""


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
    more = {"accounting__database": "managed", "software": "ubuntu-24.04-gcp", "storage__fast": LUSTRE}
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT, **more) as stack:
        for name, value in stack.environment.items():
            monkeypatch.setenv(name, value)
        stack.up()
        monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", watcher(cloud))
        assert _differences(stack) == []
        assert discovery.Discovery().instances(_recorded(stack)) == of_targets.Instances()
        assert discovery.Discovery().attachments(_recorded(stack)) == of_targets.Attachments()

        _meddle(cloud, _recorded(stack))
        assert _differences(stack) == [
            ("CW702", "error", "gcp:compute/firewall:Firewall checks-firewall: sourceRanges"),
            ("CW701", "error", "gcp:compute/instanceTemplate:InstanceTemplate batch-template"),
            ("CW702", "error", "gcp:lustre/instance:Instance fast-file-system: gkeSupportEnabled"),
            ("CW702", "error", "gcp:sql/databaseInstance:DatabaseInstance cpu-dev-accounting: settings.ipConfiguration.sslMode"),
        ]
        attached = discovery.Discovery().attachments(_recorded(stack))
        assert (dict(attached.refused), [(one.resource.split()[-1], one.what, one.description) for one in attached.found]) == ({}, ATTACHED)
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
    """Open the login nodes to everybody, attach what lets others in, lose a template, let the database take plain text, and start an instance under the stack's name."""
    (opened,) = [one for one in cloud.things("compute.firewalls") if one.id.endswith("checks")]
    cloud.drift(opened.id, kind=opened.kind, sourceRanges=["0.0.0.0/0"])
    (fast,) = cloud.things("lustre.instances")
    cloud.drift(fast.id, kind=fast.kind, gkeSupportEnabled=True)
    (network,) = [one.id for one in cloud.things("compute.networks")]
    _attach(cloud, network)
    (lost,) = [one for one in cloud.things("compute.instanceTemplates") if "batch" in one.id]
    cloud.lose(lost.id, kind=lost.kind)
    (database,) = cloud.things("sql.instances")
    settings = database.properties["settings"]
    open_to_plain = {**settings["ipConfiguration"], "sslMode": "ALLOW_UNENCRYPTED_AND_ENCRYPTED"}
    cloud.drift(database.id, kind=database.kind, settings={**settings, "ipConfiguration": open_to_plain})
    owner = next(one["outputs"]["owner"] for one in recorded.resources if one["type"] == discovery.SITE)
    subnet = next(one.id for one in cloud.things("compute.subnetworks"))
    body = {
        "name": "stray", "machineType": f"zones/{ZONE}/machineTypes/n2-standard-2", "networkInterfaces": [{"subnetwork": subnet}],
        "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}],
        "labels": {STACK_LABEL: STACK, OWNER_LABEL: owner},
    }  # fmt: skip
    for one in (body, {**body, "name": "neighbour", "labels": {}}):
        answer = cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{PROJECT}/zones/{ZONE}/instances", body=one)
        assert answer.status == 200, answer.body


def _attach(cloud: SimulatedCloud, network: str) -> None:
    """Add a rule, a route and peerings to the hosts' network, and a reader to the controllers' keys."""
    compute = "compute.googleapis.com", f"/compute/v1/projects/{PROJECT}/global"
    rule = {"name": "open-to-all", "network": network, "allowed": [{"IPProtocol": "tcp"}], "sourceRanges": ["0.0.0.0/0"]}
    assert cloud.request(compute[0], "POST", f"{compute[1]}/firewalls", body=rule).status == 200
    route = {"name": "elsewhere", "network": network, "destRange": "192.0.2.0/24", "nextHopIp": "10.80.0.9", "priority": 10}
    answer = cloud.request(compute[0], "POST", f"{compute[1]}/routes", body=route)
    assert answer.status == 200, answer.body
    # A Filestore instance brings the first by itself.
    peerings = {name: {"network": f"https://www.googleapis.com/compute/v1/projects/others/global/networks/{name}"} for name in ("filestore-peer-1", "theirs")}
    shown = cloud.request(compute[0], "GET", f"/compute/v1/{network}").body["peerings"]
    cloud.drift(network, kind="compute.networks", _peerings={**{one["name"]: {"network": one["network"]} for one in shown}, **peerings})
    (secret,) = [one.id for one in cloud.things("secretmanager.secrets") if "control" in one.id]
    policy = cloud.request("secretmanager.googleapis.com", "GET", f"/v1/{secret}:getIamPolicy").body
    policy["bindings"] = [*policy.get("bindings", ()), {"role": "roles/secretmanager.secretAccessor", "members": ["user:eve@example.com"]}]
    answer = cloud.request("secretmanager.googleapis.com", "POST", f"/v1/{secret}:setIamPolicy", body={"policy": policy})
    assert answer.status == 200, answer.body
