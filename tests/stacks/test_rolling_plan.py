"""Which hosts a roll is about, and what a person reads before it begins."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from blueprints.load import load
from blueprints.spec import ClusterSpec, Site
from components import this_machine
from components.elastic.model import Node
from components.inspection import in_place, versions
from components.inspection.collect import Seen
from components.inspection.in_place import Lack
from components.inspection.recorded_cluster import Known, KnownHost
from stacks.rolling import plan
from stacks.rolling.decide import Phase

GROUPS = {"control": ("control", 2), "access": ("access", 1), "train": ("compute", 12)}
NEW = {"kernel": "6.8.0-90-generic"}


@pytest.fixture(scope="module")
def cluster() -> ClusterSpec:
    """A cluster of servers that wants a kernel, and no driver as its GPUs are simulated."""
    starter = load("starter", target="local", stack="test", facts=this_machine.facts(), overrides={})
    software = dataclasses.replace(starter.software, versions=(("driver", "580.1"), ("kernel", NEW["kernel"])))
    return dataclasses.replace(starter, software=software, site=Site("ubuntu", 22, ()))


def hosts() -> list[KnownHost]:
    prefixes = {"control": "head", "access": "login", "train": "train"}
    return [KnownHost(f"{prefixes[group]}-{number}", group, role, "10.0.0.1", "", "") for group, (role, count) in GROUPS.items() for number in range(count)]


def known(cluster: ClusterSpec) -> Known:
    return Known(cluster, tuple(hosts()), "", "", "", {}, (), None, ())


def facts(kernel: str, *pending: str) -> dict[str, Any]:
    return {"versions": {"kernel": kernel}, "pending": [*pending]}


def planned(cluster: ClusterSpec, *, current: str = "", states: Mapping[str, Node] | None = None, silent: tuple[str, ...] = (), **pending: str) -> plan.Plan:
    """Plan with hosts of another kernel, but for those that begin so."""
    of_hosts = {
        host: facts(
            NEW["kernel"] if current and host.name.startswith(current) else "6.8.0-60-generic", *([pending[host.group]] if host.group in pending else [])
        )
        for host in hosts()
        if host.name not in silent
    }
    seen = Seen(of_hosts, None, {host: "no route" for host in hosts() if host.name in silent}, {}, 0.0)
    return plan.plan(cluster, known(cluster), seen, states or {})


def phases(decided: plan.Plan, **states: Node) -> dict[str, Phase]:
    named = {name.replace("_", "-"): node for name, node in states.items()}
    found = plan.hosts(decided, named, busy=frozenset({"train-1"}), begun=frozenset(), done=frozenset(), failed=frozenset())
    return {host.name: host.phase for host in found}


def test_hosts_of_kubernetes_are_left_out_and_drift_says_what_to_do(cluster: ClusterSpec) -> None:
    other = load("starter-kubernetes", target="local", stack="test", facts=this_machine.facts(), overrides={})
    other = dataclasses.replace(other, software=cluster.software, site=cluster.site)
    found = [KnownHost(name, group.name, group.role, "10.0.0.1", "", "") for group in other.kubernetes_groups for name in group.hostnames]
    assert {host.role for host in found} == {"kubernetes", "compute"}
    of_hosts = {host: facts("6.8.0-60-generic") for host in found}
    its_own = Known(other, tuple(found), "", "", "", {}, (), None, ())
    assert plan.plan(other, its_own, Seen(of_hosts, None, {}, {}, 0.0), {}).is_empty
    assert all(in_place.lacks(other, host.group, lacking) for host, lacking in of_hosts.items())
    remedies = {one.remedy for one in versions.findings(its_own, {host: {**lacking, "pending": []} for host, lacking in of_hosts.items()})}
    assert len(remedies) == 1
    assert "uncordon" in remedies.pop()


def test_hosts_that_lack_the_same_share_a_line_with_their_limit(cluster: ClusterSpec) -> None:
    decided = planned(cluster, current="train-1")
    assert [*plan.lines(decided)] == [
        "  head-[0-1]: kernel 6.8.0-90-generic (now 6.8.0-60-generic)",
        "    controllers restart one after the other, after all others; running jobs go on",
        "  login-0: kernel 6.8.0-90-generic (now 6.8.0-60-generic)",
        "    login nodes restart one after the other; sessions on them end",
        "  train-[0,2-9]: kernel 6.8.0-90-generic (now 6.8.0-60-generic)",
        "    at most 1 of 12 nodes out of service at once (rolling: 10%); each is drained, installed and restarted, the first one alone",
    ]


def test_pools_roll_first_and_the_first_controller_last(cluster: ClusterSpec) -> None:
    decided = planned(cluster)
    assert decided.order == [["train"], ["access"], ["control"]]
    assert decided.members["control"] == ("head-1", "head-0")
    assert decided.limits == {"control": 1, "access": 1, "train": 1}


def test_the_blueprint_says_how_many_at_once(cluster: ClusterSpec) -> None:
    wide = cluster.with_node_sets(lambda one: dataclasses.replace(one, rolling="25%"))
    assert planned(wide).limits["train"] == 3
    assert "at most 3 of 12 nodes out of service at once (rolling: 25%)" in "\n".join(plan.lines(planned(wide)))


def test_hosts_that_a_target_creates_get_their_kernel_with_their_image(cluster: ClusterSpec) -> None:
    assert planned(dataclasses.replace(cluster, site=None)).is_empty


def test_a_host_that_has_installed_and_not_restarted_is_due(cluster: ClusterSpec) -> None:
    current = dataclasses.replace(cluster, software=dataclasses.replace(cluster.software, versions=(("kernel", "6.8.0-60-generic"),)))
    assert planned(current).is_empty
    assert planned(current, access=in_place.RESTART).due == {"login-0": (Lack(in_place.RESTART, ""),)}


def test_nodes_that_a_killed_roll_drained_are_its_own_and_others_are_not(cluster: ClusterSpec) -> None:
    ours, theirs = frozenset({"drain"}), frozenset({"drain"})
    states = {
        "train-0": Node("train-0", "idle", ours, plan.REASON),
        "train-1": Node("train-1", "mixed", ours, plan.REASON),
        "train-2": Node("train-2", "idle", theirs, "bad fan", reason_by="root"),
        "train-3": Node("train-3", "down", frozenset(), "clusterwright: start guard: 7 of 8 GPUs"),
        "train-4": Node("train-4", "idle"),
    }
    decided = planned(cluster, silent=("train-5",), states=states)
    seen = phases(decided, **{name.replace("-", "_"): node for name, node in states.items()})
    expected = {"train-0": Phase.EMPTY, "train-1": Phase.DRAINING, "train-2": Phase.KEPT, "train-3": Phase.DUE, "train-4": Phase.DUE, "train-5": Phase.KEPT}
    assert {name: phase for name, phase in seen.items() if name in expected} == expected
    assert decided.left == ()


def test_a_node_that_a_killed_roll_had_completed_returns_to_service(cluster: ClusterSpec) -> None:
    states = {"train-1": Node("train-1", "idle", frozenset({"drain"}), plan.REASON)}
    decided = planned(cluster, current="train-1", states=states)
    assert decided.left == ("train-1",)
    assert [*plan.lines(decided)][-1] == "  train-1: drained by a roll that was interrupted, and complete; it returns to service"


def test_nodes_out_of_service_are_left_to_the_roll_that_is_due(cluster: ClusterSpec) -> None:
    drain = frozenset({"drain"})
    states = {
        "train-0": Node("train-0", "idle", drain, plan.REASON),  # an earlier roll stopped at it
        "train-2": Node("train-2", "down", drain, "clusterwright: start guard: 7 of 8 GPUs"),
        "train-3": Node("train-3", "idle", drain, "bad fan", reason_by="ada"),  # and lacks something
        "train-4": Node("train-4", "idle"),
        "train-10": Node("train-10", "idle", drain, "bad fan", reason_by="ada"),
        "train-11": Node("train-11", "down", frozenset(), "clusterwright: start guard: 7 of 8 GPUs"),
    }
    due = planned(cluster, current="train-1", states=states)
    assert plan.left_to_roll(due, states) == ("train-0", "train-2", "train-3", "train-10"), "train-11 lacks nothing that a roll installs"
    nothing_due = planned(dataclasses.replace(cluster, site=None), states=states)
    assert plan.left_to_roll(nothing_due, states) == (), "a drained node fails acceptance"


def test_nodes_that_take_no_jobs_need_no_window(cluster: ClusterSpec) -> None:
    drain = frozenset({"drain"})
    states = {
        "train-0": Node("train-0", "idle", drain, plan.REASON),
        "train-2": Node("train-2", "down", frozenset(), "clusterwright: start guard: 7 of 8 GPUs"),
        "train-3": Node("train-3", "idle", drain, "bad fan", reason_by="ada"),
        "train-4": Node("train-4", "idle"),
        "train-10": Node("train-10", "down", frozenset(), "Not responding"),
    }
    assert plan.out_already(planned(cluster, current="train-1", states=states), states) == ("train-0", "train-2")


def test_a_driver_is_wanted_where_there_are_gpus(cluster: ClusterSpec) -> None:
    def with_gpus(simulated: bool) -> ClusterSpec:
        def real(one: Any) -> Any:
            gpus = dataclasses.replace(one.hosts.machine.gpus, simulated=simulated)
            return dataclasses.replace(one, hosts=dataclasses.replace(one.hosts, machine=dataclasses.replace(one.hosts.machine, gpus=gpus)))

        return cluster.with_node_sets(real)

    assert versions.in_place(with_gpus(False), "train") == {"kernel": NEW["kernel"], "driver": "580.1"}
    assert versions.in_place(with_gpus(True), "train") == NEW
    assert versions.in_place(with_gpus(False), "control") == NEW


def test_libraries_of_gpus_are_wanted_where_the_profile_names_the_key_of_their_archive(cluster: ClusterSpec) -> None:
    named = (("nccl", "2.30.4"), ("container_toolkit", "1.18.2"))
    machine = cluster.node_sets[0].hosts.machine
    real = dataclasses.replace(machine, gpus=dataclasses.replace(machine.gpus, simulated=False))  # type: ignore[type-var]

    def of(*origins: str) -> ClusterSpec:
        software = dataclasses.replace(cluster.software, versions=named, origins=tuple((name, "A" * 40) for name in origins))
        servers = dataclasses.replace(cluster, software=software)
        return servers.with_node_sets(lambda one: dataclasses.replace(one, hosts=dataclasses.replace(one.hosts, machine=real)))

    assert versions.in_place(of(), "train") == {}, "jobs bring them"
    assert versions.in_place(of("nvidia_archive_key"), "train") == {"nccl": "2.30.4"}
    assert versions.in_place(of("nvidia_archive_key", "nvidia_container_archive_key"), "train") == dict(named)
    assert in_place.lacks(of("nvidia_archive_key"), "train", {"versions": {"nccl": "2.29.7"}, "pending": []}) == (Lack("nccl", "2.30.4", "2.29.7"),)
