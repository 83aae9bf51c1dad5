"""The cluster's own hosts and services."""

from typing import Any

import pytest

from blueprints import catalog, language, spec
from blueprints.codes import Code
from blueprints.language import outline
from blueprints.plan import estimate, quotas
from tests.blueprints import hand_made
from tests.blueprints.resolve import asked

ERROR, NOTE = "error", "note"


@pytest.mark.parametrize(
    ("target", "more", "controllers", "kubernetes"),
    [
        ("aws", {}, 1, None),
        ("aws", {"control": {"highly_available": True}}, 2, None),
        ("aws", {"control": {"managed": True}}, 0, None),
        ("aws", {"scheduler": "kubernetes"}, 0, ("EKS", 0)),
        ("gcp", {"scheduler": "kubernetes", "control": {"highly_available": True}}, 0, ("GKE", 0)),
        ("aws", {"scheduler": "both"}, 1, ("EKS", 0)),
        ("metal", {"scheduler": "kubernetes"}, 0, ("hosts", 1)),
        ("metal", {"scheduler": "both", "control": {"highly_available": True}}, 2, ("hosts", 3)),
        ("local", {"control": {"highly_available": True}}, 2, None),
        ("local", {"control": {"managed": True}}, 1, None),
        ("local", {"scheduler": "both"}, 1, ("hosts", 1)),
    ],
)
def test_who_runs_the_scheduler(target: str, more: dict[str, Any], controllers: int, kubernetes: tuple[str, int] | None) -> None:
    cluster = asked.cluster(target=target, **more)
    assert cluster.controllers == controllers
    found = cluster.kubernetes
    assert (found and (found.product, found.control.count if found.control else 0)) == kubernetes
    if kubernetes and target != "local":
        assert found
        assert found.version


@pytest.mark.parametrize(
    ("target", "nodes", "control", "machine"),
    [
        ("aws", 32, {}, "m7i.xlarge"),
        ("aws", 33, {}, "m7i.2xlarge"),
        ("aws", 7500, {}, "m7i.8xlarge"),
        ("aws", 7500, {"size": "small"}, "m7i.xlarge"),
        ("aws", 2, {"size": "large"}, "m7i.4xlarge"),
        ("aws", 2, {"machine": "c7i.8xlarge"}, "c7i.8xlarge"),
        ("gcp", 32, {}, "c2-standard-4"),
        ("metal", 32, {}, "site-host"),
        ("metal", 32, {"size": "large"}, "site-host"),
        ("local", 32, {"size": "large"}, "local"),
    ],
)
def test_the_controllers_machine(target: str, nodes: int, control: dict[str, Any], machine: str) -> None:
    large = asked.FACTS.__class__(1, 4, 2, memory_mib=1024 * 1024)
    attempted = asked.attempt({"cpu": {"nodes": nodes}}, target=target, control=control, facts=large)
    assert hand_made.controllers(attempted.spec).machine.name == machine
    assert asked.found(attempted) == set()


@pytest.mark.parametrize(("target", "machine"), [("aws", "m7i.xlarge"), ("gcp", "c2-standard-4"), ("metal", "site-host")])
def test_the_controllers_machine_goes_by_the_nodes_of_slurm(target: str, machine: str) -> None:
    pools = {"batch": {"nodes": 1}, "services": {"nodes": 3000, "scheduler": "kubernetes"}}
    attempted = asked.attempt(pools, target=target, scheduler="both")
    assert hand_made.controllers(attempted.spec).machine.name == machine
    assert attempted.spec.controllers == 1


