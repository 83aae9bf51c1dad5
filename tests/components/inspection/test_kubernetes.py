"""What drift says of a Kubernetes cluster. tests/apiserver has a real one."""

import dataclasses
import datetime as dt
from typing import Any

import pytest

from blueprints import spec
from blueprints.finding.subject import ClusterObject
from components.elastic.kubernetes.model import STARTED_FROM, STOPPING
from components.inspection import kubernetes
from components.inspection.codes import Code
from components.inspection.recorded_cluster import Known
from components.kubernetes import labels
from components.kubernetes.api import Key
from tests.components.kubernetes import test_queues
from tests.drift import examples

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
TAINT = spec.Taint("nvidia.com/gpu", "present", "NoSchedule")


def known() -> Known:
    return examples.known(cluster=test_queues.cluster(nodes=1).with_node_sets(lambda one: dataclasses.replace(one, taints=(TAINT,))))


def node(name: str = "train-0", *, ready: str = "True", healthy: str = "True", gpus: int = 8, version: str = "v1.34.4", **changes: Any) -> dict[str, Any]:
    spec_of_node = {"taints": [{"key": TAINT.key, "value": TAINT.value, "effect": TAINT.effect}], **changes}
    status = {
        "conditions": [{"type": "Ready", "status": ready, "message": "silent"}, {"type": labels.HEALTHY, "status": healthy, "message": "7 of 8 GPUs"}],
        "allocatable": {labels.GPU: str(gpus)},
        "nodeInfo": {"kubeletVersion": version},
    }
    return {"kind": "Node", "metadata": {"name": name, "labels": {labels.POOL: "train"}}, "spec": spec_of_node, "status": status}


def found(seen: kubernetes.Seen) -> list[tuple[str, str]]:
    return [(one.code, str(one.subject)) for one in kubernetes.findings(seen, known(), now=NOW)]


def test_a_cluster_as_recorded_has_no_findings() -> None:
    same = kubernetes.Compared(Key("v1", "ConfigMap", "a", "b"), {"data": {"x": "1"}}, {"data": {"x": "1"}})
    assert found(kubernetes.Seen((same,), nodes=(node(),), certificates={"administrator": NOW + dt.timedelta(days=365)})) == []


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ((), [(Code.KUBE_NODE_MISSING, "Node train-0")]),
        ((node(), node("other")), [(Code.KUBE_NODE_ADDED, "Node other")]),
        ((node(ready="Unknown"),), [(Code.KUBE_NODE_UNREADY, "Node train-0")]),
        ((node(gpus=7),), [(Code.KUBE_NODE_CHANGED, "Node train-0")]),
        ((node(gpus=7, healthy="False"),), [(Code.KUBE_NODE_UNHEALTHY, "Node train-0")]),
        ((node(healthy="Unknown"),), []),
        ((node(version="v1.33.1"),), [(Code.KUBE_NODE_CHANGED, "Node train-0")]),
        ((node(unschedulable=True),), [(Code.KUBE_NODE_CORDONED, "Node train-0")]),
        ((node(taints=[{"key": TAINT.key, "value": "absent", "effect": TAINT.effect}]),), [(Code.KUBE_NODE_CHANGED, "Node train-0: taint nvidia.com/gpu")]),
        ((node(taints=[]),), [(Code.KUBE_NODE_CHANGED, "Node train-0: taint nvidia.com/gpu")]),
        (({**node(), "metadata": {"name": "train-0"}},), [(Code.KUBE_NODE_CHANGED, "Node train-0: clusterwright.io/pool")]),
    ],
)
def test_a_node_that_is_not_as_it_should_be_is_found(nodes: tuple[dict[str, Any], ...], expected: list[tuple[str, str]]) -> None:
    assert found(kubernetes.Seen(nodes=nodes)) == expected


@pytest.mark.parametrize(
    ("lacks", "changed", "expected"),
    [
        ("", {}, []),
        (labels.RACK, {}, [(Code.KUBE_NODE_CHANGED, "Node train-0: clusterwright.io/rack")]),
        ("", {labels.RACK: "r2"}, [(Code.KUBE_NODE_CHANGED, "Node train-0: clusterwright.io/rack")]),
        ("team", {}, [(Code.KUBE_NODE_CHANGED, "Node train-0: team")]),
        ("", {"team": "vision"}, [(Code.KUBE_NODE_CHANGED, "Node train-0: team")]),
    ],
)
def test_a_label_that_somebody_changed_is_found(lacks: str, changed: dict[str, str], expected: list[tuple[str, str]]) -> None:
    recorded = known()
    site = spec.Site("root", 22, (spec.SiteHost("train-0", "10.0.0.5", "", rack="r1"),))
    cluster = dataclasses.replace(recorded.cluster, site=site).with_node_sets(lambda one: dataclasses.replace(one, labels=(("team", "nlp"),)))
    labelled = node()
    labelled["metadata"]["labels"] |= {labels.RACK: "r1", "team": "nlp", **changed}
    labelled["metadata"]["labels"].pop(lacks, None)
    seen = kubernetes.findings(kubernetes.Seen(nodes=(labelled,)), dataclasses.replace(recorded, cluster=cluster), now=NOW)
    assert [(one.code, str(one.subject)) for one in seen] == expected


