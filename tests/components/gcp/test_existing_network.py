"""Hosts in a VPC network that exists already: what the program registers, what the project is asked, and a life on the simulated Google Cloud."""

import json
from pathlib import Path
from typing import Any

import pulumi
import pytest

from blueprints import finding
from blueprints.codes import Code
from components.gcp import network, rest
from components.gcp.account import read
from components.gcp.account.session import Session
from stacks.cli import main
from tests.components.gcp import programs, steps
from tests.components.gcp.standing import Standing
from tests.simcloud.google.client import PROJECT, REGION, ZONE, SimulatedCloud

OURS: dict[str, Any] = {"network__existing": "ours", "network__cidr": "10.20.0.0/16"}


def test_hosts_get_a_subnet_of_the_existing_network_and_no_way_out_of_their_own() -> None:
    found = programs.program("starter", **OURS)
    assert [one.name for one in programs.gcp(found) if one.type.rpartition(":")[2] in ("Network", "Router", "RouterNat")] == []
    (subnet,) = [one.inputs for one in programs.of(found, "Subnetwork")]
    link = f"https://www.googleapis.com/compute/v1/projects/{programs.PROJECT}/global/networks/ours"
    assert (subnet["network"], subnet["ipCidrRange"].startswith("10.20.")) == (link, True)
    assert {one.inputs["network"] for one in programs.of(found, "Firewall")} == {link}
    home = found.named("home-file-system").inputs
    assert home["networks"][0]["network"] == f"projects/{programs.PROJECT}/global/networks/ours"


def test_further_interfaces_of_nodes_have_networks_of_their_own() -> None:
    found = programs.program(str(Path(__file__).with_name("gpu.yaml")), **OURS)
    assert {one.name for one in programs.of(found, "Network")} == {"rdma-network", *(f"gvnic-{number}-network" for number in range(1, 9))}


@pytest.mark.parametrize("written", ["ours", "projects/p/global/networks/ours", "https://www.googleapis.com/compute/v1/projects/p/global/networks/ours"])
def test_a_network_is_named_in_each_way_that_google_names_it(written: str) -> None:
    assert network.full_name(written, "p") == "projects/p/global/networks/ours"


def test_a_network_of_another_project_is_refused() -> None:
    with pytest.raises(pulumi.RunError, match=r"`network\.host_project: others`"):
        network.full_name("projects/others/global/networks/ours", "p")


def test_the_free_range_has_to_be_named() -> None:
    with pytest.raises(finding.Invalid) as found:
        programs.program("starter", network__existing="ours")
    assert [one.code for one in found.value.findings if one.level is finding.Level.ERROR] == [Code.SUBNETS_UNNAMED]


