"""What hosts are configured from: a change that doesn't concern them leaves it as it is."""

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import spec
from tests.blueprints import hand_made
from tests.playbooks import clusters

FULL = dataclasses.replace(
    hand_made.replaced(
        hand_made.aws(),
        qos=(spec.Qos("urgent", 10, "1-00:00:00", 8, 2, ("idle",)),),
        storage=(
            *hand_made.aws().storage,
            spec.FileSystem("data", "object", "/data", protect=False, simulated=False, exchange=spec.Exchange("s3://data", True, False)),
        ),
    ),
    kubernetes=spec.Kubernetes(
        "eks",
        "EKS",
        "1.34",
        hand_made.hosts("kubernetes", 3, "", hand_made.M7I, role="kubernetes"),
        (hand_made.pool("serve", 4, machine=hand_made.P5, labels=(("team", "nlp"),), taints=(spec.Taint("gpu", "present", "NoSchedule"),)),),
        pod_cidr="10.224.0.0/11",
        service_cidr="10.63.0.0/16",
        pod_network="flannel",
        endpoint="10.80.0.14:6443",
        addons=(spec.Addon("kueue", "v0.12.3"),),
        secondary_networks=(spec.SecondaryNetwork("rail0", "10.40.0.0/24", "10.40.0.128/25", "10.40.0.128", "10.40.0.254"),),
    ),
    training=spec.Training(
        "vertex",
        "Vertex AI",
        (
            spec.NodeSet(
                "jobs", None, hand_made.hosts("jobs", 4, "", hand_made.P5, role="worker"), (), minimum=0, capacity=spec.Capacity(spec.CapacityKind.SPOT)
            ),
        ),
    ),
    maintenance=(spec.Window("tuesday", "02:00", 4, "first"),),
    tags=(("team", "nlp"),),
)
"""A cluster with something in every field that holds other fields."""

CONFIGURES = (
    *("version", "name", "target", "network.region", "network.domain"),
    *(f"software.{field}" for field in ("profile", "os", "suite", "slurm", "arch", "versions", "origins")),
    *(f"{group}.{field}" for group in ("access", "slurm.control", "slurm.node_sets.0.hosts") for field in ("name", "role", "prefix", "count", "members")),
    *(f"slurm.node_sets.0.hosts.machine.{field}" for field in ("sockets", "cores_per_socket", "threads_per_core", "memory_mib", "exists")),
    *(f"slurm.node_sets.0.hosts.machine.gpus.{field}" for field in ("type", "count", "simulated", "mig")),
    *(f"slurm.node_sets.0.partition.{field.name}" for field in dataclasses.fields(spec.Partition)),
    *(f"slurm.node_sets.0.{field}" for field in ("pool", "features", "minimum", "pool_most", "weight")),
    *(f"slurm.node_sets.0.fabric.{field}" for field in ("environment", "environment_script", "daemon", "daemon_arguments")),
    *(f"slurm.qos.0.{field.name}" for field in dataclasses.fields(spec.Qos)),
    *("storage.0.name", "storage.0.mount", "storage.0.writable_by"),
    *(f"accounts.0.{field.name}" for field in dataclasses.fields(spec.Account)),
    *(f"users.0.{field.name}" for field in dataclasses.fields(spec.User) if field.name != "cloud_identity"),
)
"""What Slurm's hosts are configured from: a change of it configures all of them again."""
GREETS = ("description", "simulated")
"""What login nodes alone are configured from."""

CONFIGURES_KUBERNETES = (
    *("version", "name", "target", "network.cidr", "network.region", "network.domain"),
    *(f"software.{field}" for field in ("profile", "os", "suite", "arch", "versions", "origins")),
    *(f"kubernetes.{field}" for field in ("version", "pod_cidr", "service_cidr", "pod_network", "endpoint", "registry")),
    *(f"{group}.{field}" for group in ("kubernetes.control", "kubernetes.node_sets.0.hosts") for field in ("name", "role", "prefix", "count", "members")),
    *(f"kubernetes.node_sets.0.hosts.machine.{field}" for field in ("sockets", "cores_per_socket", "threads_per_core", "memory_mib", "exists", "domain_nodes")),
    *(f"kubernetes.node_sets.0.hosts.machine.gpus.{field}" for field in ("type", "count", "simulated")),
    *(f"kubernetes.node_sets.0.{field}" for field in ("pool", "labels", "minimum", "health_brake")),
    *(f"kubernetes.node_sets.0.taints.0.{field.name}" for field in dataclasses.fields(spec.Taint)),
    *("storage.0.name", "storage.0.mount", "storage.0.writable_by"),
    *(f"kubernetes.secondary_networks.0.{field}" for field in ("name", "cidr", "first", "last")),
)
"""What the hosts of Kubernetes are configured from; add-ons, queues and users are applied through the API server."""


