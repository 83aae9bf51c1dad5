"""Hosts in existing subnets, and GPU interfaces in existing networks: what the program registers, what the project is asked, and a life on the simulated Google Cloud."""

import json
from pathlib import Path
from typing import Any

import pytest

from blueprints import finding
from blueprints.codes import Code
from blueprints.live import quotas
from components import discovery as of_targets
from components.elastic import table as fleet_table
from components.elastic.fleets.gcp import adapter
from components.elastic.memory import Launch
from components.gcp import attachments, network, rest
from components.gcp.names import CLUSTER_LABEL, OWNER_LABEL, STACK_LABEL
from stacks.cli import main
from tests.components.gcp import programs, steps
from tests.components.gcp.standing import Standing
from tests.components.gcp.test_gpu import GPU_ZONE
from tests.components.project import STACK
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

GPU = str(Path(__file__).with_name("gpu.yaml"))
RANGE = "10.20.0.0/20"
RAILS = [f"rail-{number}" for number in range(1, 9)]
ROCE = [f"roce-{number}" for number in range(1, 9)]
HOSTS: dict[str, Any] = {"network__existing": "ours", "network__cidr": RANGE, "network__subnets": ["hosts"]}
GPUS: dict[str, Any] = {**HOSTS, "network__subnets": ["hosts", *RAILS, *ROCE]}


def test_hosts_are_in_the_existing_subnet_and_no_network_is_created() -> None:
    found = programs.program("starter", **HOSTS)
    kinds = {one.type.rpartition(":")[2] for one in programs.gcp(found)}
    assert kinds.isdisjoint({"Network", "Subnetwork", "Router", "RouterNat"})
    link = f"https://www.googleapis.com/compute/v1/projects/{programs.PROJECT}/regions/{REGION}/subnetworks/hosts"
    for one in (*programs.of(found, "compute:Instance"), *programs.of(found, "InstanceTemplate")):
        assert one.inputs["networkInterfaces"][0]["subnetwork"] == link, one.name
    (control,) = [one for one in programs.of(found, "compute:Instance") if one.name == "control-0"]
    assert programs.user_data(control)["exports"]["clients"] == RANGE if "exports" in programs.user_data(control) else RANGE in str(programs.user_data(control))


def test_interfaces_of_gpu_nodes_take_the_subnets_in_order_and_rules_name_their_networks() -> None:
    found = programs.program(GPU, **GPUS)
    assert {one.type.rpartition(":")[2] for one in programs.gcp(found)}.isdisjoint({"Network", "Subnetwork"})
    (mega,) = [one for one in programs.of(found, "InstanceTemplate") if one.name == "mega-template"]
    (ultra,) = [one for one in programs.of(found, "InstanceTemplate") if one.name == "ultra-template"]
    placed = [[one["subnetwork"].rpartition("/")[2] for one in template.inputs["networkInterfaces"]] for template in (mega, ultra)]
    assert placed == [["hosts", *RAILS], ["hosts", "rail-1", *ROCE]]
    rules = {one.name: one.inputs["network"] for one in programs.of(found, "Firewall")}
    assert {name: link for name, link in rules.items() if name.startswith("gvnic")} == {
        f"gvnic-{number}-firewall": f"https://link/network-of-rail-{number}" for number in range(1, 9)
    }
    assert not [name for name in rules if name.startswith("mrdma")], "a network of RDMA interfaces takes no rules"


@pytest.mark.parametrize(
    "written",
    ["hosts", "projects/p/regions/r/subnetworks/hosts", "https://www.googleapis.com/compute/v1/projects/p/regions/r/subnetworks/hosts"],
)
def test_a_subnet_is_named_in_each_way_that_google_names_it(written: str) -> None:
    assert network.full_subnet_name(written, "p", "r") == "projects/p/regions/r/subnetworks/hosts"


