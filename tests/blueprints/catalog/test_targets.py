"""Targets against what the clouds' own interfaces say."""

import dataclasses
import fnmatch
import re
from typing import Any

import pytest

from blueprints import addresses, catalog
from tests.blueprints.catalog import clouds, records

CLOUDS = ("aws", "gcp")
CAPACITY = {
    # The project's word → the clouds' words for it.
    "aws": {"on-demand": "on-demand", "spot": "spot", "block": "capacity-block", "reserved": "on-demand"},
    "gcp": {"on-demand": "STANDARD", "spot": "SPOT", "reserved": "RESERVATION_BOUND", "block": "RESERVATION_BOUND", "flex": "FLEX_START"},
}

STANDS_IN = {"local-folder": ("folder",), "controller-export": ("nfs",)}
"""Classes that are taken for kinds they are not: all that the target has."""


def test_there_are_four_targets() -> None:
    assert catalog.target_names() == ("aws", "gcp", "metal", "local")
    with pytest.raises(KeyError):
        catalog.target("azure")


@pytest.mark.parametrize("name", catalog.target_names())
def test_every_target_is_complete(name: str) -> None:
    target = catalog.target(name)
    assert target.title
    assert catalog.source(target.source).where
    assert catalog.source(target.control_source).where
    assert target.as_of.startswith("20")
    assert not target.regions or target.default_region in target.regions
    assert set(target.default_software) == set(target.architectures)
    for arch, profile in target.default_software.items():
        assert name in catalog.profile(profile).targets
        assert catalog.profile(profile).arch in (arch, "any")
    assert set(target.storage) <= {"lustre", "nfs", "block", "object"}
    for kind, storage_class in target.storage.items():
        assert catalog.storage_class(name, storage_class).kind in STANDS_IN.get(storage_class, (kind,))
    assert target.subnet_prefix_widest < target.subnet_prefix_narrowest
    assert (1 << (32 - target.subnet_prefix_narrowest)) > target.addresses_reserved_per_subnet


def test_what_is_built() -> None:
    built = {name: catalog.target(name) for name in catalog.target_names() if catalog.target(name).is_built}
    assert {name: target.built_schedulers for name, target in built.items()} == {
        "aws": ("slurm",),
        "gcp": ("slurm",),
        "metal": ("slurm", "kubernetes"),
        "local": ("slurm", "kubernetes"),
    }
    for name, target in built.items():
        assert target.built.keys() <= {one.name for ways in target.offerings.values() for one in ways}
        for heeded in target.built.values():
            assert heeded.software
            assert set(heeded.software) <= set(catalog.software_names(name))


def test_a_cluster_of_two_offerings_gets_what_both_install_and_what_one_of_them_heeds() -> None:
    hosts = catalog.Built(("debian-12", "debian-13"), ("name", "qos"), {"pools.health.check": ("none", "basic")}, ("tags", "access.machine"))
    service = catalog.Built(("debian-13",), ("name", "pools.labels"), {"pools.health.check": ("full",)}, ("tags",))
    target = dataclasses.replace(catalog.target("local"), built={"slurm_hosts": hosts, "kubernetes_hosts": service})
    assert target.built_for(("slurm_hosts",)) == hosts
    both = target.built_for(("slurm_hosts", "kubernetes_hosts"))
    assert both == catalog.Built(("debian-13",), ("name", "qos", "pools.labels"), {"pools.health.check": ("none", "basic", "full")}, ("tags",))
    with pytest.raises(KeyError):
        target.built_for(("pcs",))


@pytest.mark.parametrize("name", CLOUDS)
def test_machines_of_the_scheduler_exist_and_grow(name: str) -> None:
    target = catalog.target(name)
    for architecture in target.architectures:
        machines = [catalog.machine(name, size.machines[architecture]) for size in target.control_sizes]
        assert [machine.vcpus for machine in machines] == sorted({machine.vcpus for machine in machines})
        assert [machine.memory_gib for machine in machines] == sorted(machine.memory_gib for machine in machines)
        assert {(machine.gpus, machine.arch) for machine in machines} == {(0, architecture)}
    limits = [size.nodes_max for size in target.control_sizes]
    assert limits == [32, 512, 2048, None]
    for architecture, machine_name in target.login_machines.items():
        machine = catalog.machine(name, machine_name)
        assert (machine.gpus, machine.arch) == (0, architecture)
        assert not machine.regions or target.default_region in machine.regions
    assert set(target.login_machines) == set(target.cpu_machines) == set(target.architectures)
    for architecture, patterns in target.cpu_machines.items():
        family = [machine for machine in catalog.machines(name).values() if any(fnmatch.fnmatchcase(machine.name, pattern) for pattern in patterns)]
        assert len(family) >= 5
        assert {(machine.gpus, machine.arch) for machine in family} == {(0, architecture)}


