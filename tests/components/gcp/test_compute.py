"""Compute nodes on Google Cloud: templates, placement, purchase, order of deletion, growth and the fleet table."""

import dataclasses
from collections import Counter
from typing import Any

import pulumi
import pytest
import yaml

from blueprints import catalog, project
from components import host_folders
from components.elastic import table as fleet_table
from components.gcp import image, template
from components.gcp.machine_image import MachineImage
from tests.components.gcp import programs
from tests.components.registered import Program

ZONE = "us-central1-c"


def h100() -> Program:
    return programs.program("starter", pools__train={"accelerator": "h100", "gpus_per_node": 8, "nodes": 2, "fabric": "required"})


def h200(**overrides: Any) -> Program:
    return programs.program(
        "starter", pools__train={"accelerator": "h200", "gpus_per_node": 8, "nodes": 2, "fabric": "required"}, network__zones=[ZONE], **overrides
    )


def the_template(found: Program) -> dict[str, Any]:
    (only,) = programs.of(found, "InstanceTemplate")
    return dict(only.inputs)


def test_an_a3_mega_node_has_nine_interfaces_each_in_a_network_of_its_own() -> None:
    found = h100()
    interfaces = the_template(found)["networkInterfaces"]
    assert [one["nicType"] for one in interfaces] == ["GVNIC"] * 9
    assert [one["subnetwork"] for one in interfaces] == ["https://link/cluster-subnet", *(f"https://link/gvnic-{number}-subnet" for number in range(1, 9))]
    networks = {one.name: one.inputs["mtu"] for one in programs.of(found, "Network")}
    assert networks == {"network": 8244, **{f"gvnic-{number}-network": 8896 for number in range(1, 9)}}
    guarded = {one.inputs["network"] for one in programs.of(found, "Firewall") if one.name.startswith("gvnic")}
    assert guarded == {f"https://link/gvnic-{number}-network" for number in range(1, 9)}


def test_an_a3_ultra_node_has_its_rdma_interfaces_in_one_network_of_its_zone() -> None:
    found = h200()
    interfaces = the_template(found)["networkInterfaces"]
    assert [one["nicType"] for one in interfaces] == ["GVNIC", "GVNIC", *["MRDMA"] * 8]
    assert [one["subnetwork"] for one in interfaces[2:]] == [f"https://link/mrdma-{number}-subnet" for number in range(1, 9)]
    (rdma,) = [one.inputs for one in programs.of(found, "Network") if one.name == "rdma-network"]
    assert rdma["networkProfile"] == f"https://www.googleapis.com/compute/v1/projects/our-project/global/networkProfiles/{ZONE}-vpc-roce"
    assert {one.inputs["network"] for one in programs.of(found, "Subnetwork") if one.name.startswith("mrdma")} == {"https://link/rdma-network"}
    assert [one.name for one in programs.of(found, "Firewall") if one.inputs["network"] == "https://link/rdma-network"] == [], "it takes no rules"


def test_an_a3_edge_node_is_one_of_eight_gpus_without_a_fabric() -> None:
    edge = {"machine": "a3-edgegpu-8g", "accelerator": "h100", "gpus_per_node": 8, "nodes": 2, "fabric": "none"}
    found = programs.program("starter", pools__train=edge)
    made = the_template(found)
    assert (made["machineType"], [nic["nicType"] for nic in made["networkInterfaces"]]) == ("a3-edgegpu-8g", ["GVNIC"])
    assert len(programs.of(found, "Network")) == 1


def test_the_image_of_nodes_with_gpus_is_built_on_the_one_that_brings_their_driver() -> None:
    bases = {one.name: one.inputs["base"] for one in h200().resources if one.type == MachineImage.token}
    assert bases == {"image-x86_64": "projects/ubuntu-os-accelerator-images/global/images/ubuntu-accelerator-2404-amd64-with-nvidia-580-v20260522"}
    assert image.base_image(catalog.software("debian-13-gcp"), "arm64").image.endswith("/family/debian-13-arm64")
    with pytest.raises(pulumi.RunError, match="no Google Cloud image of ubuntu-22"):
        image.base_image(dataclasses.replace(catalog.software("debian-13-gcp"), os="ubuntu-22.04"), "x86_64")


def test_machines_boot_from_the_disks_that_they_take() -> None:
    assert the_template(h200())["disks"][0]["diskType"] == "hyperdisk-balanced"
    assert the_template(programs.library("starter"))["disks"][0]["diskType"] == "pd-balanced"


