"""The local target: hosts are containers on this machine, and so every other target can be rehearsed here."""

import dataclasses
from collections.abc import Collection
from typing import Any

import pulumi

from blueprints.project import project_root
from blueprints.spec import ClusterSpec

from .. import bake, contract
from ..finish import content
from ..provider.resource import OwnResource, plain


@dataclasses.dataclass(frozen=True, slots=True)
class Foundation(contract.Foundation):
    """What all offerings of a stack on this machine share."""

    cluster: ClusterSpec
    stack: str
    site: OwnResource
    network: OwnResource
    opts: pulumi.ResourceOptions

    @property
    def place(self) -> dict[str, Any]:
        """Give the inputs by which every resource here names its stack."""
        return _place(self.stack, self.site)

    def after(self, *others: pulumi.Resource) -> pulumi.ResourceOptions:
        """Give the options of a resource that comes after the site and others."""
        return _after(self.opts, self.site, *others)

    def baked(self, name: str, *, playbook: str = bake.PLAYBOOK, without: Collection[str] = ()) -> OwnResource:
        """Create the image that hosts of one scheduler start from.

        Args:
            without: parts of the software profile that the image doesn't depend on.
        """
        software = self.cluster.software
        other = {} if playbook == bake.PLAYBOOK else {"playbook": playbook}
        return OwnResource(
            "clusterwright:local:Image",
            name,
            inputs={
                "profile": software.profile,
                "suite": software.suite,
                "content": content.fingerprint(playbook),
                "software": {key: value for key, value in plain(software).items() if key not in without},
                **other,
            },
            outputs=("name", "lowers"),
            opts=self.after(),
        )

    def folder(self, name: str, *, target: str, protect: bool) -> contract.Mount:
        """Create a folder that hosts mount at `target`."""
        return _folder(name, _place(self.stack, self.site), target=target, protect=protect, opts=self.after())


class Local:
    """Implements `contract.Target`."""

    def __init__(self, cluster: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions):
        self._cluster, self._stack, self._opts = cluster, stack, opts

    def foundation(self) -> Foundation:
        cluster, network = self._cluster, self._cluster.network
        site = OwnResource(
            "clusterwright:local:Site",
            "site",
            inputs={"stack": self._stack, "owner": str(project_root()), "cidr": network.cidr},
            outputs=("token",),
            opts=self._opts,
        )
        place, opts = _place(self._stack, site), _after(self._opts, site)
        ranges = [
            {"prefix": group.prefix, "count": group.count, "first_address": group.first_address, **({"members": group.members} if group.members else {})}
            for group in cluster.host_groups
        ]
        bridge = OwnResource(
            "clusterwright:local:Network",
            "network",
            inputs={
                **place,
                "cidr": network.cidr,
                "gateway": network.gateway,
                "domain": network.domain,
                "host_ranges": ranges,
                "names": {"balancer": network.balancer_address},
            },
            outputs=("bridge",),
            opts=opts,
        )
        mounts = tuple(_folder(one.name, place, target=one.mount, protect=one.protect, opts=opts) for one in cluster.storage)
        return Foundation(mounts=mounts, cluster=cluster, stack=self._stack, site=site, network=bridge, opts=self._opts)


def _place(stack: str, site: OwnResource) -> dict[str, Any]:
    return {"stack": stack, "site": site.output("token")}


def _after(opts: pulumi.ResourceOptions, *others: pulumi.Resource) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[*others]))


def _folder(name: str, place: dict[str, Any], *, target: str, protect: bool, opts: pulumi.ResourceOptions) -> contract.Mount:
    options = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(protect=protect))
    inputs = {**place, "name": name, "protect": protect}
    folder = OwnResource("clusterwright:local:Folder", name, inputs=inputs, outputs=("path", "incarnation"), opts=options)
    return contract.Mount(source=folder.output("path"), incarnation=folder.output("incarnation"), target=target, resource=folder)
