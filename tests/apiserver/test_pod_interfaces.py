"""The check that pods get interfaces in secondary networks: a real API server, and Multus played by the test."""

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from components.finish import checks
from components.kubernetes import acceptance_jobs, manifests, pod_interfaces, readiness, secondary_networks
from components.kubernetes.api import Api, Key
from tests import processes
from tests.apiserver import cluster, release, works

pytestmark = pytest.mark.engine

NODE = "train-0"
POD = Key("v1", "Pod", pod_interfaces.NAMESPACE, f"{acceptance_jobs.NAMESPACE}-{NODE}")
NETWORK = Key(secondary_networks.API, secondary_networks.KIND, pod_interfaces.NAMESPACE, "rail0")
DEFINITION = "network-attachment-definitions.k8s.cni.cncf.io"


@pytest.fixture(scope="module")
def api(kubernetes: cluster.Cluster) -> Iterator[Api]:
    """The API with the kind that Multus brings."""
    found = kubernetes.api()
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "network-attachment-definitions", "singular": "network-attachment-definition", "kind": secondary_networks.KIND}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    own = {"group": "k8s.cni.cncf.io", "scope": "Namespaced", "names": names, "versions": versions}
    key = Key("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", DEFINITION)
    found.apply({"apiVersion": key.api_version, "kind": key.kind, "metadata": {"name": DEFINITION}, "spec": own})
    processes.wait_until(lambda: readiness.condition(found.get(key) or {}, "Established") == "True", awaiting="the kind", within_s=60)
    yield kubernetes.api()
    found.delete(key)


@contextlib.contextmanager
def giving(api: Api, *entries: dict[str, Any]) -> Iterator[None]:
    """Write of the check's pod what Multus would, as soon as it is there."""

    def wait_and_give() -> None:
        processes.wait_until(lambda: api.get(POD) is not None, awaiting="the check's pod", within_s=60)
        api.merge(POD, {"metadata": {"annotations": {secondary_networks.STATUS: json.dumps(entries)}}})

    beside = threading.Thread(target=wait_and_give)
    beside.start()
    yield
    beside.join()


def with_rail(kubeconfig: str) -> acceptance_jobs.AcceptanceInputs:
    pool = acceptance_jobs.PoolInputs("train", (NODE,), gpus=0, always=1)
    known: dict[str, Any] = {"cluster": "starter", "version": "1.34.4", "kubeconfig": kubeconfig, "pools": (pool,), "proves": {}, "has_queues": False}
    return acceptance_jobs.AcceptanceInputs(**known, release=str(release.folder()), secondary_networks={"train": {"rail0": "10.40.0.128/25"}})


def verdict(api: Api, kubernetes: cluster.Cluster) -> dict[str, Any]:
    inputs = with_rail(kubernetes.kubeconfig)
    [found] = pod_interfaces.checks(api, inputs, inputs.pools[0], works.Notes().work())
    assert (api.get(POD), api.get(NETWORK)) == (None, None), "the check leaves nothing"
    return found


def on_rail(address: str) -> dict[str, Any]:
    return {"name": "kube-system/rail0", "interface": "net1", "ips": [address]}


def test_an_address_of_the_range_passes(api: Api, kubernetes: cluster.Cluster) -> None:
    with giving(api, {"name": "cbr0", "interface": "eth0", "ips": ["10.224.1.7"]}, on_rail("10.40.0.129")):
        found = verdict(api, kubernetes)
    assert (found["verdict"], found["measured"]) == ("pass", "rail0 10.40.0.129")


def test_an_address_of_another_range_fails_by_its_code(api: Api, kubernetes: cluster.Cluster) -> None:
    with giving(api, on_rail("10.40.0.12")):
        found = verdict(api, kubernetes)
    assert (found["verdict"], found["node"], found["detail"]) == ("fail", NODE, "rail0: 10.40.0.12")
    assert checks.finding(found).code == "CW939"


def test_a_pod_with_one_interface_alone_fails(api: Api, kubernetes: cluster.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_interfaces, "GIVEN_WITHIN_S", 0.5)
    found = verdict(api, kubernetes)
    assert (found["verdict"], found["measured"], found["detail"]) == ("fail", "none", "rail0: no interface")


@pytest.fixture
def former(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """The API with the pod that a run left that was killed, and what Multus had written of it."""
    api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": POD.namespace}}, force=True)
    marks = {manifests.PART_OF: acceptance_jobs.NAMESPACE}
    inputs = with_rail("")
    api.apply(pod_interfaces._pod(POD.name, NODE, inputs, inputs.pools[0], marks))
    api.merge(POD, {"metadata": {"annotations": {secondary_networks.STATUS: json.dumps([on_rail("10.40.0.129")])}}})
    monkeypatch.setattr(pod_interfaces, "GIVEN_WITHIN_S", 0.5)
    monkeypatch.setattr(acceptance_jobs, "GONE_WITHIN_S", 0.5)
    yield api
    if api.get(POD):
        api.merge(POD, {"metadata": {"finalizers": None}})


def test_what_a_killed_run_left_says_nothing_of_the_interfaces_now(former: Api, kubernetes: cluster.Cluster) -> None:
    found = verdict(former, kubernetes)
    assert (found["verdict"], found["measured"]) == ("fail", "none")


def test_a_pod_of_a_killed_run_that_does_not_go_fails(former: Api, kubernetes: cluster.Cluster) -> None:
    former.merge(POD, {"metadata": {"finalizers": ["example.org/waits"]}})
    inputs = with_rail(kubernetes.kubeconfig)
    [found] = pod_interfaces.checks(former, inputs, inputs.pools[0], works.Notes().work())
    assert (found["verdict"], found["detail"]) == ("fail", f"{POD} of an earlier run is being deleted and does not go")
