"""Managed Lustre: what the program registers, and how hosts mount it."""

import ipaddress
import math
import re
from pathlib import Path

import pytest

from components import discovery as of_targets
from components.bootstrap import config, files
from components.gcp import attachments
from components.gcp import discovery as of_gcp
from tests.components.gcp import programs
from tests.components.gcp.standing import Standing
from tests.components.project import STACK
from tests.simcloud.google.client import PROJECT, ZONE, SimulatedCloud

LIBRARY = "llm-pretraining"
FAST = {"kind": "lustre", "mount": "/data", "throughput": "1000 MB/s/TiB"}


def test_an_instance_is_beside_the_nodes_as_the_blueprint_says() -> None:
    found = programs.library(LIBRARY)
    said = found.named("data-file-system").inputs
    assert (said["capacityGib"], said["perUnitStorageThroughput"], said["filesystem"]) == ("36000", "500", "data")
    assert said["network"] == found.named("services-connection").inputs["network"]
    assert {said["location"]} == {one.inputs["zone"] for one in programs.of(found, "compute:Instance")}
    assert said["gkeSupportEnabled"] is False


def test_servers_reach_hosts_at_their_port_alone() -> None:
    found = programs.library(LIBRARY)
    rule, reserved = found.named("lustre-firewall").inputs, found.named("services-range").inputs
    assert rule["allows"] == [{"protocol": "tcp", "ports": ["988"]}]
    assert rule["sourceRanges"] == [f"10.77.0.0/{reserved['prefixLength']}"]
    assert len(rule["targetServiceAccounts"]) == 3, "controllers, login nodes and compute nodes mount it"
    assert (reserved["purpose"], reserved["addressType"]) == ("VPC_PEERING", "INTERNAL")
    assert "address" not in reserved, "Google chooses a range beside those of the subnets"


def test_an_instance_waits_for_the_peering_and_hosts_wait_for_it() -> None:
    found = programs.library(LIBRARY)
    assert {"services-connection", "lustre-firewall"} <= found.all_needs("data-file-system")
    assert {"services-connection", "lustre-firewall", "data-file-system"} <= found.all_needs("control-0")


def test_every_host_mounts_it_over_its_first_interface() -> None:
    found = programs.library(LIBRARY)
    ranges = {one.name: ipaddress.IPv4Network(one.inputs["ipCidrRange"]) for one in programs.of(found, "Subnetwork")}
    assert len(ranges) == 9, "nodes have eight more interfaces, which do not reach the servers"
    for one in (*programs.of(found, "compute:Instance"), *programs.of(found, "InstanceTemplate")):
        data = programs.user_data(one)
        (row,) = [row for row in data["mounts"] if row[1] == "/data"]
        assert (row[0], row[2]) == ("10.77.0.2@tcp:/data", "lustre"), one.name
        written = {file["path"]: file["content"] for file in data["write_files"]}
        assert _matched(written[files.LUSTRE]) == ranges["cluster-subnet"], one.name


@pytest.mark.parametrize("network", ["10.8.0.0/13", "10.1.2.0/24", "172.16.4.0/22", "10.0.0.16/28", "10.0.0.0/8"])
def test_lustre_matches_the_addresses_of_the_network_alone(network: str) -> None:
    (written,) = files.lustre(config.HostConfig("compute", "c", "g", (), "", lustre_network=network))
    assert _matched(written.content.decode()) == ipaddress.IPv4Network(network)


def _matched(written: str) -> ipaddress.IPv4Network:
    """Give the addresses that Lustre's pattern matches, which are those of one network."""
    (pattern,) = re.findall(r'^options lnet ip2nets="tcp (.*)"$', written, re.MULTILINE)
    octets = [_values(octet) for octet in pattern.split(".")]
    first, last = (ipaddress.IPv4Address(".".join(str(values[end]) for values in octets)) for end in (0, -1))
    (found,) = ipaddress.summarize_address_range(first, last)
    assert math.prod(len(values) for values in octets) == found.num_addresses
    return found


def _values(octet: str) -> range:
    if octet == "*":
        return range(256)
    first, _, last = octet.strip("[]").partition("-")
    return range(int(first), int(last or first) + 1)