@pytest.mark.parametrize(
    ("name", "nodes", "machine", "arm64"),
    [
        ("aws", 1, "m7i.xlarge", "m7g.xlarge"),
        ("aws", 32, "m7i.xlarge", "m7g.xlarge"),
        ("aws", 33, "m7i.2xlarge", "m7g.2xlarge"),
        ("aws", 2048, "m7i.4xlarge", "m7g.4xlarge"),
        ("aws", 7500, "m7i.8xlarge", "m7g.8xlarge"),
        ("gcp", 8, "c2-standard-4", "c4a-standard-4"),
        ("gcp", 512, "c2-standard-8", "c4a-highcpu-16"),
        ("gcp", 513, "n2-standard-32", "c4a-standard-32"),
        ("gcp", 2049, "n2-standard-80", "c4a-standard-72"),
    ],
)
def test_the_machine_of_the_scheduler_grows_with_the_cluster(name: str, nodes: int, machine: str, arm64: str) -> None:
    size = catalog.target(name).control_size(nodes)
    assert size is not None
    assert size.machines == {"x86_64": machine, "arm64": arm64}


def test_the_site_chooses_its_own_hosts() -> None:
    assert catalog.target("metal").control_size(10) is None
    assert catalog.target("local").control_size(10) is None


def test_regions_are_those_where_machines_are() -> None:
    assert set(catalog.target("aws").regions) <= records.aws_region_names()
    offered = {region for machine in catalog.machines("aws").values() for region in machine.regions}
    assert set(catalog.target("aws").regions) <= offered
    assert set(catalog.target("gcp").regions) <= {region for machine in catalog.machines("gcp").values() for region in machine.regions}


@pytest.mark.parametrize(
    ("name", "zone", "region"),
    [
        ("aws", "us-east-2a", "us-east-2"),
        ("aws", "ap-northeast-1d", "ap-northeast-1"),
        ("aws", "us-east-1-dfw-2a", "us-east-1"),
        ("aws", "us-east-2", None),
        ("aws", "us-central1-a", None),
        ("gcp", "us-central1-a", "us-central1"),
        ("gcp", "europe-west4-b", "europe-west4"),
        ("gcp", "us-central1", None),
        ("gcp", "us-east-2a", None),
        ("metal", "us-east-2a", None),
    ],
)
def test_zones_tell_their_region(name: str, zone: str, region: str | None) -> None:
    target = catalog.target(name)
    assert target.region_of(zone) == region


@pytest.mark.parametrize("name", CLOUDS)
def test_kinds_of_purchase_are_those_of_the_interface(name: str) -> None:
    words = {
        "aws": set(clouds.aws("ec2")["shapes"]["MarketType"]["enum"]),
        "gcp": set(clouds.google("compute.v1")["Scheduling"]["properties"]["provisioningModel"]["enum"]),
    }
    target = catalog.target(name)
    assert set(target.capacity) == set(CAPACITY[name])
    assert set(CAPACITY[name].values()) <= words[name]
    sold = {kind for machine in catalog.machines(name).values() for kind in machine.capacity}
    assert sold == set(target.capacity)


def test_subnets_of_aws_are_those_of_its_model() -> None:
    text = clouds.aws_operation("ec2", "CreateSubnet")
    sizes = re.search(r"between a /([0-9]+) netmask .* and a /([0-9]+) netmask", text)
    assert sizes is not None
    target = catalog.target("aws")
    assert (target.subnet_prefix_narrowest, target.subnet_prefix_widest) == (int(sizes[1]), int(sizes[2]))
    assert "reserves both the first four and the last IPv4 address" in text
    assert target.addresses_reserved_per_subnet == 5


def test_subnets_elsewhere() -> None:
    found = {name: catalog.target(name) for name in ("gcp", "metal", "local")}
    prefixes = {name: (target.subnet_prefix_widest, target.subnet_prefix_narrowest, target.addresses_reserved_per_subnet) for name, target in found.items()}
    assert prefixes == {"gcp": (8, 29, 4), "metal": (8, 30, 2), "local": (addresses.SHORTEST_PREFIX, addresses.LONGEST_PREFIX, 2)}


def test_names_of_aws_are_as_long_as_its_models_allow() -> None:
    limits = catalog.target("aws").name_limits
    by_model = {
        "iam_role": clouds.aws("iam")["shapes"]["roleNameType"]["max"],
        "load_balancer": number(r"maximum of ([0-9]+) characters", clouds.aws_text("elbv2", "CreateLoadBalancerInput", "Name")),
        "placement_group": number(r"Up to ([0-9]+) ASCII characters", clouds.aws_text("ec2", "CreatePlacementGroupRequest", "GroupName")),
        "database": number(r"from 1 to ([0-9]+) letters, numbers, or hyphens", clouds.aws_text("rds", "CreateDBInstanceMessage", "DBInstanceIdentifier")),
    }
    assert limits == by_model


