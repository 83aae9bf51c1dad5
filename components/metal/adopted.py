"""Groups of servers that exist already, adopted for a scheduler: one resource for each group."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints import ssh_places
from blueprints.spec import HostGroup, SiteHost, SiteRoce

from .. import contract
from ..provider.resource import OwnResource
from .target import Foundation


class Adopted:
    """A group of adopted servers.

    Args:
        port: of their SSH servers.
    """

    def __init__(self, group: HostGroup, resource: OwnResource, interfaces: Mapping[str, Sequence[Mapping[str, Any]]], *, port: int):
        # Without a port, a host is what earlier versions recorded.
        place = {} if port == ssh_places.SSH_PORT else {"port": port}
        described = resource.output("hosts").apply(lambda hosts: [{**one, **place, "interfaces": interfaces.get(one["name"], [])} for one in hosts])
        self.hosts = contract.Hosts(group=group, described=described, boots=resource.output("boots"), resource=resource)
        self.hardware = resource.output("hardware")


class Groups:
    """Adopts the groups of a cluster.

    Args:
        admin: finishing logs in with it.
        controllers: the group that the others work for.
        munge: key of MUNGE, Base64; empty where no Slurm runs.
    """

    def __init__(self, shared: Foundation, *, admin: contract.SshKey, controllers: HostGroup, munge: pulumi.Input[str] = ""):
        self._shared, self._admin, self._munge = shared, admin, munge
        self._known = shared.inventory.by_name
        self._controllers = [self._known[name].address for name in controllers.hostnames]

    def adopt(self, group: HostGroup, *, role: str = "", least: int | None = None, must_have: str = "") -> Adopted:
        """Adopt the servers of a group.

        Args:
            role: what runs on them; empty: the group's own.
            least: how many of them must answer; None: all.
            must_have: what a compute node must have before it takes jobs (`node_expectations`).
        """
        shared, inventory = self._shared, self._shared.inventory
        inputs: dict[str, Any] = {
            "stack": shared.stack,
            "site": shared.site.output("token"),
            "owner": shared.owner,
            "group": group.name,
            "role": role or group.role,
            "cluster": shared.cluster.name,
            "login": {"user": inventory.user, "port": inventory.port, "identity": inventory.identity},
            "members": [_member(self._known[name]) for name in group.hostnames],
            "least": group.count if least is None else least,
            "controllers": self._controllers,
            "admin_public_key": self._admin.public,
            "admin_private_key": self._admin.private,
            "munge_key": self._munge,
            "expected": must_have,
        }
        resource = OwnResource("clusterwright:metal:Hosts", group.name, inputs=inputs, outputs=("up", "hosts", "boots", "hardware"), opts=shared.after())
        return Adopted(group, resource, {name: _interfaces(self._known[name], inventory.roce) for name in group.hostnames}, port=inventory.port)


def _member(host: SiteHost) -> dict[str, str]:
    return {"name": host.name, "address": host.address, "host_key": host.host_key}


def _interfaces(host: SiteHost, roce: SiteRoce | None) -> list[dict[str, Any]]:
    """List the interfaces of which the inventory says more than what they are, each with how RoCE marks its packets."""
    marking = {"roce": {"dscp": roce.dscp, "priority": roce.priority, "cnp_dscp": roce.cnp_dscp, "cnp_priority": roce.cnp_priority}} if roce else {}
    described = (dataclasses.asdict(one) for one in host.interfaces if one.address or one.mtu or one.routes or one.partition_key)
    # A host is configured again when what is said of it changes: without a key, it is what earlier versions said.
    return [{**{name: value for name, value in one.items() if name != "partition_key" or value}, **marking} for one in described]


def addresses(shared: Foundation, groups: Sequence[HostGroup]) -> dict[str, str]:
    """Give the address of each host of groups, by its name."""
    known = shared.inventory.by_name
    return {name: known[name].address for group in groups for name in group.hostnames}
