"""Whether a service of type LoadBalancer gets an address of the blueprint's range: a check of acceptance.

Whether clients reach it is not judged: this machine need not be in the hosts' network.
"""

import ipaddress
from collections.abc import Iterator
from typing import Any

from blueprints.spec import METALLB

from ..provider.kind import Work
from . import acceptance_jobs, apply, labels, load_balancers, manifests
from .api import Api, Key

KEY = Key("v1", "Service", load_balancers.NAMESPACE, labels.ACCEPTANCE)
NAME = "address of a service"
GIVEN_WITHIN_S = 60


def checks(api: Api, cidr: str, work: Work) -> Iterator[dict[str, Any]]:
    """Create a service, wait for its address, and delete it. A range whose addresses users' services all have proves the same."""
    network = ipaddress.IPv4Network(cidr)
    of_users = [one for one in api.list("v1", "Service") if one["metadata"]["name"] != KEY.name]
    if sum(_is_in(address, network) for one in of_users for address in addresses(one)) >= network.num_addresses:
        yield acceptance_jobs.check(METALLB, NAME, f"one of {cidr}", "services have all of them", "", ok=True)
        return
    apply.apply_one(api, _service(), work)
    try:
        acceptance_jobs.within(work, lambda: bool(addresses(api.get(KEY) or {})), within_s=GIVEN_WITHIN_S, awaiting="an address for a service")
        found = addresses(api.get(KEY) or {})
        why = "" if found else _last_event(api) or f"nothing gave it an address within {GIVEN_WITHIN_S} s"
    finally:
        api.delete(KEY)
    ok = any(_is_in(one, network) for one in found)
    yield acceptance_jobs.check(METALLB, NAME, f"one of {cidr}", ", ".join(found) or "none", why or "it is of another range", ok=ok)


def addresses(service: dict[str, Any]) -> list[str]:
    """Give the addresses at which clients outside reach a service. Pure."""
    return [str(one["ip"]) for one in service.get("status", {}).get("loadBalancer", {}).get("ingress", ()) if "ip" in one]


def _service() -> dict[str, Any]:
    # No pod has this label: nothing answers at the address, and no node announces it.
    spec = {"type": "LoadBalancer", "selector": {manifests.PART_OF: KEY.name}, "ports": [{"port": 9}], "allocateLoadBalancerNodePorts": False}
    metadata = {"name": KEY.name, "namespace": KEY.namespace, "labels": {manifests.PART_OF: KEY.name}}
    return {"apiVersion": KEY.api_version, "kind": KEY.kind, "metadata": metadata, "spec": spec}


def _is_in(address: str, network: ipaddress.IPv4Network) -> bool:
    return ipaddress.ip_address(address) in network


def _last_event(api: Api) -> str:
    """Give what the controller last said of the service."""
    found = [one for one in api.list("v1", "Event", namespace=KEY.namespace) if one["involvedObject"]["name"] == KEY.name]
    return str(max(found, key=lambda one: one.get("lastTimestamp") or "").get("message", "")) if found else ""
