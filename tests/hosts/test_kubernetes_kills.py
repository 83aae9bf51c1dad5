"""The engine is killed at five points of a Kubernetes `up`: the next runs go on from what exists, no object is lost, and nothing is left in the end."""

import json
from pathlib import Path

import pytest

from components.local.machine import sweep
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.test_kills import assert_nothing_runs
from tests.hosts.test_kubernetes import CONTROL, NODES, conditions, found, kubectl

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

BEFORE, AFTER = (
    ("HostPool train creating", "kubeadm_control: Begin the control plane", "kubeadm_node: Join the cluster"),
    ("Addon addon-kueue creating", "Acceptance kubernetes-acceptance creating"),
)
"""Lines of `up` at which its engine is killed: while hosts start, in kubeadm, while a node joins; and, where there is an API server, in the middle of an add-on and while acceptance has a queue of its own."""
POINTS = (*BEFORE, *AFTER)


def kill_at(stack: Deployment, point: str) -> None:
    # On a loaded machine, a killed run may have got further than the line at which it was killed: a later point will do.
    later = POINTS[POINTS.index(point) :]
    stack.up_until(lambda line: any(one in line for one in later))
    assert_nothing_runs(stack)


def identities(stack: Deployment, *kinds: str) -> dict[str, str]:
    """Give what tells objects from others that were created again under their names."""
    listed = found(stack, ",".join(kinds), "--all-namespaces")["items"]
    return {f"{one['kind']} {one['metadata'].get('namespace', '')}/{one['metadata']['name']}": one["metadata"]["uid"] for one in listed}


def findings(stack: Deployment) -> list[str]:
    return [f"{one['code']} {one['what']}" for one in json.loads(stack.clusterwright("drift", "--json").stdout)["findings"]]


def test_up_goes_on_after_each_kill_and_loses_no_object(tmp_path: Path) -> None:
    with deployment("test-kubernetes-kills", tmp_path, blueprint="starter-kubernetes") as stack:
        for point in BEFORE:
            kill_at(stack, point)
        kill_at(stack, AFTER[0])
        kubectl(stack, "create", "configmap", "planted", "--from-literal=word=marzipan")
        before = identities(stack, "namespaces", "nodes", "customresourcedefinitions", "configmaps")
        assert {f"Node /{name}" for name in (CONTROL, *NODES)} < before.keys()
        kill_at(stack, AFTER[1])
        stack.up()
        after = identities(stack, "namespaces", "nodes", "customresourcedefinitions", "configmaps")
        assert {name: after.get(name) for name in before} == before
        assert found(stack, "configmap", "planted")["data"] == {"word": "marzipan"}
        assert set(identities(stack, "nodes")) == {f"Node /{name}" for name in (CONTROL, *NODES)}
        assert {conditions(one)["Ready"] for one in found(stack, "nodes")["items"]} == {"True"}
        # What the killed acceptance had created is gone, and each recorded object is as it was applied.
        assert not [name for name in identities(stack, "namespaces") if "acceptance" in name]
        assert stack.preview_changes() == {}
        wait_until(lambda: findings(stack) == [], awaiting="no drift", within_s=SOON_S)
        stack.down()
        assert sweep.left_behind(stack.names) == ()