@pytest.mark.parametrize(
    ("target", "pool", "more", "control", "access"),
    [
        ("aws", {"accelerator": "gb200", "gpus_per_node": 4, "nodes": 36, "capacity": "block"}, {}, "m7g.2xlarge", "m7g.large"),
        ("gcp", {"machine": "a4x-highgpu-4g", "nodes": 36, "capacity": "reserved"}, {}, "c4a-highcpu-16", "c4a-standard-4"),
        ("gcp", {"machines": ["a4x-highgpu-4g"], "nodes": 18, "capacity": "reserved"}, {"control": {"size": "large"}}, "c4a-standard-32", "c4a-standard-4"),
        ("metal", {"accelerator": "gb200", "gpus_per_node": 4, "nodes": 18}, {}, "site-host", "site-host"),
        # The software profile tells, where no machine does.
        ("aws", {"nodes": 1, "cpus_per_node": 4}, {"software": "ubuntu-24.04-aws-arm64"}, "m7g.xlarge", "m7g.large"),
        ("metal", {"nodes": 1}, {"software": "ubuntu-24.04-metal-arm64"}, "site-host", "site-host"),
        # What is named stays.
        (
            *("aws", {"machine": "p6e-gb200.36xlarge", "nodes": 18, "capacity": "block"}),
            *({"control": {"machine": "m7g.4xlarge"}, "access": {"machine": "m7g.2xlarge"}}, "m7g.4xlarge", "m7g.2xlarge"),
        ),
    ],
)
def test_own_hosts_have_the_processors_of_the_cluster(target: str, pool: dict[str, Any], more: dict[str, Any], control: str, access: str) -> None:
    attempted = asked.attempt({"train": pool}, target=target, **more)
    cluster = attempted.spec
    assert (hand_made.controllers(cluster).machine.name, cluster.access.machine.name) == (control, access)
    assert {group.machine.arch for group in cluster.host_groups} == {cluster.software.arch} == {"arm64"}
    assert not [code for level, code in asked.found(attempted) if level == ERROR]


def test_pools_without_gpus_have_the_processors_of_those_with() -> None:
    rack = {"accelerator": "gb200", "gpus_per_node": 4, "nodes": 18, "capacity": "block"}
    for pools in ({"cpu": {"nodes": 1, "cpus_per_node": 3}, "train": rack}, {"train": rack, "cpu": {"nodes": 1, "cpus_per_node": 3}}):
        attempted = asked.attempt(pools)
        assert {one.pool: one.hosts.machine.name for one in attempted.spec.node_sets} == {"cpu": "m7g.xlarge", "train": "p6e-gb200.36xlarge"}
        assert asked.found(attempted) == set()


def test_a_machine_that_is_not_there_is_an_error_with_its_place() -> None:
    attempted = asked.attempt(target="gcp", control={"machine": "m7i.xlarge"}, access={"machine": "n2-standard-5"})
    assert asked.found(attempted) == {(ERROR, Code.MACHINE_UNKNOWN)}
    assert asked.where(attempted, Code.MACHINE_UNKNOWN) == ("m7i.xlarge", "n2-standard-5")
    assert attempted.spec.access.machine.name == "n2-standard-4"


