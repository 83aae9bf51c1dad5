"""The local target: hosts are containers on this machine, which is also the rehearsal of every other target."""

from collections.abc import Sequence
from typing import Any

import pulumi

from blueprints.project import project_root
from blueprints.spec import ClusterSpec, FileSystem, HostGroup, NodeSet

from .. import bake, contract, host_folders
from ..expected import expected
from ..finish import content
from ..provider.resource import OwnResource, plain
from . import fleet
from .machine.names import STATE_VOLUME


class Local:
    def __init__(self, spec: ClusterSpec, *, stack: str, keys: contract.Keys, opts: pulumi.ResourceOptions):
        self._spec, self._stack, self._keys, self._opts = spec, stack, keys, opts
        self._slurm, self._controllers = contract.slurm_on_hosts(spec)
        self._elastic: list[tuple[NodeSet, pulumi.Output[str]]] = []
        self._site = OwnResource(
            "clusterwright:local:Site",
            "site",
            inputs={"stack": stack, "owner": str(project_root()), "cidr": spec.network.cidr},
            outputs=("token",),
            opts=opts,
        )
        self._place = {"stack": stack, "site": self._site.output("token")}
        software = plain(spec.software)
        self._image = OwnResource(
            "clusterwright:local:Image",
            "image",
            inputs={"profile": spec.software.profile, "suite": spec.software.suite, "content": content.fingerprint(bake.PLAYBOOK), "software": software},
            outputs=("name", "lowers"),
            opts=self._after(),
        )

    def network(self) -> None:
        network = self._spec.network
        ranges = [{"prefix": group.prefix, "count": group.count, "first_address": group.first_address} for group in self._spec.host_groups]
        self._network = OwnResource(
            "clusterwright:local:Network",
            "network",
            inputs={
                **self._place,
                "cidr": network.cidr,
                "gateway": network.gateway,
                "domain": network.domain,
                "host_ranges": ranges,
                "names": {"balancer": network.balancer_address},
            },
            outputs=("bridge",),
            opts=self._after(),
        )

    def storage(self, file_systems: Sequence[FileSystem]) -> Sequence[contract.Mount]:
        return [self._folder(one.name, target=one.mount, protect=one.protect) for one in file_systems]

    def control(self, group: HostGroup, *, mounts: Sequence[contract.Mount]) -> contract.Control:
        state = self._folder(STATE_VOLUME, target=host_folders.STATE, protect=self._slurm.database.protect)
        return contract.SlurmHosts(self._pool(group, mounts=[*mounts, state]))

    def compute(self, node_set: NodeSet, *, mounts: Sequence[contract.Mount], control: contract.Control) -> contract.Hosts:
        if not node_set.is_elastic:
            return self._pool(node_set.hosts, mounts=mounts, has_to_have=_expected(node_set, mounts))
        pool = OwnResource(
            "clusterwright:local:ElasticPool",
            node_set.hosts.name,
            inputs={**self._pool_inputs(node_set.hosts, mounts), "expected": _expected(node_set, mounts)},
            outputs=("template",),
            opts=self._after(self._network, *(mount.resource for mount in mounts)),
        )
        template = pool.output("template")
        self._elastic.append((node_set, template))
        boots = template.apply(lambda known: {node_set.hosts.hostlist: known})
        return contract.Hosts(group=node_set.hosts, described=pulumi.Output.from_input([]), boots=boots, resource=pool)

    def access(self, group: HostGroup, *, mounts: Sequence[contract.Mount]) -> tuple[contract.Hosts, contract.Endpoint]:
        hosts = self._pool(group, mounts=mounts, host_key=self._keys.login_host)
        network = self._spec.network
        balancer = OwnResource(
            "clusterwright:local:Balancer",
            "balancer",
            inputs={
                **self._place,
                "address": network.balancer_address,
                "cidr": network.cidr,
                "gateway": network.gateway,
                "bridge": self._network.output("bridge"),
                "image": self._image.output("name"),
                "lowers": self._image.output("lowers"),
                "backends": hosts.described.apply(lambda described: [{"name": host["name"], "address": host["address"]} for host in described]),
            },
            outputs=("endpoint",),
            opts=self._after(self._network, hosts.resource),
        )
        address = balancer.output("endpoint").apply(lambda endpoint: endpoint.rpartition(":")[0])
        return hosts, contract.Endpoint(address=address, port=22, host_key=self._keys.login_host_public)

    def fleet(self) -> pulumi.Output[dict[str, Any]] | None:
        if not self._elastic:
            return None
        node_sets = [node_set for node_set, _ in self._elastic]
        return pulumi.Output.all(*(template for _, template in self._elastic)).apply(
            lambda templates: fleet.table(self._spec, self._stack, dict(zip([one.hosts.name for one in node_sets], templates, strict=True)))
        )

    def _after(self, *others: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=[self._site, *others]))

    def _folder(self, name: str, *, target: str, protect: bool) -> contract.Mount:
        options = pulumi.ResourceOptions.merge(self._after(), pulumi.ResourceOptions(protect=protect))
        folder = OwnResource(
            "clusterwright:local:Folder", name, inputs={**self._place, "name": name, "protect": protect}, outputs=("path", "incarnation"), opts=options
        )
        return contract.Mount(source=folder.output("path"), incarnation=folder.output("incarnation"), target=target, resource=folder)

    def _pool(self, group: HostGroup, *, mounts: Sequence[contract.Mount], host_key: pulumi.Input[str] = "", has_to_have: str = "") -> contract.Hosts:
        inputs = {**self._pool_inputs(group, mounts), "host_key": host_key, "expected": has_to_have}
        options = self._after(self._network, *(mount.resource for mount in mounts))
        pool = OwnResource("clusterwright:local:HostPool", group.name, inputs=inputs, outputs=("up", "hosts", "boots"), opts=options)
        return contract.Hosts(group=group, described=pool.output("hosts"), boots=pool.output("boots"), resource=pool)

    def _pool_inputs(self, group: HostGroup, mounts: Sequence[contract.Mount]) -> dict[str, Any]:
        network, gpus = self._spec.network, group.machine.gpus
        return {
            **self._place,
            "group": group.name,
            "role": group.role,
            "cluster": self._spec.name,
            "prefix": group.prefix,
            "count": group.count,
            "first_address": group.first_address,
            "cidr": network.cidr,
            "gateway": network.gateway,
            "bridge": self._network.output("bridge"),
            "controllers": list(self._controllers.hostnames),
            "image": self._image.output("name"),
            "lowers": self._image.output("lowers"),
            "mounts": [{"path": mount.source, "incarnation": mount.incarnation, "target": mount.target, "read_only": False} for mount in mounts],
            "simulated_gpus": gpus.count if gpus else 0,
            "admin_public_key": self._keys.admin_public,
            "munge_key": self._keys.munge,
        }


def _expected(node_set: NodeSet, mounts: Sequence[contract.Mount]) -> str:
    return expected(node_set, mounts=[mount.target for mount in mounts])
