"""What compute nodes are started from."""

import dataclasses
import gzip
import json
import random
import string
from typing import Any

import pytest
import yaml
from pulumi_aws import ec2

from blueprints import catalog, spec
from components.aws import template, user_data
from components.aws.storage import NFS_OPTIONS
from components.bootstrap.config import FstabEntry, HostConfig
from components.elastic import table as fleet_table
from tests.components.aws import programs
from tests.components.registered import Program

KINDS = {"ena": None, "efa": "efa", "efa-only": "efa-only"}
RESERVATION = {"kind": "reserved", "id": "cr-0123456789abcdef0"}
BLOCK = {"kind": "block", "id": "cr-0fedcba9876543210"}


def templates(found: Program) -> dict[str, dict[str, Any]]:
    return {one.name.removesuffix("-template"): dict(one.inputs) for one in programs.of(found, "LaunchTemplate")}


# Interfaces


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_interfaces_are_the_catalogues_card_by_card(blueprint: str) -> None:
    made = templates(programs.library(blueprint))
    for node_set in programs.resolved(blueprint).node_sets:
        machine = catalog.machine("aws", node_set.hosts.machine.name)
        layout = catalog.expand(catalog.layout(machine.nic_layout), machine)
        expected = [(nic.card, nic.device, KINDS[nic.kind]) for nic in (layout if node_set.fabric else layout[:1])]
        interfaces = made[node_set.hosts.name]["networkInterfaces"]
        assert [(one["networkCardIndex"], one["deviceIndex"], one.get("interfaceType")) for one in interfaces] == expected


@pytest.mark.parametrize("name", [name for name, machine in catalog.machines("aws").items() if machine.fabric == "efa"])
def test_every_machine_with_efa_uses_all_of_its_interfaces(name: str) -> None:
    """The exceptions of p4d, p5, p5en, p6-b200, p6-b300 and p6e are data: nothing here knows a machine."""
    machine = catalog.machine("aws", name)
    nics = catalog.expand(catalog.layout(machine.nic_layout), machine)
    interfaces = template.interfaces(nics, subnet="subnet", security_groups=["hosts"])
    assert sum(one.interface_type in ("efa", "efa-only") for one in interfaces) == machine.fabric_nics
    assert len({(one.network_card_index, one.device_index) for one in interfaces}) == len(interfaces)
    assert (interfaces[0].network_card_index, interfaces[0].device_index) == (0, 0)
    assert sum(nic.addresses for nic in nics) == 1


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_every_efa_interface_is_in_the_group_that_allows_all_to_itself(blueprint: str) -> None:
    for made in templates(programs.library(blueprint)).values():
        assert all("SecurityGroup/hosts-security-group" in one["securityGroups"] for one in made["networkInterfaces"])


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_no_compute_node_has_a_public_address(blueprint: str) -> None:
    for made in templates(programs.library(blueprint)).values():
        interfaces = made["networkInterfaces"]
        assert [one.get("associatePublicIpAddress") for one in interfaces] == (["false"] if len(interfaces) == 1 else [None] * len(interfaces))
        assert {one["subnetId"] for one in interfaces} == {"Subnet/cluster-subnet"}


# How nodes are bought, and where they stand


@pytest.mark.parametrize(
    ("capacity", "market", "reservation"),
    [
        ("on-demand", None, None),
        ("spot", {"marketType": "spot", "spotOptions": {"spotInstanceType": "one-time", "instanceInterruptionBehavior": "terminate"}}, None),
        (RESERVATION, None, {"capacityReservationTarget": {"capacityReservationId": RESERVATION["id"]}}),
        (BLOCK, {"marketType": "capacity-block"}, {"capacityReservationTarget": {"capacityReservationId": BLOCK["id"]}}),
    ],
)
def test_capacity_is_said_in_the_template(capacity: Any, market: Any, reservation: Any) -> None:
    found = templates(programs.program("llm-pretraining", pools__train__capacity=capacity, network__zones=["us-east-1d", "us-east-1b"]))
    assert found["train"].get("instanceMarketOptions") == market
    assert found["train"].get("capacityReservationSpecification") == reservation