@pytest.mark.parametrize(
    ("capacity", "model", "affinity", "placed"),
    [
        ({"kind": "on-demand"}, "STANDARD", {"type": "NO_RESERVATION"}, True),
        ({"kind": "spot"}, "SPOT", {"type": "NO_RESERVATION"}, True),
        (
            {"kind": "reserved", "id": f"projects/ours/zones/{ZONE}/reservations/h200"},
            "RESERVATION_BOUND",
            {
                "type": "SPECIFIC_RESERVATION",
                "specificReservation": {"key": "compute.googleapis.com/reservation-name", "values": ["projects/ours/reservations/h200"]},
            },
            False,
        ),
        (
            {"kind": "block", "id": f"projects/ours/zones/{ZONE}/reservations/h200"},
            "RESERVATION_BOUND",
            {
                "type": "SPECIFIC_RESERVATION",
                "specificReservation": {"key": "compute.googleapis.com/reservation-name", "values": ["projects/ours/reservations/h200"]},
            },
            False,
        ),
    ],
)
def test_nodes_are_bought_as_the_pool_says_and_a_reservation_brings_its_own_placement(
    capacity: dict[str, str], model: str, affinity: dict[str, Any] | None, placed: bool
) -> None:
    found = h200(pools__train__capacity=capacity)
    made = the_template(found)
    assert (made["scheduling"]["provisioningModel"], made.get("reservationAffinity")) == (model, affinity)
    assert (made["scheduling"]["automaticRestart"], made["scheduling"]["onHostMaintenance"]) == (False, "TERMINATE")
    assert bool(programs.of(found, "ResourcePolicy")) is placed is ("resourcePolicies" in made)


def gb200(nodes: int) -> Program:
    held = {"kind": "reserved", "id": "projects/ours/zones/us-central1-a/reservations/gb200"}
    train = {"accelerator": "gb200", "gpus_per_node": 4, "nodes": nodes, "fabric": "required", "capacity": held}
    return programs.program("starter", pools__train=train, network__zones=["us-central1-a"])


@pytest.mark.parametrize(("nodes", "domains"), [(1, 0), (2, 1), (18, 1), (20, 2)])
def test_nodes_start_in_nvlink_domains_each_with_a_policy_of_its_own(nodes: int, domains: int) -> None:
    found = gb200(nodes)
    policies = {one.name: one.inputs["groupPlacementPolicy"] for one in programs.of(found, "ResourcePolicy")}
    assert policies == {f"train-domain-{number}": {"collocation": "COLLOCATED", "gpuTopology": "1x72"} for number in range(1, domains + 1)}
    assert "resourcePolicies" not in the_template(found), "each launch names the policies of its nodes"
    (row,) = fleet_table.read(found.outputs["fleet"]).node_sets
    assert row.start.get("domains", []) == [f"https://link/{name}" for name in policies]
    assert row.start.get("domain_nodes") == (18 if domains else None)
    assert found.all_needs("train-nodes") >= policies.keys(), "instances end before their policies"


@pytest.mark.parametrize(("reservation", "model"), [("h100", "STANDARD"), ("h100/reservationBlocks/one", "RESERVATION_BOUND")])
def test_nodes_of_a_reservation_are_bound_to_it_where_it_has_blocks(reservation: str, model: str) -> None:
    """Densely deployed reservations have blocks, and take no other nodes; those of A3 Mega need not be such."""
    held = {"kind": "reserved", "id": f"projects/ours/zones/{ZONE}/reservations/{reservation}"}
    train = {"accelerator": "h100", "gpus_per_node": 8, "nodes": 2, "fabric": "required", "capacity": held}
    found = programs.program("starter", pools__train=train, network__zones=[ZONE])
    assert the_template(found)["scheduling"]["provisioningModel"] == model
    (row,) = fleet_table.read(found.outputs["fleet"]).node_sets
    assert row.start["provisioning_model"] == model


def test_a_flex_node_runs_for_the_time_that_it_was_asked_for() -> None:
    made = the_template(
        h200(pools__train__capacity={"kind": "flex", "max_run": "1-00:00:00"}, pools__train__nodes={"min": 0, "max": 2}, pools__train__placement="none")
    )
    assert (made["scheduling"]["provisioningModel"], made["scheduling"]["maxRunDuration"]) == ("FLEX_START", {"seconds": 86400})