@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        ({"network.existing": "ours", "network.subnets": ["hosts"]}, Code.SUBNETS_UNNAMED),
        ({"network.existing": "ours", "network.subnets": ["hosts"], "network.cidr": "10.20.0.0/29"}, Code.CIDR_TOO_SMALL),
        ({"network.existing": "ours", "network.subnets": ["hosts"], "network.cidr": "8.8.8.0/24"}, Code.CIDR_NOT_PRIVATE),
    ],
)
def test_the_range_of_the_hosts_subnet_has_to_be_named_and_to_fit(overrides: dict[str, Any], code: Code) -> None:
    with pytest.raises(finding.Invalid) as found:
        programs.resolved(programs.CPU, overrides)
    assert code in [one.code for one in found.value.findings if one.level is finding.Level.ERROR]


def test_a_missing_subnet_of_an_interface_is_named() -> None:
    with pytest.raises(finding.Invalid) as found:
        programs.resolved(GPU, {name.replace("__", "."): value for name, value in GPUS.items()} | {"network.subnets": ["hosts", *RAILS]})
    (missing,) = [one for one in found.value.findings if one.level is finding.Level.ERROR]
    assert missing.code == Code.SUBNETS_MISSING
    assert "mrdma-1" in missing.why


def test_existing_networks_take_no_room_of_the_quota() -> None:
    given = programs.resolved(GPU, {name.replace("__", "."): value for name, value in GPUS.items()})
    made = programs.resolved(GPU, {"network.existing": "ours", "network.cidr": "10.0.0.0/8"})
    assert (quotas.networks(given), quotas.networks(made)) == (0, 9), "eight networks of gVNIC interfaces, and one of RDMA interfaces"


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    """Give a project whose owner has a network for hosts, one for each gVNIC interface and one for RDMA interfaces."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rest, "PAUSES_S", (0.0, 0.0, 0.0))
    profile = f"https://www.googleapis.com/compute/v1/projects/{PROJECT}/global/networkProfiles/{GPU_ZONE}-vpc-roce"
    steps.ask(cloud, "POST", "global/networks", {"name": "ours", "autoCreateSubnetworks": False})
    steps.ask(cloud, "POST", "global/networks", {"name": "roce", "autoCreateSubnetworks": False, "networkProfile": profile, "mtu": 8896})
    subnet(cloud, "hosts", "ours", RANGE)
    subnet(cloud, "small", "ours", "10.21.0.0/29")
    for number in range(1, 9):
        steps.ask(cloud, "POST", "global/networks", {"name": f"rail-{number}", "autoCreateSubnetworks": False, "mtu": 8896})
        subnet(cloud, f"rail-{number}", f"rail-{number}", f"10.30.{number}.0/24")
        subnet(cloud, f"roce-{number}", "roce", f"10.40.{number}.0/24")
    return cloud


def subnet(cloud: SimulatedCloud, name: str, network_name: str, cidr: str) -> None:
    body = {"name": name, "network": f"projects/{PROJECT}/global/networks/{network_name}", "ipCidrRange": cidr}
    steps.ask(cloud, "POST", f"regions/{REGION}/subnetworks", body)


def translate(cloud: SimulatedCloud, *subnets: str) -> None:
    """Give subnets of the hosts' network a way out."""
    named = [{"name": f"projects/{PROJECT}/regions/{REGION}/subnetworks/{one}", "sourceIpRangesToNat": ["ALL_IP_RANGES"]} for one in subnets]
    nat = {"name": "nat", "natIpAllocateOption": "AUTO_ONLY", "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS", "subnetworks": named}
    router = {"name": "router", "network": f"projects/{PROJECT}/global/networks/ours", "nats": [nat]}
    steps.ask(cloud, "POST", f"regions/{REGION}/routers", router)