def test_a_group_of_reservations_is_named_by_its_arn() -> None:
    node_set = programs.resolved("llm-pretraining").node_sets[0]
    arn = "arn:aws:resource-groups:us-east-1:123456789012:group/h100"
    made = template.reservation(dataclasses.replace(node_set, capacity=spec.Capacity(spec.CapacityKind.RESERVED, arn)))
    assert made is not None
    assert made.capacity_reservation_target == ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_resource_group_arn=arn
    )


@pytest.mark.parametrize("kind", [kind for kind in spec.CapacityKind if kind is not spec.CapacityKind.OWNED])
@pytest.mark.parametrize("placement", ["packed", "spread", "none", "given"])
def test_a_placement_group_never_stands_in_the_way_of_capacity_that_was_bought(kind: spec.CapacityKind, placement: str) -> None:
    node_set = dataclasses.replace(programs.resolved("llm-pretraining").node_sets[0], placement=placement, capacity=spec.Capacity(kind, "cr-1"))
    expected = None if kind in (spec.CapacityKind.RESERVED, spec.CapacityKind.BLOCK) else {"packed": "cluster", "spread": "spread"}.get(placement)
    assert template.placement_strategy(node_set) == expected


def test_packed_nodes_have_a_group_of_their_own_each_pool() -> None:
    found = programs.library("scale-7500")
    groups = {one.name: one.inputs for one in programs.of(found, "PlacementGroup")}
    packed = [node_set.hosts.name for node_set in programs.resolved("scale-7500").node_sets if node_set.placement == "packed"]
    made = templates(found)
    assert len(packed) == 12
    assert len({group["name"] for group in groups.values()}) == len(groups)
    for name in made:
        strategies = (groups[f"{name}-placement"]["strategy"], groups[f"{name}-placement-spread"]["strategy"])
        assert strategies == ("cluster", "spread")
        expected = {"groupName": groups[f"{name}-placement"]["name"]} if name in packed else None
        assert made[name].get("placement") == expected


# Disks, metadata, processors


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_disks_are_encrypted_and_go_with_the_node(blueprint: str) -> None:
    for made in templates(programs.library(blueprint)).values():
        (disk,) = made["blockDeviceMappings"]
        assert (disk["ebs"]["encrypted"], disk["ebs"]["deleteOnTermination"]) == ("true", "true")


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_metadata_wants_a_token_and_one_hop(blueprint: str) -> None:
    found = programs.library(blueprint)
    hosts = [one for one in programs.of(found, "Instance") if one.type.startswith("aws:ec2")]
    for one in (*programs.of(found, "LaunchTemplate"), *hosts):
        assert one.inputs["metadataOptions"] == {
            "httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1, "instanceMetadataTags": "enabled",
        }, one.name  # fmt: skip


def test_processors_are_said_where_they_are_not_the_usual_ones() -> None:
    machine = programs.resolved("llm-pretraining").node_sets[0].hosts.machine
    assert template.processors(machine) is None
    single = template.processors(dataclasses.replace(machine, threads_per_core=1))
    assert single is not None
    assert (single.core_count, single.threads_per_core) == (96, 1)


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_instances_volumes_and_interfaces_say_whose_they_are(blueprint: str) -> None:
    for name, made in templates(programs.library(blueprint)).items():
        assert [one["resourceType"] for one in made["tagSpecifications"]] == ["instance", "volume", "network-interface"]
        for specified in made["tagSpecifications"]:
            tags = specified["tags"]
            assert (tags["clusterwright:cluster"], tags["clusterwright:part"], tags["clusterwright:node-set"]) == (blueprint, "compute", name)


# User data


def test_a_node_is_told_its_role_its_mounts_and_its_scratch_and_no_secret() -> None:
    found = programs.library("llm-pretraining")
    (made,) = programs.of(found, "LaunchTemplate")
    told = programs.user_data(made)
    files = {file["path"]: file["content"] for file in told["write_files"]}
    assert "CLUSTERWRIGHT_ROLE=compute\n" in files["/etc/clusterwright/node.env"]
    assert "CLUSTERWRIGHT_CONTROLLERS=address of control-0-interface\n" in files["/etc/clusterwright/node.env"]
    assert [(row[0], row[1], row[2]) for row in told["mounts"]] == [
        ("cluster-file-system.efs:/", "/var/lib/clusterwright/cluster", "nfs4"),
        ("home-file-system.efs:/", "/home", "nfs4"),
        ("data-file-system.fsx@tcp:/abcdefgh", "/data", "lustre"),
    ]
    assert json.loads(files["/etc/clusterwright/expected.json"]) == {
        "check": "full",
        "gpus": {"count": 8, "simulated": False},
        "efa": 32,
        "mounts": ["/var/lib/clusterwright/cluster", "/home", "/data", "/scratch"],
    }
    assert programs.order(made)["scratch"] == "/scratch"
    assert programs.order(made)["secret"] == "arn:aws:service:us-east-1:123456789012:Secret/compute-keys"
    assert "userData" not in made.secret_inputs


