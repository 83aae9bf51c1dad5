"""Whether pods get an interface in every secondary network of their pool: a check of acceptance."""

import functools
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
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
    wanted = ", ".join(f"{name} in {cidr}" for name, cidr in ranges.items())
    former = _clear(api, work)  # of a run that was killed
    try:
        for manifest in (*asked, *(pod for pod in pods.values() if key_of(pod) not in former)):
            apply.apply_one(api, manifest, work)
        for node, pod in pods.items():
            if key_of(pod) in former:
                # What it says of its interfaces may be what they were.
                yield acceptance_jobs.check(node, NAME, wanted, "none", f"{key_of(pod)} of an earlier run is being deleted and does not go", ok=False)
                continue
            ready = functools.partial(_has_interface, api, key_of(pod))
            acceptance_jobs.within(work, ready, within_s=GIVEN_WITHIN_S, awaiting=f"a pod on {node} to get its interfaces")
            found = api.get(key_of(pod)) or pod
            addresses = {name: address for name, address in secondary_networks.given(found).items() if name in ranges}
            wrong = [f"{name}: {addresses.get(name, 'no interface')}" for name, cidr in ranges.items() if not _is_in(addresses.get(name, ""), cidr)]
            measured = ", ".join(f"{name} {address}" for name, address in addresses.items()) or "none"
            why = _last_event(api, key_of(pod)) or readiness.pod_trouble([found]) or "; ".join(wrong)
            yield acceptance_jobs.check(node, NAME, wanted, measured, why, ok=not wrong)
    finally:
        _clear(api, work)


def _clear(api: Api, work: Work) -> list[Key]:
    """Delete what the check created, and give what does not go."""
    kinds = (("v1", "Pod"), (secondary_networks.API, secondary_networks.KIND))
    marked = f"{manifests.PART_OF}={acceptance_jobs.NAMESPACE}"
    found = [key_of(one) for api_version, kind in kinds for one in api.list(api_version, kind, namespace=NAMESPACE, labels=marked)]
    for key in found:
        api.delete(key)
    if found:
        gone = functools.partial(_are_gone, api, found)
        acceptance_jobs.within(work, gone, within_s=acceptance_jobs.GONE_WITHIN_S, awaiting=f"{', '.join(map(str, found))} to go")
    return [key for key in found if api.get(key) is not None]


def _are_gone(api: Api, keys: Sequence[Key]) -> bool:
    return all(api.get(key) is None for key in keys)


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