def test_hosts_without_lustre_have_no_word_about_it() -> None:
    assert files.lustre(config.HostConfig("compute", "c", "g", (), "")) == ()
    found = programs.library("starter")
    assert [one.name for one in programs.gcp(found) if "services" in one.name or "lustre" in one.name] == []
    assert files.LUSTRE not in [file["path"] for file in programs.user_data(found.named("login-0"))["write_files"]]


@pytest.mark.parametrize(("on_delete", "kept"), [("keep", {"data-file-system", "network", "services-range", "services-connection"}), ("delete", set())])
def test_what_reaches_a_kept_instance_is_kept_with_it(on_delete: str, kept: set[str]) -> None:
    found = programs.program("starter", software="ubuntu-24.04-gcp", storage={"data": {**FAST, "protect": False, "on_delete": on_delete}})
    assert {one.name for one in programs.gcp(found) if one.keep and one.name != "home-file-system" and one.name != "shared-file-system"} == kept
    assert found.named("data-file-system").inputs["instanceId"].endswith("-owner of clusterwright:gcp:Site"), "the next stack of this name wants another"


def test_a_protected_instance_is_protected_by_the_engine() -> None:
    assert programs.library(LIBRARY).named("data-file-system").protect


def test_several_instances_share_the_range_and_the_peering() -> None:
    more = {"data": {**FAST, "protect": False}, "fast": {**FAST, "mount": "/fast", "protect": False}}
    found = programs.program("starter", software="ubuntu-24.04-gcp", storage=more)
    assert sorted(one.name for one in programs.gcp(found) if "lustre" in one.type or "Global" in one.type or "Connection" in one.type) == [
        "data-file-system",
        "fast-file-system",
        "services-connection",
        "services-range",
    ]


@pytest.mark.engine
@pytest.mark.soak
def test_an_instance_lives_from_up_to_destroy(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    fast = {**FAST, "size": "9000 GiB", "protect": False, "on_delete": "delete"}
    with Standing.of(tmp_path / "stack", cloud, programs.CPU, software="ubuntu-24.04-gcp", storage__data=fast) as stack:
        stack.up()
        (instance,) = cloud.things("lustre.instances")
        assert (instance.id.split("/")[3], instance.properties["filesystem"]) == (ZONE, "data")
        stack.up("--refresh", "--expect-no-changes")
        recorded = _recorded(stack)
        assert of_gcp.Discovery().attachments(recorded) == of_targets.Attachments(), "the peering is the stack's own"
        others = [one for one in recorded.resources if one["type"] != "gcp:servicenetworking/connection:Connection"]
        listed = attachments.look(recorded, project=PROJECT)
        found = attachments.unrecorded(listed, of_targets.Stack(name=STACK, region=recorded.region, resources=tuple(others), nodes=recorded.nodes))
        assert [one.what for one in found.found] == ["peering servicenetworking-googleapis-com"]

        stack.change(storage__data={**fast, "size": "18000 GiB"})
        assert stack.up_changes() == {"update": ["data-file-system"]}
        assert [(one.id, one.properties["capacityGib"]) for one in cloud.things("lustre.instances")] == [(instance.id, "18000")]
        stack.change(storage__data={**fast, "size": "18000 GiB", "throughput": "500 MB/s/TiB"})
        assert "data-file-system" in stack.changes()["replace"], "the tier of an instance can't be changed"

        stack.change(storage__data={**fast, "size": "18000 GiB", "on_delete": "keep"})
        stack.up()
        stack.destroy()
        left = sorted(one.kind for one in cloud.things())
        assert left == ["compute.globalAddresses", "compute.networks", "lustre.instances", "servicenetworking.services.connections"]
        stack.up()
        assert len(cloud.things("lustre.instances")) == 2, "the next stack of this name has its own"
        stack.change(storage__data={**fast, "size": "18000 GiB"})
        stack.up()
        stack.destroy()
        assert sorted(one.kind for one in cloud.things()) == left


def _recorded(stack: Standing) -> of_targets.Stack:
    resources = tuple(
        {"type": one["type"], "name": one["urn"].rpartition("::")[2], "id": one.get("id", ""), "outputs": one.get("outputs", {})} for one in stack.resources()
    )
    return of_targets.Stack(
        name=STACK, region=stack.spec.network.region, resources=resources, nodes={one.hosts.name: one.hosts.hostnames for one in stack.spec.node_sets}
    )
