"""Hosts in a network that another project shares: what is refused, what the owner is asked for, and a life on the simulated Google Cloud."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprints import load
from blueprints.codes import Code
from components import discovery
from components.gcp import attachments, network, rest
from components.gcp.names import CLUSTER_LABEL, OWNER_LABEL, STACK_LABEL
from stacks.cli import main
from tests.components.gcp import programs
from tests.components.gcp.standing import Standing
from tests.components.project import STACK
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud
from tests.simcloud.google.rights import OWNER

HOST, RANGE = "net-host", "10.20.0.0/20"
SHARED: dict[str, Any] = {"host_project": HOST, "existing": "shared", "subnets": ["hosts"], "cidr": RANGE}
NETWORK = f"https://www.googleapis.com/compute/v1/projects/{HOST}/global/networks/shared"
SUBNET = f"https://www.googleapis.com/compute/v1/projects/{HOST}/regions/{REGION}/subnetworks/hosts"
FILES: dict[str, Any] = {"home": {"kind": "block", "mount": "/home", "size": "1 TiB", "protect": False, "on_delete": "delete"}}

OWN = {CLUSTER_LABEL: "tiny", STACK_LABEL: STACK, OWNER_LABEL: "abc"}


def overrides(**more: Any) -> dict[str, Any]:
    return {**{f"network__{name}": value for name, value in SHARED.items()}, "storage": FILES, **more}


def test_hosts_are_in_the_shared_subnet_and_its_project_is_left_alone() -> None:
    found = programs.program(programs.CPU, **overrides())
    kinds = {one.type.rpartition(":")[2] for one in programs.gcp(found)}
    assert kinds.isdisjoint({"Network", "Subnetwork", "Router", "RouterNat", "Firewall"})
    for one in (*programs.of(found, "compute:Instance"), *programs.of(found, "InstanceTemplate")):
        assert one.inputs["networkInterfaces"][0]["subnetwork"] == SUBNET, one.name
    (group,) = programs.of(found, "InstanceGroup")
    assert group.inputs["network"] == NETWORK, "the load balancer's hosts are in the shared network"
    assert HOST not in json.dumps([one.inputs.get("project") for one in programs.gcp(found)])


def test_interfaces_of_gpu_nodes_take_shared_subnets() -> None:
    rails = [f"rail-{number}" for number in range(1, 9)]
    roce = [f"roce-{number}" for number in range(1, 9)]
    found = programs.program(str(Path(__file__).with_name("gpu.yaml")), **overrides(network__subnets=["hosts", *rails, *roce]))
    assert programs.of(found, "Firewall") == []
    (mega,) = [one for one in programs.of(found, "InstanceTemplate") if one.name == "mega-template"]
    assert [one["subnetwork"] for one in mega.inputs["networkInterfaces"]] == [SUBNET.replace("hosts", name) for name in ("hosts", *rails)]


def test_the_owner_is_asked_for_the_rules_that_the_cluster_needs() -> None:
    said = {"network": SHARED, "storage": FILES, "access.allowed_cidrs": ["203.0.113.7/32"]}
    found = load.examine(programs.CPU, target="gcp", stack="test", facts=programs.MACHINE, overrides=said)
    (rules,) = [one for one in found.findings if one.code == Code.HOST_PROJECT_RULES]
    for needed in (f"hosts of {RANGE}", "from 203.0.113.7/32", "health checks"):
        assert needed in rules.why


def test_a_network_of_the_project_that_shares_it_is_taken() -> None:
    name = f"projects/{HOST}/global/networks/shared"
    assert network.full_name(name, "ours", host=HOST) == name


def test_other_targets_have_no_shared_networks() -> None:
    found = load.examine("starter", target="aws", stack="test", facts=programs.MACHINE, overrides={"network.host_project": HOST})
    assert found.spec.network.host_project == ""


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    """Give a project with which another one shares its network."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rest, "PAUSES_S", (0.0, 0.0, 0.0))
    network_name = f"projects/{HOST}/global/networks/shared"
    nat = {"name": "nat", "natIpAllocateOption": "AUTO_ONLY", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}
    for path, body in (
        ("global/networks", {"name": "shared", "autoCreateSubnetworks": False}),
        (f"regions/{REGION}/subnetworks", {"name": "hosts", "network": network_name, "ipCidrRange": RANGE}),
        (f"regions/{REGION}/routers", {"name": "router", "network": network_name, "nats": [nat]}),
    ):
        answer = cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{HOST}/{path}", body=body)
        assert answer.status == 200, answer.body
    share(cloud, OWNER)
    return cloud


def share(cloud: SimulatedCloud, *users: str) -> None:
    cloud.set("shared_vpc", {"project": HOST, "users": [*users]})


