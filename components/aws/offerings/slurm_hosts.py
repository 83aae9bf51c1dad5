"""Slurm on EC2 instances: controllers and login nodes are instances of the stack; compute nodes are launch templates, from which the controllers start instances."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, HostGroup, NodeSet, Slurm

from ... import contract, host_folders
from ...bootstrap.config import FstabEntry, HostConfig
from ...node_expectations import expected
from ...provider.resource import OwnResource
from ...schedulers import keys as secret_keys
from .. import policies, storage
from ..access import LoginNodes, LoginNodesArgs
from ..compute import NodeTemplate, NodeTemplateArgs
from ..control import STATE_GIB, Volume, VolumeArgs
from ..database import Database, DatabaseArgs
from ..fleet import Row, table
from ..hosts import HostsArgs, Instances, encoded
from ..identity import Identity, IdentityArgs, Starts
from ..image import base_image
from ..target import Foundation, has_balancer
from ..template import names_group
from ..user_data import user_data

_STATE = "_state"  # not a valid name of a blueprint's file system


class SlurmHosts:
    """Implements `contract.SlurmOffering`."""

    def provision(self, slurm: Slurm, *, foundation: Foundation, keys: contract.SlurmKeys) -> contract.SlurmSite:
        """Create login nodes first, since finishing reaches controllers through them; then launch templates; then the controllers, which start compute nodes."""
        if slurm.control is None:
            raise pulumi.RunError("Slurm on hosts needs controllers, and the blueprint asks for a service")
        shared, node_sets = foundation, slurm.node_sets
        control_key = secret_keys.ssh_key("control-host-key", opts=shared.own_opts)
        # All compute nodes share one host key, as they share one MUNGE key: with it a drift check verifies that a node belongs to this stack.
        node_key = secret_keys.ssh_key("compute-host-key", opts=shared.own_opts)
        compute = _identity(shared, keys, "compute", host_key=node_key)
        starts = Starts(_started(node_sets, shared), compute_role_arn=compute.role.arn)
        control = _identity(shared, keys, "control", host_key=control_key, starts=starts)
        access = _identity(shared, keys, "access", host_key=keys.login_host)

        login = _login_nodes(shared, keys, access)
        templates = {one.hosts.name: _template(one, shared, keys, compute) for one in node_sets}
        # Controllers start nodes: they are created after the resources that terminate nodes, and deleted before them.
        enders = [_ender(name, template, shared) for name, template in templates.items()]
        disks, states = _state(slurm, slurm.control, shared)
        controllers = _controllers(slurm, slurm.control, shared, keys, control, host_key=control_key, disks=disks, states=states, after=enders)
        attached = [disk.attach(controllers.instances[0], number=number) for number, disk in enumerate(disks) if controllers.instances]

        addresses = {**dict(zip(slurm.control.hostnames, shared.addresses.addresses, strict=True)), **login.addresses}
        rows = [Row(one, templates[one.hosts.name]) for one in node_sets]
        cluster = shared.cluster
        return contract.SlurmSite(
            control=controllers.described(jump=login.jump, after=[*attached, *login.reached_by]),
            login=login.described,
            pools=tuple(_pool(one, templates[one.hosts.name]) for one in node_sets),
            endpoint=login.endpoint,
            database=_database(slurm, shared, keys),
            addresses=pulumi.Output.all(**addresses),
            fleet=table(cluster, rows, stack=shared.stack, owner=shared.names.owner, subnet=shared.network.cluster_subnet) if rows else None,
        )


def _identity(shared: Foundation, keys: contract.SlurmKeys, part: str, *, host_key: contract.SshKey, starts: Starts | None = None) -> Identity:
    args = IdentityArgs(
        shared.names,
        part=part,
        region=shared.cluster.network.region,
        munge_key=keys.munge,
        host_key=host_key.private,
        bucket_arns=shared.file_systems.bucket_arns,
        bucket_keys=shared.file_systems.bucket_keys,
        starts=starts,
    )
    return Identity(args, opts=shared.opts)


def _started(node_sets: Iterable[NodeSet], shared: Foundation) -> policies.Nodes:
    """Return the values that a controller's permissions depend on."""
    known = [*node_sets]
    groups = {one.capacity.id for one in known if one.capacity.id and names_group(one.capacity)}
    machines = {one.hosts.machine.name for one in known}
    return policies.Nodes(shared.cluster.network.region, shared.stack, tuple(sorted(machines)), tuple(sorted(groups)))