def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str], given: dict[str, Any], **changed: Any) -> list[tuple[str, str]]:
    """Check a blueprint with these subnets; give path and fault of what the project said of them."""
    file = tmp_path / "mine.yaml"
    written = {
        "name": "tiny",
        "software": "ubuntu-24.04-gcp",
        "access": {"login_nodes": 1, "allowed_cidrs": ["192.0.2.0/24"]},
        "network": {"region": REGION, "zones": [GPU_ZONE], "existing": "ours", **given},
        "storage": {"home": {"kind": "nfs", "mount": "/home"}},
        "pools": {"batch": {"machine": "n2-standard-8", "nodes": 2}},
        **changed,
    }
    file.write_text(json.dumps(written, indent=1))
    main.main(["check", str(file), "--target", "gcp", "--live", "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [(one["where"]["path"], one["what"]) for one in found if one["code"] in ("CW807", "CW808", "CW818")]


def test_the_project_is_asked_whether_the_hosts_subnet_fits(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = "network.subnets.0"
    assert checked(tmp_path, capsys, {"subnets": ["none"], "cidr": RANGE}) == [(at, f"the subnet none does not exist in {REGION}")]
    assert checked(tmp_path, capsys, {"subnets": ["hosts"], "cidr": RANGE}) == [(at, "hosts in hosts can't reach the Internet")]
    translate(project, "hosts")
    assert checked(tmp_path, capsys, {"subnets": ["hosts"], "cidr": RANGE}) == []
    assert checked(tmp_path, capsys, {"subnets": [f"projects/{PROJECT}/regions/{REGION}/subnetworks/hosts"], "cidr": RANGE}) == []
    assert checked(tmp_path, capsys, {"subnets": ["hosts"], "cidr": "10.20.0.0/22"}) == [(at, f"hosts has {RANGE}, and the blueprint names 10.20.0.0/22")]
    many = {"batch": {"machine": "n2-standard-8", "nodes": 10}}
    assert {what for _, what in checked(tmp_path, capsys, {"subnets": ["small"], "cidr": RANGE}, pools=many)} == {
        "small has 4 addresses for hosts, and the cluster can need 12",
        "hosts in small can't reach the Internet",
        f"small has 10.21.0.0/29, and the blueprint names {RANGE}",
    }
    assert (at, "rail-1 belongs to rail-1, not to ours") in checked(tmp_path, capsys, {"subnets": ["rail-1"], "cidr": "10.30.1.0/24"})


def test_the_project_is_asked_whether_networks_of_interfaces_fit(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translate(project, "hosts")
    ultra = {"train": {"machine": "a3-ultragpu-8g", "nodes": {"min": 0, "max": 2}, "fabric": "required"}}
    fitting = ["hosts", "rail-1", *ROCE]
    assert checked(tmp_path, capsys, {"subnets": fitting, "cidr": RANGE}, pools=ultra) == []
    in_one = ["hosts", "small", *ROCE]
    assert checked(tmp_path, capsys, {"subnets": in_one, "cidr": RANGE}, pools=ultra) == [("network.subnets.1", "small is in ours, like hosts")]
    without_profile = ["hosts", "rail-1", *ROCE[:7], "rail-2"]
    assert checked(tmp_path, capsys, {"subnets": without_profile, "cidr": RANGE}, pools=ultra) == [
        ("network.subnets.9", "rail-2 is in rail-2, whose network profile is none")
    ]
    elsewhere = {"subnets": fitting, "cidr": RANGE, "zones": [ZONE]}
    profile = f"is in roce, whose network profile is {GPU_ZONE}-vpc-roce"
    assert [what for _, what in checked(tmp_path, capsys, elsewhere, pools=ultra)] == [f"{one} {profile}" for one in ROCE]


def test_machines_of_others_in_the_hosts_subnet_are_named(
    project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_STACK", STACK)
    translate(project, "hosts")
    given = {"subnets": ["hosts"], "cidr": RANGE}
    for name, where, labels in (
        ("alone", "hosts", {}),
        ("ours", "hosts", {CLUSTER_LABEL: "tiny", STACK_LABEL: STACK}),
        ("sibling", "hosts", {CLUSTER_LABEL: "other", STACK_LABEL: STACK}),
        ("staging", "hosts", {CLUSTER_LABEL: "tiny", STACK_LABEL: "other"}),
        ("apart", "small", {}),
    ):
        machine(project, name, where, labels)
    others = f"alone in {ZONE}, sibling in {ZONE} and staging in {ZONE} have addresses in hosts, and are not the cluster's"
    assert checked(tmp_path, capsys, given) == [("network.subnets.0", others)]


def test_a_drift_check_names_machines_of_others_in_the_hosts_subnet(project: SimulatedCloud) -> None:
    for name, where, labels in (
        ("control", "hosts", {OWNER_LABEL: "abc"}),
        ("later", "hosts", {STACK_LABEL: STACK, OWNER_LABEL: "other"}),
        ("apart", "small", {}),
    ):
        machine(project, name, where, labels)
    subnet = f"projects/{PROJECT}/regions/{REGION}/subnetworks/hosts"
    card = {"subnetwork": f"https://www.googleapis.com/compute/v1/{subnet}"}
    recorded = (
        {"type": attachments.SITE, "name": "site", "id": "site", "outputs": {"owner": "abc"}},
        {"type": attachments.HOST, "name": "control-0", "id": "control", "outputs": {"networkInterfaces": [card, {"subnetwork": "small"}]}},
    )
    stack = of_targets.Stack(name=STACK, region=REGION, resources=recorded, nodes={})
    seen = attachments.unrecorded(attachments.look(stack, project=PROJECT), stack)
    assert [(one.resource, one.what, one.description) for one in seen.found] == [(subnet, "machine of others later", f"in {ZONE}")]
    assert dict(seen.refused) == {}


def machine(cloud: SimulatedCloud, name: str, where: str, labels: dict[str, str]) -> None:
    body = {
        "name": name, "machineType": f"zones/{ZONE}/machineTypes/n2-standard-2", "labels": labels,
        "networkInterfaces": [{"subnetwork": f"projects/{PROJECT}/regions/{REGION}/subnetworks/{where}"}],
        "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-13"}}],
    }  # fmt: skip
    steps.ask(cloud, "POST", f"zones/{ZONE}/instances", body)


def reserve(cloud: SimulatedCloud, name: str, machine: str) -> str:
    properties = {"count": "2", "instanceProperties": {"machineType": machine}}
    steps.ask(cloud, "POST", f"zones/{GPU_ZONE}/reservations", {"name": name, "specificReservationRequired": True, "specificReservation": properties})
    return f"projects/{PROJECT}/zones/{GPU_ZONE}/reservations/{name}"


@pytest.mark.engine
@pytest.mark.soak
def test_a_stack_comes_and_goes_and_leaves_networks_and_subnets_as_they_were(project: SimulatedCloud, tmp_path: Path) -> None:
    translate(project, "hosts")
    bought: dict[str, Any] = {
        "pools__ultra__capacity": {"kind": "reserved", "id": reserve(project, "h200", "a3-ultragpu-8g")},
        "pools__calendar__capacity": {"kind": "block", "id": reserve(project, "b200", "a4-highgpu-8g")},
    }
    before = {(one.kind, one.id): one.properties for one in project.things()}
    with Standing.of(tmp_path / "stack", project, GPU, network__zones=[GPU_ZONE], **GPUS, **bought) as stack:
        stack.up()
        stack.up("--refresh", "--expect-no-changes")
        assert not [one for one in project.things("compute.subnetworks") if (one.kind, one.id) not in before]
        table = fleet_table.read(stack.fleet())
        fleet = adapter.Gcp(table)
        for node_set in table.node_sets:
            token = f"{node_set.name}-{node_set.template}"
            answer = fleet.launch(Launch(token, node_set.name, node_set.nodes[:1], group=token, jobs=(), requested_at=0.0, is_whole=False))
            assert answer.refusal is None, f"{node_set.name}: {answer.detail}"
        (mega,) = [one for one in project.things("compute.instances") if one.id.endswith("-mega-0")]
        assert [one["subnetwork"].rpartition("/")[2] for one in mega.properties["networkInterfaces"]] == ["hosts", *RAILS]
        stack.destroy()
    assert {(one.kind, one.id): one.properties for one in project.things()} == before