def test_flex_nodes_are_requested_of_a_group_without_instances_that_keeps_them_near_each_other() -> None:
    flex = {"kind": "flex", "max_run": "1-00:00:00"}
    found = h200(pools__train__capacity=flex, pools__train__nodes={"min": 0, "max": 2}, pools__train__placement="packed")
    (group,) = programs.of(found, "RegionInstanceGroupManager")
    assert (group.inputs["targetSize"], group.inputs["distributionPolicyTargetShape"], group.inputs["distributionPolicyZones"]) == (
        0,
        "ANY_SINGLE_ZONE",
        [ZONE],
    )
    assert group.inputs["updatePolicy"]["instanceRedistributionType"] == "NONE"
    assert group.inputs["instanceLifecyclePolicy"] == {"defaultActionOnFailure": "DO_NOTHING"}
    assert group.inputs["versions"] == [{"instanceTemplate": "https://link/train-template"}]
    assert group.inputs["resourcePolicies"] == {"workloadPolicy": "https://link/train-workload"}
    (policy,) = programs.of(found, "ResourcePolicy")
    assert policy.inputs["workloadPolicy"] == {"type": "HIGH_THROUGHPUT"}
    assert "resourcePolicies" not in the_template(found), "the group's policy says it"
    (row,) = fleet_table.read(found.outputs["fleet"]).node_sets
    assert (row.start["group"], row.start["run_s"]) == ("regions/us-central1/instanceGroupManagers/starter-test-nodes-train", 86400)
    assert "train-group" in found.all_needs("train-nodes"), "it ends the nodes before the group goes"
    rights = {one.name: set(one.inputs["permissions"]) for one in programs.of(found, "IAMCustomRole")}
    assert "compute.instanceGroupManagers.update" in rights["control-starts"]
    assert "compute.instances.delete" in rights["control-changes"] - rights["control-starts"], "only of instances with the stack's name"
    (usual,) = [one.inputs["permissions"] for one in programs.of(programs.library("starter"), "IAMCustomRole") if one.name == "control-starts"]
    assert [one for one in usual if "Manager" in one or one.endswith(".delete")] == []


def test_a_reservation_is_named_without_its_zone() -> None:
    assert template.reservation_name("projects/p/zones/z/reservations/r/reservationBlocks/b") == "projects/p/reservations/r/reservationBlocks/b"
    assert template.reservation_name("https://www.googleapis.com/compute/v1/projects/p/zones/z/reservations/r") == "projects/p/reservations/r"


def test_what_starts_nodes_is_deleted_before_what_ends_them_and_that_before_what_they_use() -> None:
    found = h100()
    assert "train-nodes" in found.all_needs("control-0")
    assert {"train-template", "train-placement", "cluster-subnet", "gvnic-8-subnet", "compute-account"} <= found.all_needs("train-nodes")


@pytest.mark.slow
def test_more_nodes_are_no_more_resources() -> None:
    small, large = (
        programs.program("starter", network__cidr="10.64.0.0/16", network__zones=[ZONE], pools__train__nodes={"min": 0, "max": nodes}) for nodes in (75, 7500)
    )
    assert Counter(one.type for one in small.resources) == Counter(one.type for one in large.resources)


def test_the_fleet_table_is_what_the_program_on_the_controller_reads() -> None:
    found = programs.library("starter")
    table = fleet_table.read(found.outputs["fleet"])
    assert (table.target, table.cluster, table.stack) == ("gcp", "starter", "test")
    assert {key: table.cloud[key] for key in ("project", "region", "zone", "prefix", "owner")} == {
        "project": "our-project",
        "region": "us-central1",
        "zone": programs.OFFERING[0],
        "prefix": "starter-test-",
        "owner": "owner of clusterwright:gcp:Site",
    }
    (row,) = table.node_sets
    assert row.template == the_template(found)["name"]
    assert row.start["instance_template"] == "https://link/train-template"
    assert row.start["labels"] == the_template(found)["labels"]
    assert found.secret_outputs == frozenset()


def test_slurm_is_told_where_nodes_run_whose_gpus_have_networks_of_their_own() -> None:
    assert fleet_table.read(h200().outputs["fleet"]).topology == host_folders.SWITCHES
    assert fleet_table.read(programs.library("starter").outputs["fleet"]).topology == "", "Compute Engine does not say it of them"
    defaults = yaml.safe_load((project.project_root() / "playbooks" / "roles" / "slurm_config" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert f"{defaults['slurm_config_state']}/clusterwright/topology.conf" == host_folders.SWITCHES


def test_a_changed_template_is_another_one_beside_the_old_one() -> None:
    (made,) = programs.of(programs.library("starter"), "InstanceTemplate")
    changes: dict[str, dict[str, Any]] = {
        "nothing": {},
        "count": {"pools__train__nodes": {"min": 0, "max": 18}},
        "image": {"pools__train__image": "projects/ours/global/images/ours"},
        "capacity": {"pools__train__capacity": {"kind": "spot"}},
    }
    names = {change: the_template(programs.program("starter", **overrides))["name"] for change, overrides in changes.items()}
    assert names["nothing"] == names["count"] == made.inputs["name"]
    assert len({names["nothing"], names["image"], names["capacity"]}) == 3
    assert not made.replace_first
