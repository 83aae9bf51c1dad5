"""What pods of accounts may reach, and who may change that. Pure.

All that a policy of the namespace doesn't name is closed, in both directions. Open are: other pods of the account, the cluster's DNS, the API server, and addresses outside of the cluster
(data, packages, trackers). Closed are pods of other accounts and of the system, and the hosts themselves: file servers, registries and kubelets that answer there trust their network.
Pods that use the host's network have none of this: they are the host to everybody.
Where the blueprint has addresses for services of type LoadBalancer, clients outside of the cluster reach pods too.

Policies add up, so that one more could open everything. Members of an account therefore have none of their own.
Source: Kubernetes, "Network Policies"; labels of CoreDNS as kubeadm writes them.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints.spec import ClusterSpec, Kubernetes

from . import pod_rules

GROUP, RESOURCE = "networking.k8s.io", "networkpolicies"
NAME = "same-namespace"
SYSTEM = "kube-system"
DNS = {"k8s-app": "kube-dns"}
DNS_PORT, API_PORTS = 53, (6443, 6444)
"""The API server listens on the second one where several hosts share its address (playbooks/kubernetes.yml)."""
EVERYWHERE = "0.0.0.0/0"


def of_account(namespace: str, spec: ClusterSpec, *, marks: Mapping[str, str]) -> dict[str, Any]:
    """Give the policy of an account's namespace. Where a cloud runs the control plane, its addresses are unknown, and pods may reach everything."""
    own: list[dict[str, Any]] = [{"podSelector": {}}]
    rules: dict[str, Any] = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": own}, *_from_outside(spec)]}
    if spec.kubernetes is not None and spec.kubernetes.control is not None:
        rules = {**rules, "policyTypes": ["Ingress", "Egress"], "egress": [{"to": own}, *_outside(spec, spec.kubernetes)]}
    metadata = {"name": NAME, "namespace": namespace, "labels": dict(marks)}
    return {"apiVersion": f"{GROUP}/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": rules}


def rule(*, marks: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Keep members of accounts from opening what is closed, and from closing what others rely on."""
    may_all = f"authorizer.group('{GROUP}').resource('{RESOURCE}').namespace('{SYSTEM}').check('delete').allowed()"
    yield from pod_rules.policy(
        "clusterwright-network-policies",
        {"network policies of accounts belong to the cluster: ask its administrators": "false"},
        marks=marks,
        group=GROUP,
        asked=tuple((operation, RESOURCE) for operation in ("CREATE", "UPDATE", "DELETE")),
        conditions={"by-a-member": f"!{may_all}"},
    )


def _from_outside(spec: ClusterSpec) -> Iterator[dict[str, Any]]:
    """Open pods to addresses outside of the cluster where services of accounts can have one that is reached from there."""
    kubernetes = spec.kubernetes
    if kubernetes is not None and kubernetes.load_balancer_cidr:
        yield {"from": [{"ipBlock": {"cidr": EVERYWHERE, "except": sorted((kubernetes.pod_cidr, kubernetes.service_cidr), key=ipaddress.IPv4Network)}}]}


def _outside(spec: ClusterSpec, kubernetes: Kubernetes) -> Iterator[dict[str, Any]]:
    dns = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SYSTEM}}, "podSelector": {"matchLabels": DNS}}
    yield {"to": [dns], "ports": [{"protocol": protocol, "port": DNS_PORT} for protocol in ("UDP", "TCP")]}
    inside = sorted({one for one in (spec.network.cidr, kubernetes.pod_cidr, kubernetes.service_cidr) if one}, key=ipaddress.IPv4Network)
    hosts = spec.network.cidr or EVERYWHERE
    yield {"to": [{"ipBlock": {"cidr": hosts}}], "ports": [{"protocol": "TCP", "port": port} for port in API_PORTS]}
    yield {"to": [{"ipBlock": {"cidr": EVERYWHERE, **({"except": inside} if inside else {})}}]}