def told(rows: int, letters: int) -> str:
    """Write the user data of a host with so many mounts, whose names are random and have so many letters each."""
    words = random.Random(0)
    names = ["".join(words.choices(string.ascii_letters + string.digits, k=letters)) for _ in range(2 * rows)]
    mounts = tuple(FstabEntry(f"{one}:/", f"/{other}", "nfs4", NFS_OPTIONS) for one, other in zip(names[:rows], names[rows:], strict=True))
    expected = json.dumps({"mounts": [mount.target for mount in mounts]})
    config = HostConfig("compute", "a", group="train", controllers=("10.0.0.1",), admin_key="key", mounts=mounts, expected=expected)
    return user_data.user_data(config, region="us-east-1", secret_arn="arn")


def test_a_first_boot_leaves_the_sources_of_packages_and_installs_nothing() -> None:
    config = yaml.safe_load(told(0, 0))
    assert config["apt"] == {"preserve_sources_list": True}
    assert config["locale"] is False
    assert not {"packages", "package_update", "package_upgrade"} & config.keys()


def test_user_data_is_compressed_only_where_it_has_to_be() -> None:
    short, long = told(10, 20), told(100, 20)
    assert user_data.packed(short) == short.encode()
    assert len(long.encode()) > user_data.LIMIT_BYTES
    assert gzip.decompress(user_data.packed(long)).decode() == long
    assert user_data.packed(long) == user_data.packed(long), "the same text is the same user data, or hosts would be made anew"


def test_whatever_a_blueprint_may_mount_fits_into_user_data() -> None:
    most = catalog.target("aws").limits["mounts_letters_max"]
    for rows in (30, 60, 100):
        letters = (most // rows - 24) // 2
        assert len(user_data.packed(told(rows, letters))) <= user_data.LIMIT_BYTES
    with pytest.raises(ValueError, match="16384"):
        user_data.packed(told(100, 255))


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_user_data_leaves_room(blueprint: str) -> None:
    """It grows with file systems; half of what EC2 takes is left for them."""
    for one in programs.of(programs.library(blueprint), "LaunchTemplate"):
        assert len(one.inputs["userData"]) * 3 // 4 < user_data.LIMIT_BYTES * 0.65


# The fleet table


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_the_fleet_table_is_what_the_program_on_the_controller_reads(blueprint: str) -> None:
    found, resolved = programs.library(blueprint), programs.resolved(blueprint)
    record = found.named("finish-control").inputs["provided"]["fleet"]
    table = fleet_table.read(record)
    assert (table.target, table.cluster, table.stack, table.cloud["region"]) == ("aws", blueprint, "test", resolved.network.region)
    for node_set, row in zip(resolved.node_sets, table.node_sets, strict=True):
        assert (row.name, row.prefix, row.count, row.minimum) == (node_set.hosts.name, node_set.hosts.prefix, node_set.hosts.count, node_set.always)
        assert (row.start["launch_template"], row.template) == (f"LaunchTemplate/{row.name}-template", "3")
        assert (row.machine, row.capacity_kind) == (node_set.hosts.machine.name, node_set.capacity.kind)
        assert row.start["subnets"] == ["Subnet/cluster-subnet"]
        assert (row.start["placement_group"] is not None) == (node_set.placement == "packed")
    assert "provided" not in found.named("finish-control").secret_inputs


def test_machines_of_one_pool_share_the_pools_most() -> None:
    table = programs.library("spot-sweep").named("finish-control").inputs["provided"]["fleet"]
    assert [(row["name"], row["pool"], row["count"], row["pool_most"]) for row in table["node_sets"]] == [
        (f"sweep-{letter}", "sweep", 32, 32) for letter in "abcd"
    ]
