"""Kubernetes on servers that exist already: each group is adopted as one resource, and configured in place."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints.spec import Kubernetes, NodeSet

from ... import contract
from ..adopted import Adopted, Groups, addresses
from ..target import Foundation

RELEASES = "/var/lib/clusterwright/kubernetes"
"""Where finishing puts what servers need of a release."""
CONTROL_PLANE, NODE = "kubernetes", "kubernetes-node"
"""Roles of servers that run containers."""


class KubernetesHosts:
    """Implements `contract.KubernetesOffering`."""

    in_place = True

    def __init__(self) -> None:
        self._pools: tuple[Adopted, ...] = ()

    def control(self, kubernetes: Kubernetes, *, foundation: Foundation, keys: contract.KubernetesKeys) -> contract.Hosts:
        if kubernetes.control is None:
            raise pulumi.RunError("Kubernetes on hosts needs hosts for its control plane, and the blueprint asks for a service")
        groups = Groups(foundation, admin=keys.admin, controllers=kubernetes.control)
        control = groups.adopt(kubernetes.control, role=CONTROL_PLANE)
        self._pools = tuple(groups.adopt(one.hosts, role=NODE, least=one.reachable_min) for one in kubernetes.node_sets)
        # Too few servers of a pool: then no server is changed.
        return control.hosts.once_there(one.hosts for one in self._pools)

    def nodes(
        self,
        node_sets: Sequence[NodeSet],
        *,
        foundation: Foundation,
        keys: contract.KubernetesKeys,
        control: contract.Hosts,
        after: pulumi.Resource,
    ) -> Sequence[contract.Hosts]:
        return [one.hosts for one in self._pools]

    def fleet(self) -> None:
        """Give none: servers that exist already always run."""

    def provided(self, kubernetes: Kubernetes, *, foundation: Foundation) -> Mapping[str, Any]:
        groups = [*filter(None, [kubernetes.control]), *(one.hosts for one in kubernetes.node_sets)]
        return {"releases": RELEASES, "rehearsal": False, "addresses": addresses(foundation, groups)}