def of_autoscaler(annotations: dict[str, str], **changes: Any) -> dict[str, Any]:
    return {**(found := node(**changes)), "metadata": {**found["metadata"], "annotations": annotations}}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ((), []),
        ((of_autoscaler({STARTED_FROM: "a"}),), []),
        ((of_autoscaler({}, ready="Unknown", taints=[], gpus=0),), []),
        ((of_autoscaler({STARTED_FROM: "a", STOPPING: "idle"}, unschedulable=True),), []),
        ((of_autoscaler({STARTED_FROM: "a"}, version="v1.33.1"),), []),
        ((of_autoscaler({STARTED_FROM: "a"}, unschedulable=True),), [Code.KUBE_NODE_CORDONED]),
        ((of_autoscaler({STARTED_FROM: "a"}, healthy="False"),), [Code.KUBE_NODE_UNHEALTHY]),
        ((of_autoscaler({STARTED_FROM: "a"}, taints=[]),), [Code.KUBE_NODE_CHANGED]),
    ],
)
def test_an_elastic_node_may_be_absent_or_on_its_way(nodes: tuple[dict[str, Any], ...], expected: list[str]) -> None:
    recorded = known()
    elastic = dataclasses.replace(recorded, cluster=recorded.cluster.with_node_sets(lambda one: dataclasses.replace(one, minimum=0)))
    assert [one.code for one in kubernetes.findings(kubernetes.Seen(nodes=nodes), elastic, now=NOW)] == expected


def test_a_node_beyond_a_smaller_maximum_may_stay_while_it_runs_pods_and_another_may_not() -> None:
    recorded = known()
    elastic = dataclasses.replace(recorded, cluster=recorded.cluster.with_node_sets(lambda one: dataclasses.replace(one, minimum=0)))

    def added(of: Known, *nodes: dict[str, Any]) -> list[str]:
        return [str(one.subject) for one in kubernetes.findings(kubernetes.Seen(nodes=nodes), of, now=NOW) if one.code is Code.KUBE_NODE_ADDED]

    assert added(elastic, of_autoscaler({STARTED_FROM: "a"}, name="train-7"), of_autoscaler({}, name="train-8")) == ["Node train-8"]
    assert added(recorded, of_autoscaler({STARTED_FROM: "a"}, name="train-7")) == ["Node train-7"]


def test_a_lost_host_of_several_of_a_control_plane_is_found() -> None:
    recorded = known()
    assert recorded.cluster.kubernetes is not None
    assert recorded.cluster.kubernetes.control is not None
    control = dataclasses.replace(recorded.cluster.kubernetes.control, count=3)
    of_three = dataclasses.replace(
        recorded, cluster=dataclasses.replace(recorded.cluster, kubernetes=dataclasses.replace(recorded.cluster.kubernetes, control=control))
    )
    nodes = (node(), *(node(name, gpus=0, ready="Unknown" if name.endswith("1") else "True") for name in control.hostnames))
    seen = kubernetes.findings(kubernetes.Seen(nodes=nodes), of_three, now=NOW)
    assert [(one.code, str(one.subject)) for one in seen] == [(Code.KUBE_NODE_UNREADY, "Node kubernetes-1")]


def test_a_changed_field_is_found_with_both_values() -> None:
    key = Key("apps/v1", "Deployment", "system", "manager")
    compared = kubernetes.Compared(key, {"spec": {"replicas": 3}, "metadata": {}}, {"spec": {"replicas": 1}, "metadata": {}})
    [one] = kubernetes.findings(kubernetes.Seen((compared,), nodes=(node(),)), known(), now=NOW)
    assert one.subject == ClusterObject("Deployment", "manager", "system", "spec.replicas")
    assert one.values is not None
    assert (one.values.recorded, one.values.actual) == ("1", "3")


def test_what_is_gone_added_silent_or_expiring_is_found() -> None:
    gone = kubernetes.Compared(Key("v1", "ConfigMap", "a", "b"), None, {})
    queue = Key("kueue.x-k8s.io/v1beta1", "ClusterQueue", "", "mine")
    seen = kubernetes.Seen((gone,), (queue,), (node(),), {"API server": NOW + dt.timedelta(days=3)})
    assert found(seen) == [(Code.OBJECT_GONE, "ConfigMap a/b"), (Code.QUEUE_ADDED, "ClusterQueue mine"), (Code.CERTIFICATE, "certificate API server")]
    assert found(kubernetes.Seen(silent="refused")) == [(Code.API_SILENT, "API server starter")]


def test_simulated_nodes_are_no_drift_where_the_blueprint_has_kwok() -> None:
    simulated = node("kwok-0")
    simulated["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
    seen = kubernetes.Seen(nodes=(node(), simulated))
    assert found(seen) == [(Code.KUBE_NODE_ADDED, "Node kwok-0")]
    without = known()
    assert without.cluster.kubernetes
    with_kwok = dataclasses.replace(without.cluster.kubernetes, addons=(spec.Addon("kwok", "v0.7.0"),))
    asked = dataclasses.replace(without, cluster=dataclasses.replace(without.cluster, kubernetes=with_kwok))
    assert [one.code for one in kubernetes.findings(seen, asked, now=NOW)] == []
