"""What a changed blueprint does to a running Kubernetes cluster of this machine."""

import dataclasses
import json
from typing import Any

import pytest

from blueprints import load, read, spec
from blueprints.facts import Facts
from blueprints.plan import changes, kubernetes_upgrades
from blueprints.spec.cost import Effect

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


def cluster(**more: Any) -> spec.ClusterSpec:
    return load.load(
        "starter-kubernetes", target="local", stack="test", facts=FACTS, overrides={name.replace("__", "."): value for name, value in more.items()}
    )


def compared(old: spec.ClusterSpec, new: spec.ClusterSpec) -> dict[str, changes.Change]:
    return {change.path: change for change in changes.compare(spec.as_record(old), new)}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1.34.4", "1.35.4", ""),
        ("1.34.4", "1.34.9", ""),
        ("1.34.4", "1.34.4", ""),
        ("1.34.4", "1.36.3", "1.35 first"),
        ("1.32.0", "1.34.4", "1.33 first"),
        ("1.35.4", "1.34.4", "can't go back"),
        ("1.34.4", "1.34.1", "can't go back"),
        ("", "1.34.4", ""),
    ],
)
def test_an_upgrade_takes_one_minor_version_and_none_goes_back(old: str, new: str, words: str) -> None:
    found = kubernetes_upgrades.refusal(old, new)
    assert words in found
    assert bool(words) == bool(found)


def test_a_skipped_minor_version_is_refused_against_the_record() -> None:
    now = cluster()
    assert now.kubernetes is not None
    old = dataclasses.replace(now, kubernetes=dataclasses.replace(now.kubernetes, version="1.32.9"))
    change = compared(old, now)["kubernetes.version"]
    assert change.is_refused
    assert "1.33 first" in change.why
    assert change.key == "kubernetes.version"


def test_the_next_minor_version_is_rolled_out() -> None:
    change = compared(cluster(), cluster(kubernetes__version="1.35.4"))["kubernetes.version"]
    assert change.effect is Effect.ROLLING
    assert not change.is_refused


def test_an_upgrade_says_its_order_and_what_users_notice() -> None:
    new = cluster(kubernetes__version="1.35.4", pools__train__nodes=20, pools__train__rolling="3")
    lines = changes.kubernetes_upgrade(changes.compare(spec.as_record(cluster(pools__train__nodes=20)), new), new)
    order = [
        next(number for number, line in enumerate(lines) if words in line) for words in ("1.34.4 to 1.35.4", "etcd is saved", "kubernetes-0", "train-[0-19]")
    ]
    assert order == sorted(order)
    assert any("the API server is away" in line for line in lines)
    assert any("the first alone, then 3 at once (rolling: 3)" in line for line in lines)
    assert any("PodDisruptionBudgets" in line for line in lines)


@pytest.mark.parametrize("windows", [[], [{"weekday": "sunday", "start": "22:00", "hours": 2}]])
def test_an_upgrade_says_that_it_waits_for_no_maintenance_window(windows: list[dict[str, Any]]) -> None:
    new = cluster(kubernetes__version="1.35.4", maintenance=windows)
    lines = changes.kubernetes_upgrade(changes.compare(spec.as_record(cluster(maintenance=windows)), new), new)
    assert any("no upgrade of Kubernetes waits for it" in line for line in lines) is bool(windows)


def test_hosts_of_a_control_plane_are_upgraded_one_after_the_other() -> None:
    new = cluster(kubernetes__version="1.35.4", control__highly_available=True)
    old = spec.as_record(cluster(control__highly_available=True))
    assert any("kubernetes-[0-2], one host after the other" in line for line in changes.kubernetes_upgrade(changes.compare(old, new), new))


def test_no_steps_are_said_of_an_upgrade_that_is_refused_or_of_none() -> None:
    now = cluster()
    assert now.kubernetes is not None
    later = cluster(kubernetes__version="1.35.4")
    assert changes.kubernetes_upgrade(changes.compare(spec.as_record(later), now), now) == ()
    assert changes.kubernetes_upgrade(changes.compare(spec.as_record(now), now), now) == ()


