"""Kubernetes on containers of this machine: hosts that run containers themselves. All start at once; nodes join when the control plane is finished.

Hosts of elastic pools are started and ended by the autoscaler on the control plane (`components/elastic/kubernetes`), and join by themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints.spec import HostGroup, Kubernetes, NodeSet

from ... import contract
from ...provider.resource import OwnResource
from .. import fleet
from ..recipe import CONTROL_PLANE, NODE, RELEASES
from ..target import Foundation

IMAGE = "kubernetes_image.yml"
"""The playbook that bakes the hosts' image."""
NOT_IN_IMAGE = ("slurm", "kubernetes", "tested_on")
"""What of a software profile's record the image doesn't depend on."""


class KubernetesHosts:
    """Implements `contract.KubernetesOffering`."""

    in_place = False

    def __init__(self) -> None:
        self._image: OwnResource | None = None
        self._elastic: dict[str, OwnResource] = {}
        self._fleet: pulumi.Output[dict[str, Any]] | None = None

    def control(self, kubernetes: Kubernetes, *, foundation: Foundation, keys: contract.KubernetesKeys) -> contract.Hosts:
        if kubernetes.control is None:
            raise pulumi.RunError("Kubernetes on hosts needs hosts for its control plane, and the blueprint asks for a service")
        self._image = foundation.baked("kubernetes-image", playbook=IMAGE, without=NOT_IN_IMAGE)
        image, head = self._image, kubernetes.control
        elastic = [one for one in kubernetes.node_sets if one.is_elastic]
        self._elastic = {
            one.hosts.name: _elastic_pool(one.hosts, foundation, _inputs(one.hosts, NODE, foundation, keys, image=image, control=head)) for one in elastic
        }
        if elastic:
            templates = pulumi.Output.all(**{name: pool.output("template") for name, pool in self._elastic.items()})
            self._fleet = templates.apply(lambda known: fleet.table(foundation.cluster, foundation.stack, known))
        inputs = {**_inputs(kubernetes.control, CONTROL_PLANE, foundation, keys, image=image, control=head), **({"starts_hosts": True} if elastic else {})}
        return _hosts(kubernetes.control, foundation, inputs)

    def fleet(self) -> pulumi.Output[dict[str, Any]] | None:
        return self._fleet

    def nodes(
        self,
        node_sets: Sequence[NodeSet],
        *,
        foundation: Foundation,
        keys: contract.KubernetesKeys,
        control: contract.Hosts,
        after: pulumi.Resource,
    ) -> Sequence[contract.Hosts]:
        if self._image is None:
            raise TypeError("the control plane comes first")
        image, head = self._image, control.group
        return [
            fleet.coming_and_going(one.hosts, self._elastic[one.hosts.name])
            if one.hosts.name in self._elastic
            else _hosts(one.hosts, foundation, _inputs(one.hosts, NODE, foundation, keys, image=image, control=head))
            for one in node_sets
        ]

    def provided(self, kubernetes: Kubernetes, *, foundation: Foundation) -> Mapping[str, Any]:
        return {"releases": RELEASES, "rehearsal": True}


def _inputs(
    group: HostGroup,
    role: str,
    shared: Foundation,
    keys: contract.KubernetesKeys,
    *,
    image: OwnResource,
    control: HostGroup,
) -> dict[str, Any]:
    network, gpus = shared.cluster.network, group.machine.gpus
    return {
        **shared.place,
        "group": group.name,
        "role": role,
        "cluster": shared.cluster.name,
        "prefix": group.prefix,
        "count": group.count,
        "first_address": group.first_address,
        "cidr": network.cidr,
        "gateway": network.gateway,
        "bridge": shared.network.output("bridge"),
        "controllers": list(control.hostnames),
        "image": image.output("name"),
        "lowers": image.output("lowers"),
        "mounts": [{"path": mount.source, "incarnation": mount.incarnation, "target": mount.target, "read_only": False} for mount in shared.mounts],
        "simulated_gpus": gpus.count if gpus else 0,
        "admin_public_key": keys.admin.public,
        "munge_key": "",
        "expected": "",
        "host_key": "",
    }


def _hosts(group: HostGroup, shared: Foundation, inputs: Mapping[str, Any]) -> contract.Hosts:
    pool = OwnResource("clusterwright:local:HostPool", group.name, inputs=inputs, outputs=("up", "hosts", "boots"), opts=_after(shared))
    return contract.Hosts(group=group, described=pool.output("hosts"), boots=pool.output("boots"), resource=pool)


def _elastic_pool(group: HostGroup, shared: Foundation, inputs: Mapping[str, Any]) -> OwnResource:
    return OwnResource("clusterwright:local:ElasticPool", group.name, inputs=inputs, outputs=("template",), opts=_after(shared))


def _after(shared: Foundation) -> pulumi.ResourceOptions:
    return shared.after(shared.network, *(mount.resource for mount in shared.mounts))
