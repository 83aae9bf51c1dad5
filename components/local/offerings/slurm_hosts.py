"""Slurm on containers of this machine: fixed hosts are resources of the stack; the controllers start and stop those of elastic pools."""

import ipaddress
from collections.abc import Sequence
from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, HostGroup, NodeSet, Slurm

from ... import contract, host_folders, rest
from ...node_expectations import expected
from ...provider.resource import OwnResource
from .. import fleet
from ..machine.names import STATE_VOLUME
from ..target import Foundation

SSH = 22


class SlurmHosts:
    """Implements `contract.SlurmOffering`."""

    def provision(self, slurm: Slurm, *, foundation: Foundation, keys: contract.SlurmKeys) -> contract.SlurmSite:
        if slurm.control is None:
            raise pulumi.RunError("Slurm on hosts needs controllers, and the blueprint asks for a service")
        shared, mounts = foundation, foundation.mounts
        state = shared.folder(STATE_VOLUME, target=host_folders.STATE, protect=slurm.database.protect)
        image = shared.baked("image")
        pools = _Pools(shared, keys, image=image, controllers=slurm.control)
        control = pools.fixed(slurm.control, mounts=[*mounts, state])
        templates = {one.hosts.name: pools.elastic(one, mounts=mounts) for one in slurm.node_sets if one.is_elastic}
        compute = tuple(
            fleet.coming_and_going(one.hosts, templates[one.hosts.name])
            if one.is_elastic
            else pools.fixed(one.hosts, mounts=mounts, must_have=_expected(one, mounts))
            for one in slurm.node_sets
        )
        login = pools.fixed(shared.cluster.access, mounts=mounts, host_key=keys.login_host.private)
        return contract.SlurmSite(
            control=control,
            login=login,
            pools=compute,
            endpoint=_balancer(login, shared, keys, image=image),
            fleet=_fleet(shared, templates),
            host_services=_services(shared.cluster),
        )


class _Pools:
    """Makes groups of hosts that differ in little."""

    def __init__(self, shared: Foundation, keys: contract.SlurmKeys, *, image: OwnResource, controllers: HostGroup):
        self._shared, self._keys, self._image, self._controllers = shared, keys, image, controllers

    def fixed(self, group: HostGroup, *, mounts: Sequence[contract.Mount], host_key: pulumi.Input[str] = "", must_have: str = "") -> contract.Hosts:
        inputs = {**self._inputs(group, mounts), "host_key": host_key, "expected": must_have}
        pool = OwnResource("clusterwright:local:HostPool", group.name, inputs=inputs, outputs=("up", "hosts", "boots"), opts=self._after(mounts))
        return contract.Hosts(group=group, described=pool.output("hosts"), boots=pool.output("boots"), resource=pool)

    def elastic(self, node_set: NodeSet, *, mounts: Sequence[contract.Mount]) -> OwnResource:
        inputs = {**self._inputs(node_set.hosts, mounts), "expected": _expected(node_set, mounts)}
        return OwnResource("clusterwright:local:ElasticPool", node_set.hosts.name, inputs=inputs, outputs=("template",), opts=self._after(mounts))

    def _after(self, mounts: Sequence[contract.Mount]) -> pulumi.ResourceOptions:
        return self._shared.after(self._shared.network, *(mount.resource for mount in mounts))

    def _inputs(self, group: HostGroup, mounts: Sequence[contract.Mount]) -> dict[str, Any]:
        shared, network, gpus = self._shared, self._shared.cluster.network, group.machine.gpus
        return {
            **shared.place,
            "group": group.name,
            "role": group.role,
            "cluster": shared.cluster.name,
            "prefix": group.prefix,
            "count": group.count,
            "first_address": group.first_address,
            **({"members": group.members} if group.members else {}),
            "cidr": network.cidr,
            "gateway": network.gateway,
            "bridge": shared.network.output("bridge"),
            "controllers": list(self._controllers.hostnames),
            "image": self._image.output("name"),
            "lowers": self._image.output("lowers"),
            "mounts": [{"path": mount.source, "incarnation": mount.incarnation, "target": mount.target, "read_only": False} for mount in mounts],
            "simulated_gpus": gpus.count if gpus else 0,
            "admin_public_key": self._keys.admin.public,
            "munge_key": self._keys.munge,
        }


def _balancer(login: contract.Hosts, shared: Foundation, keys: contract.SlurmKeys, *, image: OwnResource) -> contract.Endpoint:
    network = shared.cluster.network
    balancer = OwnResource(
        "clusterwright:local:Balancer",
        "balancer",
        inputs={
            **shared.place,
            "address": network.balancer_address,
            "cidr": network.cidr,
            "gateway": network.gateway,
            "bridge": shared.network.output("bridge"),
            "image": image.output("name"),
            "lowers": image.output("lowers"),
            **({"rest_api": True} if shared.cluster.login.rest_api else {}),
            "backends": login.described.apply(lambda described: [{"name": host["name"], "address": host["address"]} for host in described]),
        },
        outputs=("endpoint",),
        opts=shared.after(shared.network, login.resource),
    )
    address = balancer.output("endpoint").apply(lambda endpoint: endpoint.rpartition(":")[0])
    return contract.Endpoint(address=address, port=SSH, host_key=keys.login_host.public)


def _services(cluster: ClusterSpec) -> dict[str, Any] | None:
    group = cluster.access
    first = ipaddress.ip_address(group.first_address)
    hosts = {name: str(first + number) for number, name in enumerate(group.hostnames)}
    return {"rest_api": rest.described(hosts, is_balanced=True)} if cluster.login.rest_api else None


def _fleet(shared: Foundation, pools: dict[str, OwnResource]) -> pulumi.Output[dict[str, Any]] | None:
    if not pools:
        return None
    templates = pulumi.Output.all(**{name: pool.output("template") for name, pool in pools.items()})
    return templates.apply(lambda known: fleet.table(shared.cluster, shared.stack, known))


def _expected(node_set: NodeSet, mounts: Sequence[contract.Mount]) -> str:
    return expected(node_set, mounts=[mount.target for mount in mounts], is_replaced=node_set.is_elastic)
