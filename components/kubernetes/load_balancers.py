"""Addresses of services of type LoadBalancer, which MetalLB gives. Pure.

One node at a time answers for each address (layer 2): the speakers choose it among the nodes that are ready, and another one answers when it is lost. All packets of a service arrive at that node.
Nodes of the control plane never answer: kubeadm labels them so.
Source: MetalLB v0.15, config/crd (kinds), website/content/concepts/layer2.md.
"""

from typing import Any

from blueprints.spec import Kubernetes

NAMESPACE, API, NAME = "metallb-system", "metallb.io/v1beta1", "hosts-network"


def objects(kubernetes: Kubernetes) -> list[dict[str, Any]]:
    """Give the pool of addresses, and that nodes answer for it."""
    metadata = {"name": NAME, "namespace": NAMESPACE}
    return [
        {"apiVersion": API, "kind": "IPAddressPool", "metadata": metadata, "spec": {"addresses": [kubernetes.load_balancer_cidr]}},
        {"apiVersion": API, "kind": "L2Advertisement", "metadata": metadata, "spec": {"ipAddressPools": [NAME]}},
    ]