def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str], **changed: Any) -> list[tuple[str, str]]:
    """Check a blueprint in the shared network; give path and fault of what the project said."""
    file = tmp_path / "mine.yaml"
    written = {
        "name": "tiny",
        "software": "debian-13-gcp",
        "access": {"login_nodes": 1, "allowed_cidrs": ["192.0.2.0/24"]},
        "network": {"region": REGION, "zones": [ZONE], **SHARED, **changed},
        "storage": FILES,
        "pools": {"batch": {"machine": "n2-standard-8", "nodes": 2}},
    }
    file.write_text(json.dumps(written, indent=1))
    main.main(["check", str(file), "--target", "gcp", "--live", "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [(one["where"]["path"], one["what"]) for one in found if one["code"] in ("CW807", "CW808", "CW810", "CW818")]


def test_the_project_is_asked_whether_it_may_use_the_subnet(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = "network.subnets.0"
    assert checked(tmp_path, capsys) == []
    assert checked(tmp_path, capsys, cidr="10.20.0.0/24") == [(at, f"hosts has {RANGE}, and the blueprint names 10.20.0.0/24")]
    assert [path for path, _ in checked(tmp_path, capsys, subnets=["none"])] == [at]
    share(project)
    ((path, what),) = checked(tmp_path, capsys)
    assert (path, "may not use the subnet" in what) == (at, True)


def test_machines_of_others_in_the_shared_subnet_are_named(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the host project, too, unless its owner doesn't let this project look."""
    monkeypatch.setenv("PULUMI_STACK", STACK)
    project.set("shared_vpc", None)
    for owner, name, labels in ((PROJECT, "control", OWN), (PROJECT, "ours", {}), (HOST, "theirs", {})):
        machine(project, owner, name, labels)
    share(project, OWNER)
    at = SUBNET.partition("/compute/v1/")[2]
    assert checked(tmp_path, capsys) == [
        ("network.subnets.0", f"ours in {ZONE} and theirs in {ZONE} of {HOST} have addresses in {at}, and are not the cluster's")
    ]
    assert drifted() == [("ours", f"in {ZONE}"), ("theirs", f"in {ZONE} of {HOST}")]
    share(project)
    assert drifted() == [("ours", f"in {ZONE}")]


def drifted() -> list[tuple[str, str]]:
    """Give name and place of the machines that a drift check of a stack in the shared subnet names."""
    recorded = (
        {"type": attachments.SITE, "name": "site", "id": "site", "outputs": {"owner": OWN[OWNER_LABEL]}},
        {"type": attachments.HOST, "name": "control-0", "id": "control", "outputs": {"networkInterfaces": [{"subnetwork": SUBNET}]}},
    )
    stack = discovery.Stack(name=STACK, region=REGION, resources=recorded, nodes={})
    seen = attachments.unrecorded(attachments.look(stack, project=PROJECT), stack)
    assert dict(seen.refused) == {}
    return [(one.what.removeprefix("machine of others "), one.description) for one in seen.found]


def machine(cloud: SimulatedCloud, owner: str, name: str, labels: dict[str, str]) -> None:
    """Create a machine of a project in the shared subnet."""
    body = {
        "name": name, "machineType": f"zones/{ZONE}/machineTypes/n2-standard-2", "labels": labels, "networkInterfaces": [{"subnetwork": SUBNET}],
        "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}],
    }  # fmt: skip
    answer = cloud.request("compute.googleapis.com", "POST", f"/compute/v1/projects/{owner}/zones/{ZONE}/instances", body=body)
    assert answer.status == 200, answer.body


def test_lookup_lists_what_is_shared_with_the_lines_to_write(project: SimulatedCloud, capsys: pytest.CaptureFixture[str]) -> None:
    def looked_up() -> list[dict[str, Any]]:
        assert main.main(["lookup", "subnets", "--target", "gcp", "--region", REGION, "--json"]) == 0
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["entries"]
        return found

    (one,) = looked_up()
    assert yaml.safe_load(one["write"]) == {"network": SHARED}
    assert (one["cidr"], one["free"]) == (RANGE, 4092)
    share(project)
    assert looked_up() == [], "its owner doesn't let this project look"


@pytest.mark.engine
@pytest.mark.soak
def test_a_stack_comes_and_goes_in_a_shared_network(project: SimulatedCloud, tmp_path: Path) -> None:
    before = {(one.kind, one.id): one.properties for one in project.things()}
    with Standing.of(tmp_path / "stack", project, programs.CPU, **overrides()) as stack:
        stack.up()
        stack.up("--refresh", "--expect-no-changes")
        assert {one.properties["networkInterfaces"][0]["subnetwork"] for one in project.things("compute.instances")} == {SUBNET}
        others = {(one.kind, one.id) for one in project.things() if one.id.startswith(f"projects/{HOST}/")}
        assert others == {one for one in before if one[1].startswith(f"projects/{HOST}/")}, "nothing is created in the project of others"
        stack.destroy()
    assert {(one.kind, one.id): one.properties for one in project.things()} == before
