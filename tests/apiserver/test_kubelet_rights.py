"""What a node may do that reboots when it lacks something (playbooks/roles/kube_health), asked of the API server as the kubelet that it acts as."""

import pytest

from components.kubernetes.api import Api

pytestmark = pytest.mark.engine

NODE = "train-0"


def may(api: Api, verb: str, subresource: str = "", *, on: str = "") -> bool:
    selected = {"fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": [on]}]}} if on else {}
    attributes = {"verb": verb, "resource": "pods", "subresource": subresource, **selected}
    asked = {"user": f"system:node:{NODE}", "groups": ["system:nodes", "system:authenticated"], "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {"name": ""}, "spec": asked}
    return bool(api.create(review)["status"]["allowed"])


def test_a_node_sees_its_own_pods_and_asks_them_to_leave(api: Api) -> None:
    assert may(api, "list", on=NODE)
    assert may(api, "create", "eviction")


def test_a_node_sees_no_pods_of_others(api: Api) -> None:
    assert not may(api, "list", on="train-1")
    assert not may(api, "list")
