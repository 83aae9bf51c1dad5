"""What drift sees of a real API server."""

import datetime as dt

import pytest

from components.inspection import kubernetes
from components.inspection.codes import Code
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