def leaves(whole: Any, path: str = "") -> Iterator[str]:
    """Give the path of each field, through the first thing of each list."""
    for field in dataclasses.fields(whole):
        value = getattr(whole, field.name)
        inner, here = (value[0], f"{path}{field.name}.0") if isinstance(value, tuple) and value else (value, f"{path}{field.name}")
        if dataclasses.is_dataclass(inner) and not isinstance(inner, spec.Late):
            yield from leaves(inner, f"{here}.")
        else:
            yield f"{path}{field.name}"


def another(path: str) -> spec.ClusterSpec:
    """Give the cluster with another value in one field."""
    whole: Any = FULL
    *around, name = path.split(".")
    for step in around:
        whole = whole[int(step)] if isinstance(whole, tuple) else getattr(whole, step)
    return hand_made.changed(FULL, path, _other(getattr(whole, name), typing.get_type_hints(type(whole))[name]))


def _other(value: Any, hint: Any) -> Any:
    options = [one for one in typing.get_args(hint) if one is not types.NoneType] if typing.get_origin(hint) in (types.UnionType, typing.Union) else [hint]
    if isinstance(value, bool) or options[0] is bool:
        return not value
    if options[0] in (int, float):
        return (value or 0) + 1
    if typing.get_origin(options[0]) is tuple:
        if dataclasses.is_dataclass(element := typing.get_args(options[0])[0]):
            assert isinstance(element, type)
            return (*(value or ()), element(**{name: _other("" if one is str else None, one) for name, one in typing.get_type_hints(element).items()}))
        return (*(value or ()), ("another", "one") if typing.get_origin(typing.get_args(options[0])[0]) is tuple else "another")
    return f"{value}-other"


@pytest.mark.parametrize("path", sorted(leaves(FULL)))
def test_a_changed_field_configures_the_hosts_that_it_concerns(path: str) -> None:
    wanted = another(path)
    assert wanted != FULL
    configures = (spec.slurm_view(wanted) != spec.slurm_view(FULL), spec.login_view(wanted) != spec.login_view(FULL))
    assert configures == (path in CONFIGURES, path in (*CONFIGURES, *GREETS))


@pytest.mark.parametrize("path", sorted({*leaves(FULL)} - {"site"}))
def test_a_changed_field_configures_the_hosts_of_kubernetes_that_it_concerns(path: str) -> None:
    assert (spec.kubernetes_view(another(path)) != spec.kubernetes_view(FULL)) == (path in CONFIGURES_KUBERNETES)


def test_the_racks_of_an_inventory_configure_the_hosts_of_kubernetes() -> None:
    hosts = tuple(spec.SiteHost(name=name, address="10.20.0.1", host_key="", rack=rack) for name, rack in (("gpu-1", "r1"), ("gpu-2", "")))
    site = spec.Site(user="ubuntu", port=22, hosts=hosts)
    assert spec.kubernetes_view(dataclasses.replace(FULL, site=site))["kubernetes"]["racks"] == {"gpu-1": "r1"}
    assert "racks" not in spec.kubernetes_view(FULL)["kubernetes"]


def test_every_field_that_configures_hosts_is_one_of_the_spec() -> None:
    assert {*CONFIGURES, *GREETS, *CONFIGURES_KUBERNETES} <= {*leaves(FULL)}


def test_another_pool_of_slurm_configures_no_host_of_kubernetes() -> None:
    assert FULL.slurm is not None
    without = dataclasses.replace(FULL, slurm=dataclasses.replace(FULL.slurm, node_sets=()))
    assert (
        spec.kubernetes_view(without)
        == spec.kubernetes_view(FULL)
        == spec.kubernetes_view(dataclasses.replace(FULL, slurm=None, monitoring=spec.Monitoring(metrics=True)))
    )