def test_a_control_plane_keeps_its_number_of_hosts() -> None:
    now = cluster()
    assert now.kubernetes is not None
    assert now.kubernetes.control is not None
    old = dataclasses.replace(now, kubernetes=dataclasses.replace(now.kubernetes, control=dataclasses.replace(now.kubernetes.control, count=3)))
    assert [change.path for change in compared(old, now).values() if change.is_refused] == ["kubernetes.control.count"]


def servers(control: dict[str, Any]) -> spec.ClusterSpec:
    """A cluster on servers that exist already."""
    names = {f"head-{number}": f"10.20.0.{number}" for number in range(1, 7)} | {"gpu-1": "10.20.0.11"}
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILfO7axdAlzocl3lyLUde3ycoDtp7k+/IF+u2cOZy+M0"
    asked = {
        "name": "lab",
        "scheduler": "kubernetes",
        "software": "debian-13",
        "inventory": {"hosts": {name: {"address": address, "host_key": key} for name, address in names.items()}},
        "control": control,
        "pools": {"train": {"hosts": "gpu-1"}},
    }
    return load.from_document(read.from_bytes(json.dumps(asked).encode(), file="lab.yaml"), target="metal", stack="lab", facts=FACTS).spec


THREE = {"hosts": "head-[1-3]", "highly_available": True, "address": "10.20.0.9"}


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ({"hosts": "head-1"}, THREE, ["kubernetes.control.members"]),
        (THREE, {"hosts": "head-1"}, ["kubernetes.control.members"]),
        ({"hosts": "head-1"}, {"hosts": "head-2"}, ["kubernetes.control.members"]),
        (THREE, {**THREE, "address": "10.20.0.10"}, ["kubernetes.endpoint"]),
        (THREE, {**THREE, "hosts": "head-[2-4]"}, []),
        (THREE, {**THREE, "hosts": "head-[3-5]"}, ["kubernetes.control.members"]),
        (THREE, {**THREE, "hosts": "head-[4-6]"}, ["kubernetes.control.members"]),
    ],
)
def test_servers_of_a_control_plane_are_exchanged_while_its_address_stays(before: dict[str, Any], after: dict[str, Any], refused: list[str]) -> None:
    assert [change.path for change in compared(servers(before), servers(after)).values() if change.is_refused] == refused


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"kubernetes__pod_cidr": "10.128.0.0/16"}, "kubernetes.pod_cidr"),
        ({"kubernetes__service_cidr": "10.130.0.0/16"}, "kubernetes.service_cidr"),
        ({"network__cidr": "10.70.0.0/20"}, "network.cidr"),
    ],
)
def test_what_the_control_plane_was_made_with_stays(more: dict[str, Any], path: str) -> None:
    found = compared(cluster(), cluster(**more))
    assert [change.path for change in found.values() if change.is_refused] == [path]


@pytest.mark.parametrize(
    ("more", "path", "effect"),
    [
        ({"kubernetes__addons": {"trainer": True}}, "kubernetes.addons.trainer", Effect.IN_PLACE),
        ({"kubernetes__addons": {"jobset": False}}, "kubernetes.addons.jobset", Effect.IN_PLACE),
        ({"pools__train__nodes": 3}, "kubernetes.node_sets.train.hosts.count", Effect.IN_PLACE),
        ({"pools__train__labels": {"team": "nlp"}}, "kubernetes.node_sets.train.labels", Effect.IN_PLACE),
        ({"pools__train__taints": [{"key": "gpu"}]}, "kubernetes.node_sets.train.taints", Effect.IN_PLACE),
        ({"qos__urgent": {"priority": 10}}, "kubernetes.qos.urgent", Effect.IN_PLACE),
    ],
)
def test_what_runs_in_the_cluster_changes_in_place(more: dict[str, Any], path: str, effect: Effect) -> None:
    change = compared(cluster(), cluster(**more))[path]
    assert change.effect is effect
    assert not change.is_refused