def _login_nodes(shared: Foundation, keys: contract.SlurmKeys, identity: Identity) -> LoginNodes:
    group = shared.cluster.access
    mounts = [_read_only(shared.cluster_folder), *shared.mounts]
    args = LoginNodesArgs(
        shared.names,
        group=group,
        login=shared.cluster.login,
        network=shared.network,
        security=shared.security,
        image=shared.images.of(group.machine) if group.count else "",
        profile_name=identity.role.profile_name,
        user_data=_user_data(group, identity, shared, keys, mounts=mounts),
        host_key=keys.login_host.public,
        has_balancer=has_balancer(shared.cluster),
        needs=_needs(identity, shared),
    )
    return LoginNodes(args, opts=shared.opts)


def _template(node_set: NodeSet, shared: Foundation, keys: contract.SlurmKeys, identity: Identity) -> NodeTemplate:
    """Create a node set's launch template."""
    group = node_set.hosts
    mounts = [_read_only(shared.cluster_folder), *shared.mounts]
    scratch = [node_set.scratch_mount] if node_set.scratch_mount else []
    must_have = expected(node_set, mounts=[*(mount.target for mount in mounts), *scratch], is_replaced=True)
    args = NodeTemplateArgs(
        shared.names,
        node_set=node_set,
        image=node_set.image if isinstance(node_set.image, str) else shared.images.of(group.machine),
        root_device=base_image(shared.cluster.software.os, group.machine.arch).root_device,
        subnet=shared.network.cluster_subnet,
        security_groups=[shared.security.hosts],
        profile_arn=identity.role.profile_arn,
        user_data=_user_data(group, identity, shared, keys, mounts=mounts, scratch=node_set.scratch_mount, must_have=must_have),
    )
    return NodeTemplate(group.name, args, opts=pulumi.ResourceOptions.merge(shared.opts, pulumi.ResourceOptions(depends_on=_needs(identity, shared))))


def _ender(node_set: str, template: NodeTemplate, shared: Foundation) -> OwnResource:
    """Create the resource that terminates a node set's nodes on deletion."""
    inputs = {
        "region": shared.cluster.network.region,
        "stack": shared.stack,
        "cluster": shared.cluster.name,
        "owner": shared.names.owner,
        "node_set": node_set,
        "template": template.launch_template.id,
    }
    return OwnResource("clusterwright:aws:Nodes", f"{node_set}-nodes", inputs=inputs, opts=shared.own_opts)


def _pool(node_set: NodeSet, template: NodeTemplate) -> contract.Hosts:
    """Describe a node set: the engine knows none of its hosts, and a new version of the template changes the boot mark."""
    version = template.launch_template.latest_version.apply(lambda number: str(int(number)))
    mark = pulumi.Output.concat(template.launch_template.id, ":", version)
    nobody: list[dict[str, Any]] = []
    boots = pulumi.Output.all(**{node_set.hosts.hostlist: mark})
    return contract.Hosts(group=node_set.hosts, described=pulumi.Output.from_input(nobody), boots=boots, resource=template.launch_template)


def _state(slurm: Slurm, group: HostGroup, shared: Foundation) -> tuple[list[Volume], list[contract.Mount]]:
    """Create the controllers' storage: a disk for one controller, a shared file system for two; an embedded database is always on a disk.

    Returns:
        disks of the first controller, including those that it exports; file systems of all controllers.
    """
    is_embedded, protect, is_pair = slurm.database.placement == "embedded", slurm.database.protect, group.count > 1
    disks, mounts = [], []
    if is_pair and shared.security.state is not None:
        place = dataclasses.replace(shared.place, security_group=shared.security.state)
        args = storage.NfsArgs(place, name="state", mount=f"{host_folders.STATE}/slurmctld", protect=protect, keep=False, part="control")
        mounts.append(storage.Nfs(_STATE, args, opts=shared.opts).mount)
    if group.count and (is_embedded or not is_pair):
        # Disks of different purposes have different names, so that neither is mistaken for the other.
        name, where = ("accounting", f"{host_folders.STATE}/mysql") if is_pair else ("state", host_folders.STATE)
        disk = VolumeArgs(shared.names, name=name, part="control", zone=shared.place.zone, size_gib=STATE_GIB, mount=where, protect=protect, snapshot=protect)
        disks.append(Volume(name, disk, opts=shared.opts))
    return [*disks, *shared.file_systems.exported], mounts