def test_names_of_google_are_as_long_as_its_interfaces_allow() -> None:
    limits = catalog.target("gcp").name_limits
    pattern = clouds.google("compute.v1")["Instance"]["properties"]["name"]["pattern"]
    assert re.fullmatch(pattern, "a" * limits["resource"])
    assert not re.fullmatch(pattern, "a" * (limits["resource"] + 1))
    file_system = clouds.google("hypercomputecluster.v1")["NewLustreConfig"]["properties"]["filesystem"]["description"]
    assert limits["lustre_file_system"] == number(r"Must be ([0-9]+) characters or less", file_system)


def test_the_managed_slurm_controller_of_aws_comes_in_the_sizes_of_its_model() -> None:
    sizes = catalog.offering("pcs").nodes_max
    text = clouds.aws_text("pcs", "CreateClusterRequest", "size")
    assert dict(sizes) == {size: number(rf"{size} ?: ([0-9]+) compute nodes", text) for size in clouds.aws("pcs")["shapes"]["Size"]["enum"]}


def test_google_names_its_managed_slurm() -> None:
    assert [one.title for one in catalog.target("gcp").offerings["slurm"] if one.is_managed] == ["Cluster Director"]
    assert "Orchestrator" in clouds.google("hypercomputecluster.v1")


def test_what_each_target_is_made_of() -> None:
    known = {name: catalog.target(name) for name in catalog.target_names()}
    offered = {name: {scheduler: [one.name for one in ways] for scheduler, ways in target.offerings.items()} for name, target in known.items()}
    made = {name: (offered[name], target.storage) for name, target in known.items()}
    folder = dict.fromkeys(("lustre", "nfs", "block", "object"), "local-folder")
    assert made == {
        "aws": (
            {"slurm": ["slurm_hosts", "pcs", "hyperpod"], "kubernetes": ["eks"]},
            {"lustre": "fsx-lustre-persistent-2", "nfs": "efs", "block": "ebs-gp3", "object": "s3"},
        ),
        "gcp": (
            {"slurm": ["slurm_hosts", "cluster_director"], "kubernetes": ["gke"], "training": ["vertex"]},
            {"lustre": "managed-lustre", "nfs": "filestore-zonal", "block": "hyperdisk-balanced", "object": "gcs"},
        ),
        "metal": ({"slurm": ["slurm_hosts"], "kubernetes": ["kubernetes_hosts"]}, {"nfs": "controller-export", "block": "controller-export"}),
        "local": ({"slurm": ["slurm_hosts"], "kubernetes": ["kubernetes_hosts"]}, folder),
    }


def test_networks_are_divided_as_each_cloud_wants() -> None:
    # Load balancers want 8 free addresses of each public subnet, and translation takes one; databases, EKS and a second controller want a second zone.
    assert catalog.target("aws").networks == catalog.Networks(
        default_prefix=16,
        for_each_interface=False,
        public_subnets=2,
        public_addresses=8 + 1,
        endpoints=2,
        zones={"control": 2, "database": 2, "kubernetes": 2},
        source="aws-networks",
        as_of="2026",
    )
    # A network of Google Cloud holds one interface of a host, and its subnets are in all zones of a region; RDMA interfaces share one, of a kind that only some zones have.
    shared: dict[str, Any] = {
        "one_network_for": ("mrdma",), "profile": "vpc-roce", "range_beside_subnets": True, "shared_network": "projects/{project}/global/networks/{name}",
        "shared_subnet": "projects/{project}/regions/{region}/subnetworks/{name}", "shared_role": "roles/compute.networkUser",
    }  # fmt: skip
    assert catalog.target("gcp").networks == catalog.Networks(16, True, 0, 0, 0, {}, source="cluster-toolkit", as_of="2026-06", **shared)
    assert catalog.target("metal").networks is catalog.target("local").networks is None


def test_hosts_of_this_machine_take_three_times_what_was_measured() -> None:
    measured_mib = {"control": 104, "access": 12, "compute": 15, "kubernetes": 690, "kubernetes_node": 160}
    assert catalog.target("local").host_memory_mib == {role: 3 * size for role, size in measured_mib.items()}
    assert all(not catalog.target(name).host_memory_mib for name in ("aws", "gcp", "metal"))


def test_limits_of_google_cloud() -> None:
    assert catalog.target("gcp").limits == {"flex_seconds_min": 600, "flex_seconds_max": 7 * 24 * 3600}
    compact = {machine.compact_nodes for machine in catalog.machines("gcp").values()} - {None}
    assert all(nodes <= 1500 for nodes in compact if nodes is not None), "the most of any compact placement"


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, text
    return int(found[1].replace(",", ""))