@pytest.mark.parametrize(
    ("target", "scheduler", "managed", "run_by", "codes"),
    [
        ("aws", "slurm", True, ("pcs",), set()),
        ("aws", "slurm", "pcs", ("pcs",), set()),
        ("aws", "slurm", "hyperpod", ("hyperpod",), set()),
        ("gcp", "slurm", True, ("cluster_director",), set()),
        ("gcp", "slurm", "cluster_director", ("cluster_director",), set()),
        ("aws", "slurm", "cluster_director", ("slurm_hosts",), {(ERROR, Code.MANAGED_MISSING)}),
        ("aws", "slurm", "eks", ("slurm_hosts",), {(ERROR, Code.MANAGED_MISSING)}),
        ("metal", "slurm", True, ("slurm_hosts",), {(ERROR, Code.MANAGED_MISSING)}),
        ("metal", "slurm", "pcs", ("slurm_hosts",), {(ERROR, Code.MANAGED_MISSING)}),
        ("metal", "kubernetes", True, ("kubernetes_hosts",), {(ERROR, Code.MANAGED_MISSING)}),
        ("aws", "kubernetes", True, ("eks",), set()),
        ("aws", "kubernetes", "eks", ("eks",), set()),
        ("gcp", "kubernetes", "eks", ("gke",), {(ERROR, Code.MANAGED_MISSING)}),
        ("aws", "both", "hyperpod", ("hyperpod", "eks"), set()),
        ("aws", "both", "eks", ("slurm_hosts", "eks"), set()),
        ("local", "slurm", True, ("slurm_hosts",), set()),
        ("local", "slurm", "hyperpod", ("slurm_hosts",), set()),
    ],
)
def test_schedulers_that_the_cloud_runs(target: str, scheduler: str, managed: bool | str, run_by: tuple[str, ...], codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt(target=target, scheduler=scheduler, control={"managed": managed})
    assert attempted.spec.offerings == run_by
    assert asked.found(attempted) == codes


def test_every_service_of_the_catalogue_can_be_named_and_nothing_else() -> None:
    named = set(outline.choices(("control", "managed"), language.Blueprint))
    assert named == {"true", "false"} | {name for name in catalog.offering_names() if catalog.offering(name).is_managed}


def test_a_service_with_machines_of_its_own_has_its_own_prices_and_quotas() -> None:
    pools = {"train": {"machine": "p5.48xlarge", "nodes": 16}}
    (hosts, service) = (asked.cluster(pools, control={"managed": managed}) for managed in (False, "hyperpod"))
    nodes = [next(part for part in estimate.estimate(cluster).parts if part.kind == "compute") for cluster in (hosts, service)]
    assert [(part.what, part.unit_usd_per_hour is None) for part in nodes] == [("p5.48xlarge", False), ("ml.p5.48xlarge", True)]
    assert ["train" in {taker.split()[0] for need in quotas.needed(cluster) for taker in need.takers} for cluster in (hosts, service)] == [True, False]
    assert [quotas.unknown(cluster) for cluster in (hosts, service)] == [(), ("ml.p5.48xlarge (on-demand)",)]


@pytest.mark.parametrize(
    ("target", "more", "database", "codes"),
    [
        ("aws", {}, spec.Database("embedded", protect=True), set()),
        ("aws", {"accounting": {"database": "managed", "protect": False}}, spec.Database("managed", protect=False, product="RDS for MariaDB"), set()),
        ("gcp", {"accounting": {"database": "managed"}}, spec.Database("managed", protect=True, product="Cloud SQL"), set()),
        ("metal", {"accounting": {"database": "managed"}}, spec.Database("embedded", protect=True), {(ERROR, Code.MANAGED_MISSING)}),
        ("local", {"accounting": {"database": "managed"}}, spec.Database("embedded", protect=True), set()),
    ],
)
def test_the_accounting_database(target: str, more: dict[str, Any], database: spec.Database, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt(target=target, **more)
    assert hand_made.slurm(attempted.spec).database == database
    assert asked.found(attempted) == codes


OFFICE = ["203.0.113.0/24"]


@pytest.mark.parametrize(
    ("target", "more", "services"),
    [
        ("aws", {}, {"load-balancer": 1, "nat-gateway": 1, "public-ipv4": 1}),
        ("aws", {"access": {"allowed_cidrs": OFFICE}}, {"load-balancer": 1, "nat-gateway": 1, "public-ipv4": 3}),
        ("aws", {"access": {"allowed_cidrs": ["10.0.0.0/8"]}}, {"load-balancer": 1, "nat-gateway": 1, "public-ipv4": 1}),
        ("aws", {"access": {"allowed_cidrs": OFFICE, "load_balancer": False, "login_nodes": 4}}, {"nat-gateway": 1, "public-ipv4": 5}),
        ("aws", {"access": {"allowed_cidrs": OFFICE}, "network": {"existing": "vpc-1", "cidr": "10.0.0.0/16"}}, {"load-balancer": 1}),
        ("gcp", {"access": {"allowed_cidrs": OFFICE}}, {"load-balancer": 1, "nat-gateway": 1, "public-ipv4": 2}),
        ("aws", {"access": {"load_balancer": False}}, {"nat-gateway": 1, "public-ipv4": 1}),
        ("aws", {"access": {"login_nodes": 0}}, {"nat-gateway": 1, "public-ipv4": 1}),
        ("aws", {"network": {"egress": "none"}}, {"load-balancer": 1}),
        ("aws", {"network": {"existing": "vpc-1", "cidr": "10.0.0.0/16"}}, {"load-balancer": 1}),
        ("aws", {"scheduler": "both", "access": {"login_nodes": 0}, "network": {"egress": "none"}}, {"kubernetes": 1}),
        ("aws", {"control": {"managed": True}, "access": {"login_nodes": 0}, "network": {"egress": "none"}}, {"managed-slurm": 1}),
        ("aws", {"accounting": {"database": "managed"}, "access": {"login_nodes": 0}, "network": {"egress": "none"}}, {"database": 1}),
        ("metal", {"access": {"allowed_cidrs": OFFICE}}, {}),
        ("local", {}, {}),
    ],
)
def test_what_the_cloud_runs_by_the_hour(target: str, more: dict[str, Any], services: dict[str, int]) -> None:
    found = asked.cluster(target=target, **more).services
    assert {service.name: service.count for service in found} == services
    assert all(service.product for service in found)


def test_who_may_log_in() -> None:
    access = {"login_nodes": 3, "load_balancer": False, "allowed_cidrs": OFFICE, "ldap": {"uri": "ldaps://ldap.example.org", "base": "dc=example"}}
    cluster = asked.cluster(access=access)
    assert cluster.login == spec.Login(False, tuple(OFFICE), "ldaps://ldap.example.org", "dc=example")
    assert cluster.access.hostnames == ("login-0", "login-1", "login-2")
    assert cluster.access.machine.name == "m7i.large"


@pytest.mark.parametrize(
    ("target", "scheduler", "codes"),
    [
        ("local", "slurm", set()),
        ("local", "kubernetes", set()),
        ("local", "both", set()),
        ("metal", "kubernetes", {(NOTE, Code.HOSTS_UNNAMED)}),
        ("aws", "slurm", set()),
        ("aws", "kubernetes", {(NOTE, Code.SCHEDULER_NOT_BUILT)}),
        ("gcp", "slurm", set()),
        ("gcp", "kubernetes", {(NOTE, Code.SCHEDULER_NOT_BUILT)}),
    ],
)
def test_what_is_planned_and_not_built_is_noted(target: str, scheduler: str, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt(target=target, scheduler=scheduler)
    assert asked.found(attempted, without=(Code.REGION_CHOSEN, Code.MACHINE_SMALLEST)) == codes
    assert attempted.spec.target == target


@pytest.mark.parametrize("is_several", [False, True])
def test_several_hosts_of_a_kubernetes_control_plane_share_an_address_of_their_own(is_several: bool) -> None:
    attempted = asked.attempt(target="local", scheduler="kubernetes", control={"highly_available": is_several})
    kubernetes = attempted.spec.kubernetes
    assert kubernetes is not None
    assert kubernetes.control is not None
    assert kubernetes.control.count == (3 if is_several else 1)
    own = {kubernetes.control.first_address, attempted.spec.network.balancer_address, attempted.spec.network.gateway}
    assert (kubernetes.endpoint.removesuffix(":6443") not in own) == is_several
    assert Code.SCHEDULER_NOT_BUILT not in {one.code for one in attempted.findings}


@pytest.mark.parametrize(
    ("control", "endpoint"),
    [
        ({"hosts": "head-1"}, "10.20.0.2:6443"),
        ({"hosts": "head-[1-3]", "highly_available": True, "address": "10.20.0.9"}, "10.20.0.9:6443"),
        ({"hosts": "head-[1-3]", "address": "10.20.0.9"}, "10.20.0.9:6443"),
        ({"hosts": "head-[1-3]"}, ""),
    ],
)
def test_servers_of_a_kubernetes_control_plane_answer_at_the_only_ones_address_or_at_the_shared_one(control: dict[str, Any], endpoint: str) -> None:
    names = {"head-1": "10.20.0.2", "head-2": "10.20.0.3", "head-3": "10.20.0.4", "gpu-1": "10.20.0.11"}
    inventory = {"hosts": {name: {"address": address} for name, address in names.items()}}
    attempted = asked.attempt({"train": {"hosts": "gpu-1"}}, target="metal", scheduler="kubernetes", inventory=inventory, control=control)
    kubernetes = attempted.spec.kubernetes
    assert kubernetes is not None
    assert kubernetes.endpoint == endpoint
    assert Code.SCHEDULER_NOT_BUILT not in {one.code for one in attempted.findings}
