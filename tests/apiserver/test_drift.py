"""What drift sees of a real API server."""

import dataclasses
import datetime as dt

import pytest

from blueprints import spec
from components.inspection import kubernetes
from components.inspection.codes import Code
from components.kubernetes import kwok_nodes, queues
from components.kubernetes.api import Key
from components.kubernetes.objects import Objects, ObjectsInputs
from tests.apiserver import cluster, works
from tests.components.kubernetes import test_queues
from tests.drift import examples

pytestmark = pytest.mark.engine


def test_what_was_changed_and_deleted_by_hand_is_found_and_up_restores_it(kubernetes_cluster: cluster.Cluster) -> None:
    def settings(name: str) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"colour": "red"}}

    inputs = ObjectsInputs("drifting", kubernetes_cluster.kubeconfig, (settings("changed"), settings("deleted"), settings("kept")))
    made = Objects().create(inputs, works.Notes().work())
    state = {"group": inputs.group, "kubeconfig": inputs.kubeconfig, "manifests": list(inputs.manifests), **made}
    known = examples.known(cluster=test_queues.cluster(nodes=0), resources=({"type": Objects.token, "name": "drifting", "id": "drifting", "outputs": state},))

    def found() -> list[tuple[str, str]]:
        seen = kubernetes.look(known)
        assert seen.silent == ""
        return [(one.code, str(one.subject)) for one in kubernetes.findings(seen, known, now=dt.datetime.now(dt.UTC)) if one.code != Code.CERTIFICATE]

    assert found() == []
    api = kubernetes_cluster.api()
    api.merge(Key("v1", "ConfigMap", "default", "changed"), {"data": {"colour": "blue"}})
    api.delete(Key("v1", "ConfigMap", "default", "deleted"))
    assert found() == [(Code.OBJECT_CHANGED, "ConfigMap default/changed: data.colour"), (Code.OBJECT_GONE, "ConfigMap default/deleted")]
    Objects().update(inputs, made, works.Notes().work())
    assert found() == []
    assert "API server" in kubernetes.look(known).certificates


def test_a_simulated_node_that_somebody_deleted_is_missed(kubernetes_cluster: cluster.Cluster) -> None:
    kind, notes = kwok_nodes.Nodes(), works.Notes()
    wanted = queues.kubernetes_of(test_queues.cluster())
    inputs = kwok_nodes.KwokNodesInputs(**kwok_nodes.inputs_of(wanted, spec.KwokNodes("train", 2)), kubeconfig=kubernetes_cluster.kubeconfig)
    made = kind.create(inputs, notes.work())
    state = {**dataclasses.asdict(inputs), **made}
    known = examples.known(cluster=test_queues.cluster(nodes=0), resources=({"type": kind.token, "name": "nodes", "id": "train-kwok", "outputs": state},))

    def gone() -> list[str]:
        found = kubernetes.findings(kubernetes.look(known), known, now=dt.datetime.now(dt.UTC))
        return [str(one.subject) for one in found if one.code == Code.OBJECT_GONE]

    assert gone() == []
    kubernetes_cluster.api().delete(Key("v1", "Node", "", "train-kwok-1"))
    assert gone() == ["Node train-kwok-1"]
    kind.delete(inputs, made, notes.work())