def test_another_pool_of_kubernetes_configures_no_host_of_slurm() -> None:
    assert FULL.kubernetes is not None
    without = dataclasses.replace(FULL, kubernetes=dataclasses.replace(FULL.kubernetes, node_sets=()))
    assert spec.slurm_view(without) == spec.slurm_view(FULL) == spec.slurm_view(dataclasses.replace(FULL, kubernetes=None, services=()))


def test_a_pool_of_kubernetes_is_not_judged_by_acceptance_of_slurm() -> None:
    assert FULL.kubernetes is not None
    assert FULL.slurm is not None
    judged = (spec.Expectation("all_reduce", 8 * 2**30, 2, None, None, 400.0, provisional=True, source="a test"),)
    of_slurm, of_kubernetes = (tuple(dataclasses.replace(one, collectives=judged) for one in part.node_sets) for part in (FULL.slurm, FULL.kubernetes))
    of_kubernetes = tuple(dataclasses.replace(one, partition=None) for one in of_kubernetes)
    assert of_kubernetes
    both = dataclasses.replace(
        FULL, slurm=dataclasses.replace(FULL.slurm, node_sets=of_slurm), kubernetes=dataclasses.replace(FULL.kubernetes, node_sets=of_kubernetes)
    )
    assert {*spec.acceptance_view(both)["fabrics"]} == {one.hosts.name for one in of_slurm}


@pytest.mark.parametrize(
    ("checks", "said"), [(("nodes", "gpus"), ["nodes", "gpus"]), (("nodes", "gpus", "jobs", "accounting", "collectives", "storage"), None)]
)
def test_acceptance_is_told_what_fails_up_where_that_is_not_everything(checks: tuple[str, ...], said: list[str] | None) -> None:
    assert spec.acceptance_view(dataclasses.replace(FULL, acceptance=checks)).get("gate") == said


def test_nodes_that_start_in_nvlink_domains_are_in_the_domain_of_their_number() -> None:
    def domains(count: int, **more: Any) -> Any:
        train = dataclasses.replace(clusters.node_set(nodes=count, on=dataclasses.replace(clusters.machine(), domain_nodes=2)), **more)
        return spec.nvlink_domains(clusters.resolved(train))

    assert domains(3, placement=spec.IN_DOMAINS) == {"train-0": "train-1", "train-1": "train-1", "train-2": "train-2"}
    assert domains(3, placement="given") == {}, "only a running instance tells"


@pytest.mark.parametrize(("placement", "known"), [(spec.IN_DOMAINS, {"train-0": "train-1", "train-1": "train-1", "b-0": "b-1"}), ("given", {})])
def test_a_lone_node_beside_nvlink_domains_is_one_of_its_own(placement: str, known: dict[str, str]) -> None:
    joined = dataclasses.replace(clusters.machine(), domain_nodes=2)
    train = dataclasses.replace(clusters.node_set(nodes=2, on=joined), placement=placement)
    alone = clusters.node_set("b", nodes=1, on=joined)
    assert spec.nvlink_domains(clusters.resolved(train, alone)) == known


def test_racks_configure_slurm_where_nvlink_joins_their_machines_and_all_are_named() -> None:
    def racks(*named: str, domain: int | None = 18) -> Any:
        hosts = tuple(spec.SiteHost(f"train-{number}", f"10.80.1.{number}", "", rack=rack) for number, rack in enumerate(named))
        plain = clusters.machine()
        whole = clusters.resolved(clusters.node_set(on=dataclasses.replace(plain, domain_nodes=domain)))
        return spec.slurm_view(dataclasses.replace(whole, site=spec.Site("root", 22, hosts)))["slurm"].get("racks")

    assert racks("r1", "r2") == {"train-0": "r1", "train-1": "r2"}
    assert racks("r1", "") is None
    assert racks("r1", "r2", domain=None) is None
    for pair in (("A/7", "A-7"), ("/", "七"), ("r" * 64, "r" * 65)):
        given = racks(*pair)
        assert given["train-0"] != given["train-1"], f"two racks, although Kubernetes has one label for both or none: {pair}"
    assert "{" not in "".join(racks("{{ 1 + 1 }}", "{% raw %}").values()), "Ansible would evaluate it"
