"""Two schedulers on one foundation: what concerns one of them alone changes no registered input of the other one's resources."""

import pathlib
from typing import Any

import pytest

from tests.components import registered
from tests.components.registered import Program

from .offerings import run_on

RUN = run_on("local", registered.Provider)
BLUEPRINT = str(pathlib.Path(__file__).with_name("local-both.yaml"))
POOL = {"nodes": 1, "cpus_per_node": 1, "memory": "512 MiB"}

SLURM = frozenset({"access", "acceptance", "balancer", "control", "finish-access", "finish-control", "image", "train"})
"""Hosts of Slurm and their image, what they are configured from and how they are judged."""
KUBERNETES = frozenset({"kubernetes", "finish-kubernetes", "finish-serve", "kubernetes-acceptance", "kubernetes-image", "kubernetes-release", "serve"})

OF_KUBERNETES: tuple[tuple[str, Any], ...] = (
    ("kubernetes.version", "1.35"),
    ("kubernetes.pod_cidr", "10.100.0.0/16"),
    ("kubernetes.service_cidr", "10.99.0.0/16"),
    ("kubernetes.addons", {"trainer": True}),
    ("kubernetes.registry", "registry.example.org:5000"),
    ("pools.serve.nodes", 3),
    ("pools.serve.health.on_failure", "reboot"),
    ("pools.serve.health.brake", 2),
    ("pools.serve.labels", {"use": "notebooks"}),
    ("pools.serve.taints", [{"key": "nvidia.com/gpu", "value": "present"}]),
    ("pools.more", {"scheduler": "kubernetes", **POOL}),
)
OF_SLURM: tuple[tuple[str, Any], ...] = (
    ("pools.train.nodes", 3),
    ("pools.train.partition", {"max_time": "1-00:00:00"}),
    ("pools.more", {"scheduler": "slurm", **POOL}),
    ("access.login_nodes", 2),
    ("access.rest_api", True),
)
OF_BOTH: tuple[tuple[str, Any], ...] = (
    ("control.highly_available", True),
    ("storage.data", {"kind": "nfs", "mount": "/data"}),
    ("network.cidr", "10.88.0.0/22"),
)
OF_NONE: tuple[tuple[str, Any], ...] = (("tags", {"team": "nlp"}), ("description", "the same cluster"))


def changed(key: str, value: Any) -> frozenset[str]:
    """Name the resources that a changed key of the blueprint adds, removes or gives other inputs or needs."""
    before, after = (_described(RUN(BLUEPRINT, overrides)) for overrides in ({}, {key: value}))
    return frozenset(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _described(program: Program) -> dict[str, Any]:
    return {one.name: (one.type, one.inputs, one.needs_urns) for one in program.resources if one.custom}


def test_the_cluster_has_all_these_resources() -> None:
    assert _described(RUN(BLUEPRINT, {})).keys() >= SLURM | KUBERNETES


@pytest.mark.parametrize(("key", "value"), OF_KUBERNETES, ids=lambda one: one if isinstance(one, str) else "")
def test_a_key_of_kubernetes_leaves_the_hosts_of_slurm_as_they_are(key: str, value: Any) -> None:
    assert changed(key, value) & KUBERNETES
    assert not changed(key, value) & SLURM


@pytest.mark.parametrize(("key", "value"), OF_SLURM, ids=lambda one: one if isinstance(one, str) else "")
def test_a_key_of_slurm_leaves_the_hosts_of_kubernetes_as_they_are(key: str, value: Any) -> None:
    assert changed(key, value) & SLURM
    assert not changed(key, value) & KUBERNETES


@pytest.mark.parametrize(("key", "value"), OF_BOTH, ids=lambda one: one if isinstance(one, str) else "")
def test_a_key_of_both_reaches_the_hosts_of_both(key: str, value: Any) -> None:
    assert changed(key, value) & SLURM
    assert changed(key, value) & KUBERNETES


@pytest.mark.parametrize(("key", "value"), OF_NONE, ids=lambda one: one if isinstance(one, str) else "")
def test_a_key_of_neither_reaches_the_hosts_of_neither(key: str, value: Any) -> None:
    assert changed(key, value) <= {"finish-access", "acceptance"}  # the greeting after login, and the acceptance that follows each configuration
