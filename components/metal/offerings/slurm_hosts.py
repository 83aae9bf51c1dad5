"""Slurm on servers that exist already: each group is adopted as one resource, and configured in place."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints.spec import HostGroup, NodeSet, SiteHost, SiteRoce, Slurm

from ... import contract
from ...node_expectations import expected
from ...provider.resource import OwnResource
from .. import services
from ..target import Foundation

SSH = 22


class SlurmHosts:
    """Implements `contract.SlurmOffering`."""

    def provision(self, slurm: Slurm, *, foundation: Foundation, keys: contract.SlurmKeys) -> contract.SlurmSite:
        if slurm.control is None:
            raise pulumi.RunError("Slurm on hosts needs controllers, and the blueprint asks for a service")
        groups = _Groups(foundation, keys, controllers=slurm.control)
        control, login = groups.adopt(slurm.control), groups.adopt(foundation.cluster.access)
        pools = tuple(groups.adopt(one.hosts, least=one.reachable_min, must_have=_expected(one, foundation)) for one in slurm.node_sets)
        adopted = (control, login, *pools)
        served = services.described(foundation.cluster, slurm)
        return contract.SlurmSite(
            control=control.hosts,
            login=login.hosts,
            pools=tuple(one.hosts for one in pools),
            endpoint=_shared_endpoint(served["access"]["address"], login, keys) if "access" in served else _endpoint(foundation, login),
            addresses=pulumi.Output.from_input(_addresses(foundation, [one.hosts.group for one in adopted])),
            in_place=True,
            host_services=served,
            hardware=pulumi.Output.all(*(one.hardware for one in adopted)).apply(_merged),
        )


class _Adopted:
    """A group of adopted servers."""

    def __init__(self, group: HostGroup, resource: OwnResource, interfaces: Mapping[str, Sequence[Mapping[str, Any]]]):
        described = resource.output("hosts").apply(lambda hosts: [{**one, "interfaces": interfaces.get(one["name"], [])} for one in hosts])
        self.hosts = contract.Hosts(group=group, described=described, boots=resource.output("boots"), resource=resource)
        self.hardware = resource.output("hardware")


class _Groups:
    """Adopts groups that differ in little."""

    def __init__(self, shared: Foundation, keys: contract.SlurmKeys, *, controllers: HostGroup):
        self._shared, self._keys, self._controllers = shared, keys, controllers

    def adopt(self, group: HostGroup, *, least: int | None = None, must_have: str = "") -> _Adopted:
        shared, inventory = self._shared, self._shared.inventory
        inputs: dict[str, Any] = {
            "stack": shared.stack,
            "site": shared.site.output("token"),
            "owner": shared.owner,
            "group": group.name,
            "role": group.role,
            "cluster": shared.cluster.name,
            "login": {"user": inventory.user, "port": inventory.port, "identity": inventory.identity},
            "members": [_member(shared, name) for name in group.hostnames],
            "least": group.count if least is None else least,
            "controllers": [inventory.by_name[name].address for name in self._controllers.hostnames],
            "admin_public_key": self._keys.admin.public,
            "admin_private_key": self._keys.admin.private,
            "munge_key": self._keys.munge,
            "expected": must_have,
        }
        resource = OwnResource("clusterwright:metal:Hosts", group.name, inputs=inputs, outputs=("up", "hosts", "boots", "hardware"), opts=shared.after())
        return _Adopted(group, resource, {name: _interfaces(inventory.by_name[name], inventory.roce) for name in group.hostnames})


def _member(shared: Foundation, name: str) -> dict[str, str]:
    host = shared.inventory.by_name[name]
    return {"name": host.name, "address": host.address, "host_key": host.host_key}


def _interfaces(host: SiteHost, roce: SiteRoce | None) -> list[dict[str, Any]]:
    """List the interfaces of which the inventory says more than what they are, each with how RoCE marks its packets."""
    marking = {"roce": {"dscp": roce.dscp, "priority": roce.priority, "cnp_dscp": roce.cnp_dscp, "cnp_priority": roce.cnp_priority}} if roce else {}
    return [{**dataclasses.asdict(one), **marking} for one in host.interfaces if one.address or one.mtu or one.routes]


def _addresses(shared: Foundation, groups: Sequence[HostGroup]) -> dict[str, str]:
    return {name: shared.inventory.by_name[name].address for group in groups for name in group.hostnames}


def _merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: one for part in parts for name, one in part.items()}


def _endpoint(shared: Foundation, login: _Adopted) -> contract.Endpoint:
    """Give the first login node: users reach it with its own host key."""
    first = shared.inventory.by_name[login.hosts.group.hostname(0)]
    address = login.hosts.described.apply(lambda _: first.address)
    return contract.Endpoint(address=address, port=shared.inventory.port, host_key=pulumi.Output.from_input(first.host_key))


def _shared_endpoint(address: str, login: _Adopted, keys: contract.SlurmKeys) -> contract.Endpoint:
    """Give the address that the login nodes share: all of them answer there with one host key."""
    return contract.Endpoint(address=login.hosts.described.apply(lambda _: address), port=SSH, host_key=keys.login_host.public)


def _expected(node_set: NodeSet, shared: Foundation) -> str:
    scratch = [node_set.scratch_mount] if node_set.scratch_mount else []
    return expected(node_set, mounts=[*(one.mount for one in shared.cluster.storage), *scratch])
