"""Kubernetes on containers of this machine: hosts that run containers themselves. All start at once; nodes join when the control plane is finished."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints.spec import HostGroup, Kubernetes, NodeSet

from ... import contract
from ...provider.resource import OwnResource
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

    def control(self, kubernetes: Kubernetes, *, foundation: Foundation, keys: contract.KubernetesKeys) -> contract.Hosts:
        if kubernetes.control is None:
            raise pulumi.RunError("Kubernetes on hosts needs hosts for its control plane, and the blueprint asks for a service")
        self._image = foundation.baked("kubernetes-image", playbook=IMAGE, without=NOT_IN_IMAGE)
        return _hosts(kubernetes.control, CONTROL_PLANE, foundation, keys, image=self._image, control=kubernetes.control, mounts=foundation.mounts)

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
        return [_hosts(one.hosts, NODE, foundation, keys, image=self._image, control=control.group, mounts=foundation.mounts) for one in node_sets]

    def provided(self, kubernetes: Kubernetes, *, foundation: Foundation) -> Mapping[str, Any]:
        return {"releases": RELEASES, "rehearsal": True}


def _hosts(
    group: HostGroup,
    role: str,
    shared: Foundation,
    keys: contract.KubernetesKeys,
    *,
    image: OwnResource,
    control: HostGroup,
    mounts: Sequence[contract.Mount],
) -> contract.Hosts:
    network, gpus = shared.cluster.network, group.machine.gpus
    inputs = {
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
        "mounts": [{"path": mount.source, "incarnation": mount.incarnation, "target": mount.target, "read_only": False} for mount in mounts],
        "simulated_gpus": gpus.count if gpus else 0,
        "admin_public_key": keys.admin.public,
        "munge_key": "",
        "expected": "",
        "host_key": "",
    }
    after = shared.after(shared.network, *(mount.resource for mount in mounts))
    pool = OwnResource("clusterwright:local:HostPool", group.name, inputs=inputs, outputs=("up", "hosts", "boots"), opts=after)
    return contract.Hosts(group=group, described=pool.output("hosts"), boots=pool.output("boots"), resource=pool)
