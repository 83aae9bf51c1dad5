"""The local target: hosts are containers on this machine, which is also the rehearsal of every other target."""

from collections.abc import Sequence
from typing import Any

import pulumi

from blueprints.project import project_root
from blueprints.spec import ClusterSpec, FileSystem, HostGroup, NodeSet

from .. import contract
from ..finish import content
from ..provider.resource import OwnResource, plain

STATE_VOLUME = "_state"  # no file system of a blueprint can have this name
STATE_MOUNT = "/var/lib/clusterwright/state"
"""Where the controller keeps what must survive its disk: accounting database and Slurm's saved state."""


class Local:
    def __init__(self, spec: ClusterSpec, *, stack: str, keys: contract.Keys, opts: pulumi.ResourceOptions):
        self._spec, self._stack, self._keys, self._opts = spec, stack, keys, opts
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
            inputs={"profile": spec.software.profile, "suite": spec.software.suite, "content": content.fingerprint("image.yml"), "software": software},
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
        state = self._folder(STATE_VOLUME, target=STATE_MOUNT, protect=self._spec.database.protect)
        return contract.SlurmHosts(self._pool(group, mounts=[*mounts, state]))

    def compute(self, node_set: NodeSet, *, mounts: Sequence[contract.Mount], control: contract.Control) -> contract.Hosts:
        return self._pool(node_set.hosts, mounts=mounts)

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

    def _after(self, *others: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=[self._site, *others]))

    def _folder(self, name: str, *, target: str, protect: bool) -> contract.Mount:
        options = pulumi.ResourceOptions.merge(self._after(), pulumi.ResourceOptions(protect=protect))
        folder = OwnResource(
            "clusterwright:local:Folder", name, inputs={**self._place, "name": name, "protect": protect}, outputs=("path", "incarnation"), opts=options
        )
        return contract.Mount(source=folder.output("path"), incarnation=folder.output("incarnation"), target=target, resource=folder)

    def _pool(self, group: HostGroup, *, mounts: Sequence[contract.Mount], host_key: pulumi.Input[str] = "") -> contract.Hosts:
        network, gpus = self._spec.network, group.machine.gpus
        inputs: dict[str, Any] = {
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
            "controllers": list(self._spec.control.hostnames),
            "image": self._image.output("name"),
            "lowers": self._image.output("lowers"),
            "mounts": [{"path": mount.source, "incarnation": mount.incarnation, "target": mount.target, "read_only": False} for mount in mounts],
            "simulated_gpus": gpus.count if gpus else 0,
            "admin_public_key": self._keys.admin_public,
            "munge_key": self._keys.munge,
            "host_key": host_key,
        }
        options = self._after(self._network, *(mount.resource for mount in mounts))
        pool = OwnResource("clusterwright:local:HostPool", group.name, inputs=inputs, outputs=("up", "hosts", "boots"), opts=options)
        return contract.Hosts(group=group, described=pool.output("hosts"), boots=pool.output("boots"), resource=pool)
