"""Nodes that exist in the API alone, to try queues and placement at scale. kwok says that they are ready; nothing runs in their pods.

They are a pool of their own, `<pool>-kwok`, behind a taint: a job gets there only if it tolerates it, and no real job is said to have run that never did.
Source: kwok v0.7, kustomize/kwok (annotation and taint of the nodes that it manages).
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

from blueprints.spec import Kubernetes, KwokNodes, NodeSet, Taint

from . import group, labels, manifests

MARK = "kwok.x-k8s.io/node"
"""Annotation of nodes that kwok simulates, and their taint."""
FAKE = "fake"
TAINT = Taint(MARK, FAKE, "NoSchedule")
RACK = "simulated"
PODS = 110
"""The kubelet's own limit of pods on a node."""


def node_sets(kubernetes: Kubernetes) -> Iterator[NodeSet]:
    """Give the node sets that queues see beside those with hosts."""
    by_pool = {one.pool: one for one in reversed(kubernetes.node_sets)}
    for one in kubernetes.kwok_nodes:
        like = by_pool[one.pool]
        hosts = dataclasses.replace(like.hosts, name=one.name, prefix=one.name, count=one.count, first_address="", members="")
        yield dataclasses.replace(like, pool=one.name, hosts=hosts, fabric=None, taints=(TAINT,), pool_most=None)


@dataclasses.dataclass(frozen=True, slots=True)
class KwokNodesInputs:
    pool: str
    """Its name in labels (`train-kwok`)."""
    count: int
    capacity: dict[str, str]
    """What each node offers: resource → quantity."""
    kubeconfig: str


class Nodes(group.Group[KwokNodesInputs]):
    token = "clusterwright:kubernetes:KwokNodes"
    inputs = KwokNodesInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"pool"})

    def identity(self, inputs: KwokNodesInputs) -> str:
        return inputs.pool

    def title(self, inputs: KwokNodesInputs) -> str:
        return f"simulated nodes of {inputs.pool}"

    def wanted(self, inputs: KwokNodesInputs) -> list[dict[str, Any]] | None:
        return [_node(inputs, number) for number in range(inputs.count)]


def inputs_of(kubernetes: Kubernetes, nodes: KwokNodes) -> dict[str, Any]:
    """Give what the nodes are made of, beside the cluster that they are in."""
    machine = next(one.hosts.machine for one in kubernetes.node_sets if one.pool == nodes.pool)
    capacity = {"cpu": str(machine.cpus), "memory": f"{machine.memory_mib}Mi", "pods": str(PODS)}
    if machine.gpus:
        capacity[labels.GPU] = str(machine.gpus.count)
    return {"pool": labels.object_name(nodes.name), "count": nodes.count, "capacity": capacity}


def _node(inputs: KwokNodesInputs, number: int) -> dict[str, Any]:
    name = f"{inputs.pool}-{number}"
    marks = {"type": "kwok", labels.HOST: name, labels.POOL: inputs.pool, labels.RACK: RACK, manifests.PART_OF: f"kwok-{inputs.pool}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {MARK: FAKE}, "labels": marks},
        "spec": {"taints": [{"key": TAINT.key, "value": TAINT.value, "effect": TAINT.effect}]},
        # Taken when the node is created; kwok writes it from then on.
        "status": {"capacity": dict(inputs.capacity), "allocatable": dict(inputs.capacity)},
    }