def _controllers(
    slurm: Slurm,
    group: HostGroup,
    shared: Foundation,
    keys: contract.SlurmKeys,
    identity: Identity,
    *,
    host_key: contract.SshKey,
    disks: Sequence[Volume],
    states: Sequence[contract.Mount],
    after: Sequence[pulumi.Resource],
) -> Instances:
    exported = tuple(volume.mount.target for volume in shared.file_systems.exported)
    user_data_of = []
    for number in range(group.count):
        is_first = number == 0
        # The exported file systems are disks of the first controller.
        mounted = [mount for mount in shared.mounts if not is_first or mount.target not in exported]
        mounts = [shared.cluster_folder, *mounted, *states, *(disk.mount for disk in disks if is_first)]
        user_data_of.append(_user_data(group, identity, shared, keys, mounts=mounts, exports=exported if is_first else ()))
    args = HostsArgs(
        shared.names,
        group=group,
        image=shared.images.of(group.machine),
        subnet=shared.network.cluster_subnet,
        security_groups=(),
        profile_name=identity.role.profile_name,
        user_data=user_data_of,
        host_key=host_key.public,
        jump_key=keys.login_host.public,
        interfaces=shared.addresses.interfaces,
        protect=slurm.database.protect,
        needs=[*_needs(identity, shared), *after],
    )
    return Instances("control", args, opts=shared.opts)


def _database(slurm: Slurm, shared: Foundation, keys: contract.SlurmKeys) -> pulumi.Output[str] | None:
    if shared.security.database is None:
        return None
    args = DatabaseArgs(
        shared.names,
        subnets=shared.network.service_subnets,
        security_group=shared.security.database,
        password=keys.database,
        protect=slurm.database.protect,
        log_days=shared.cluster.monitoring.retention_days,
    )
    return Database("accounting", args, opts=shared.opts).address


def _needs(identity: Identity, shared: Foundation) -> list[pulumi.Resource]:
    """List the resources that must exist before a host starts: it fetches its keys in its first seconds."""
    return [*shared.network.ready, *identity.ready]


def _user_data(
    group: HostGroup,
    identity: Identity,
    shared: Foundation,
    keys: contract.SlurmKeys,
    *,
    mounts: Sequence[contract.Mount],
    scratch: str | None = None,
    exports: tuple[str, ...] = (),
    must_have: str = "",
) -> pulumi.Output[str]:
    """Write the user data of a host, Base64."""
    cluster: ClusterSpec = shared.cluster
    known = pulumi.Output.all(
        controllers=shared.addresses.addresses, admin_key=keys.admin.public, secret=identity.keys.arn, sources=[mount.source for mount in mounts]
    )

    def write(values: Mapping[str, Any]) -> str:
        rows = [FstabEntry(source, mount.target, kind=mount.kind, options=mount.options) for source, mount in zip(values["sources"], mounts, strict=True)]
        config = HostConfig(
            role=group.role,
            cluster=cluster.name,
            group=group.name,
            controllers=tuple(values["controllers"]),
            admin_key=values["admin_key"],
            mounts=tuple(rows),
            scratch=scratch,
            exports=exports,
            clients=cluster.network.cidr,
            expected=must_have,
        )
        return encoded(user_data(config, region=cluster.network.region, secret_arn=values["secret"]))

    return known.apply(write)


def _read_only(mount: contract.Mount) -> contract.Mount:
    """Keep other hosts from damaging by accident what only controllers write. It doesn't stop root: that requires Kerberos, which EFS doesn't support."""
    return dataclasses.replace(mount, options=(*mount.options, "ro"))
