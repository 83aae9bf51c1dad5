"""The metal target: servers that exist already, from the blueprint's inventory. The stack adopts them, and releases them when it is removed."""

import dataclasses

import pulumi

from blueprints.project import project_root
from blueprints.spec import ClusterSpec, Site

from .. import contract
from ..provider.resource import OwnResource


@dataclasses.dataclass(frozen=True, slots=True)
class Foundation(contract.Foundation):
    """What all offerings of a stack on a site's servers share."""

    cluster: ClusterSpec
    inventory: Site
    stack: str
    owner: str
    site: OwnResource
    opts: pulumi.ResourceOptions

    def after(self, *others: pulumi.Resource) -> pulumi.ResourceOptions:
        """Give the options of a resource that comes after the site and others."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(depends_on=[self.site, *others]))


class Metal:
    """Implements `contract.Target`."""

    def __init__(self, cluster: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions):
        self._cluster, self._stack, self._opts = cluster, stack, opts

    def foundation(self) -> Foundation:
        if self._cluster.site is None:
            raise pulumi.RunError(
                f"the blueprint of {self._cluster.name} names no hosts\n"
                "  why: this target provisions no hosts: it adopts those of an inventory\n"
                "  do:  add an `inventory`, and name its hosts in `control.hosts`, `access.hosts` and `pools.<name>.hosts`"
            )
        owner = str(project_root())
        site = OwnResource("clusterwright:metal:Site", "site", inputs={"stack": self._stack, "owner": owner}, outputs=("token",), opts=self._opts)
        return Foundation(mounts=(), cluster=self._cluster, inventory=self._cluster.site, stack=self._stack, owner=owner, site=site, opts=self._opts)
