"""Whether pods get an interface in every secondary network of their pool: a check of acceptance."""

import functools
import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from ..provider.kind import Work
from . import acceptance_jobs, apply, labels, manifests, readiness, secondary_networks
from .api import Api, Key, key_of

NAME, NAMESPACE = "interfaces of a pod", "kube-system"
GIVEN_WITHIN_S = 120


def checks(api: Api, inputs: acceptance_jobs.AcceptanceInputs, pool: acceptance_jobs.PoolInputs, work: Work) -> Iterator[dict[str, Any]]:
    """On some nodes, a pod asks for an interface in every network of its pool, and gets it with an address of its range.

    The pods wait for no quota: they are in no account's namespace.
    """
    ranges = inputs.secondary_networks[pool.name]
    marks = {manifests.PART_OF: acceptance_jobs.NAMESPACE}
    asked = [*secondary_networks.objects(NAMESPACE, ranges, marks=marks)]
    pods = {node: _pod(f"{acceptance_jobs.NAMESPACE}-{node}", node, inputs, pool, marks) for node in pool.nodes[: pool.used]}
    try:
        for manifest in (*asked, *pods.values()):
            apply.apply_one(api, manifest, work)
        for node, pod in pods.items():
            ready = functools.partial(_has_interface, api, key_of(pod))
            acceptance_jobs.within(work, ready, within_s=GIVEN_WITHIN_S, awaiting=f"a pod on {node} to get its interfaces")
            found = api.get(key_of(pod)) or pod
            addresses = {name: address for name, address in secondary_networks.given(found).items() if name in ranges}
            wrong = [f"{name}: {addresses.get(name, 'no interface')}" for name, cidr in ranges.items() if not _is_in(addresses.get(name, ""), cidr)]
            wanted = ", ".join(f"{name} in {cidr}" for name, cidr in ranges.items())
            measured = ", ".join(f"{name} {address}" for name, address in addresses.items()) or "none"
            why = _last_event(api, key_of(pod)) or readiness.pod_trouble([found]) or "; ".join(wrong)
            yield acceptance_jobs.check(node, NAME, wanted, measured, why, ok=not wrong)
    finally:
        for manifest in (*pods.values(), *asked):
            api.delete(key_of(manifest))


def _pod(name: str, node: str, inputs: acceptance_jobs.AcceptanceInputs, pool: acceptance_jobs.PoolInputs, marks: Mapping[str, str]) -> dict[str, Any]:
    annotations = {secondary_networks.ASKED: ", ".join(inputs.secondary_networks[pool.name])}
    spec = {
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "nodeSelector": {labels.HOST: node},
        "tolerations": [dict(one) for one in pool.tolerations],
        "containers": [{"name": "waits", "image": acceptance_jobs.image(inputs, acceptance_jobs.PAUSE)}],
    }
    metadata = {"name": name, "namespace": NAMESPACE, "labels": dict(marks), "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _has_interface(api: Api, key: Key) -> bool:
    return bool(secondary_networks.given(api.get(key) or {"metadata": {}}))


def _last_event(api: Api, key: Key) -> str:
    """Give what the kubelet last complained of."""
    found = [one for one in api.list("v1", "Event", namespace=key.namespace) if one["involvedObject"]["name"] == key.name and one.get("type") == "Warning"]
    return str(max(found, key=lambda one: one.get("lastTimestamp") or "").get("message", "")) if found else ""


def _is_in(address: str, cidr: str) -> bool:
    return bool(address) and ipaddress.ip_address(address) in ipaddress.ip_network(cidr)