@pytest.fixture
def project(cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> SimulatedCloud:
    """Give a project with a network of its owner's: one subnet, and no way out yet."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(rest, "PAUSES_S", (0.0, 0.0, 0.0))
    steps.ask(cloud, "POST", "global/networks", {"name": "ours", "autoCreateSubnetworks": False})
    subnet = {"name": "theirs", "network": f"projects/{PROJECT}/global/networks/ours", "ipCidrRange": "10.0.0.0/20"}
    steps.ask(cloud, "POST", f"regions/{REGION}/subnetworks", subnet)
    return cloud


def _translate(project: SimulatedCloud) -> None:
    nat = {"name": "nat", "natIpAllocateOption": "AUTO_ONLY", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}
    router = {"name": "router", "network": f"projects/{PROJECT}/global/networks/ours", "nats": [nat]}
    steps.ask(project, "POST", f"regions/{REGION}/routers", router)


def _checked(tmp_path: Path, given: dict[str, Any], capsys: pytest.CaptureFixture[str], *, code: str = "CW807", **changed: Any) -> list[tuple[str, str]]:
    """Check a blueprint with this network; give path and fault of what the project said."""
    file = tmp_path / "mine.yaml"
    written = {
        "name": "tiny",
        "software": "debian-13-gcp",
        "access": {"login_nodes": 1, "allowed_cidrs": ["192.0.2.0/24"]},
        "network": {"region": REGION, "zones": [ZONE], **given},
        "storage": {"home": {"kind": "nfs", "mount": "/home"}},
        "pools": {"batch": {"machine": "n2-standard-8", "nodes": 2}},
        **changed,
    }
    file.write_text(json.dumps(written, indent=1))
    main.main(["check", str(file), "--target", "gcp", "--live", "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [(one["where"]["path"], one["what"]) for one in found if one["code"] == code]


def test_the_project_is_asked_whether_the_network_fits(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    free, taken = "10.20.0.0/16", "10.0.0.0/16"
    assert _checked(tmp_path, {"existing": "none", "cidr": free}, capsys) == [("network.existing", f"the network none does not exist in {REGION}")]
    without = ("network.existing", f"new subnets of ours in {REGION} can't reach the Internet")
    shared = ("network.cidr", f"{taken} shares addresses with theirs of ours, which has 10.0.0.0/20")
    assert sorted(_checked(tmp_path, {"existing": "ours", "cidr": taken}, capsys)) == [shared, without]
    _translate(project)
    assert _checked(tmp_path, {"existing": "ours", "cidr": free}, capsys) == []


def test_networks_of_further_interfaces_need_room_beside_the_existing_one(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _translate(project)
    pools = {"train": {"machine": "a3-megagpu-8g", "nodes": {"min": 0, "max": 2}, "fabric": "required"}}
    given = {"existing": "ours", "cidr": "10.20.0.0/16"}
    for limit, found in ((9, []), (8, ["network"])):  # the existing one, and one for each of eight interfaces
        project.set("quotas", {"NETWORKS": limit})
        assert [path for path, _ in _checked(tmp_path, given, capsys, code="CW804", pools=pools, software="ubuntu-24.04-gcp")] == found


def test_the_stacks_own_subnet_is_no_subnet_of_others_and_a_gateway_of_the_site_is_a_way_out(project: SimulatedCloud) -> None:
    network_name = f"projects/{PROJECT}/global/networks/ours"
    mine = {
        "name": "mine",
        "network": network_name,
        "ipCidrRange": "10.20.0.0/20",
        "description": "Subnet cluster of cluster c, stack dev, clusterwright-owner=x",
    }
    steps.ask(project, "POST", f"regions/{REGION}/subnetworks", mine)
    theirs = ("theirs", "10.0.0.0/20")
    found = read.network(Session(REGION), "ours", cluster="c", stack="dev")
    assert found is not None
    assert (found.taken, found.way_out) == ((theirs,), "none")
    for other in ({"cluster": "c", "stack": "other"}, {"cluster": "d", "stack": "dev"}):
        assert (read.network(Session(REGION), network_name, **other) or found).taken == (("mine", "10.20.0.0/20"), theirs)
    route = {"name": "out", "network": network_name, "destRange": "0.0.0.0/0", "nextHopIp": "10.0.0.9", "priority": 10}
    steps.ask(project, "POST", "global/routes", route)
    assert (read.network(Session(REGION), "ours", cluster="c", stack="dev") or found).way_out == "nat"


@pytest.mark.engine
@pytest.mark.soak
def test_a_stack_comes_and_goes_and_leaves_the_network_as_it_was(project: SimulatedCloud, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _translate(project)
    before = sorted((one.kind, one.id) for one in project.things())
    with Standing.of(tmp_path / "stack", project, programs.CPU, **OURS) as stack:
        stack.up()
        stack.up("--refresh", "--expect-no-changes")
        (files,) = project.things("file.instances")
        assert files.properties["networks"][0]["network"].endswith("networks/ours")
        assert set(before) < {(one.kind, one.id) for one in project.things()}
        stack.destroy()
    assert sorted((one.kind, one.id) for one in project.things()) == before
