"""Slurm on Compute Engine: the controller and login nodes are instances of the stack; compute nodes are templates, from which the controller starts instances."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, HostGroup, NodeSet, Slurm

from ... import contract, host_folders
from ...bootstrap.config import FstabEntry, HostConfig
from ...node_expectations import expected
from ...provider.resource import OwnResource
from ...schedulers import keys as secret_keys
from .. import storage
from ..access import LoginNodes, LoginNodesArgs
from ..compute import NodeTemplate, NodeTemplateArgs
from ..control import STATE_GIB
from ..database import Database, DatabaseArgs
from ..fleet import Row, table
from ..flex_group import FlexGroup, FlexGroupArgs, is_queued
from ..hosts import HostsArgs, Instances
from ..identity import Identity, IdentityArgs, Starter, StarterArgs
from ..network import own_cidr
from ..target import Foundation, has_balancer
from ..user_data import user_data


class SlurmHosts:
    """Implements `contract.SlurmOffering`."""

    def provision(self, slurm: Slurm, *, foundation: Foundation, keys: contract.SlurmKeys) -> contract.SlurmSite:
        """Create login nodes first, since finishing reaches the controller through them; then templates; then the controller, which starts compute nodes."""
        if slurm.control is None:
            raise pulumi.RunError("Slurm on hosts needs controllers, and the blueprint asks for a service")
        shared, node_sets = foundation, slurm.node_sets
        control_key = secret_keys.ssh_key("control-host-key", opts=shared.own_opts)
        # All compute nodes share one host key, as they share one MUNGE key: with it a drift check verifies that a node belongs to this stack.
        node_key = secret_keys.ssh_key("compute-host-key", opts=shared.own_opts)
        compute = _identity(shared, keys, "compute", host_key=node_key)
        control = _identity(shared, keys, "control", host_key=control_key)
        access = _identity(shared, keys, "access", host_key=keys.login_host)
        starter = Starter("starter", StarterArgs(shared.names, shared.accounts, queues=any(map(is_queued, node_sets))), opts=shared.opts)

        login = _login_nodes(shared, keys, access)
        templates = {one.hosts.name: _template(one, shared, keys, compute) for one in node_sets}
        # The controller starts nodes: it is created after the resources that terminate nodes, and deleted before them.
        groups = {one.hosts.name: _group(one, templates[one.hosts.name], shared) for one in node_sets if is_queued(one)}
        enders = [_ender(name, template, shared, groups.get(name)) for name, template in templates.items()]
        controller = _controller(slurm, slurm.control, shared, keys, control, host_key=control_key, after=[*enders, *starter.ready])

        database = _database(slurm, slurm.control, shared, keys)
        addresses = {**dict(zip(slurm.control.hostnames, shared.addresses.addresses, strict=True)), **login.addresses}
        rows = [Row(one, templates[one.hosts.name], groups.get(one.hosts.name)) for one in node_sets]
        fleet = table(shared.cluster, rows, stack=shared.stack, names=shared.names, project=shared.accounts.project, zone=shared.zone) if rows else None
        return contract.SlurmSite(
            control=controller.described(jump=login.jump, jump_command=login.jump_command, after=login.reached_by),
            login=login.described,
            pools=tuple(_pool(one, templates[one.hosts.name]) for one in node_sets),
            endpoint=login.endpoint,
            database=database.name if database else None,
            database_authority=database.authority if database else None,
            addresses=_table(pulumi.Output.all(**addresses), database),
            fleet=fleet,
        )


def _identity(shared: Foundation, keys: contract.SlurmKeys, part: str, *, host_key: contract.SshKey) -> Identity:
    args = IdentityArgs(shared.names, part=part, accounts=shared.accounts, munge_key=keys.munge, host_key=host_key.private)
    return Identity(part, args, opts=shared.opts)


def _login_nodes(shared: Foundation, keys: contract.SlurmKeys, identity: Identity) -> LoginNodes:
    group = shared.cluster.access
    args = LoginNodesArgs(
        shared.names,
        group=group,
        login=shared.cluster.login,
        region=shared.cluster.network.region,
        zone=shared.zone,
        project=shared.accounts.project,
        network=shared.network,
        image=shared.images.of(group.machine) if group.count else "",
        account=identity.email,
        account_name=shared.accounts.names["access"],
        users=shared.cluster.users,
        user_data=_user_data(group, identity, shared, keys, mounts=_mounts(shared)),
        host_key=keys.login_host.public,
        has_balancer=has_balancer(shared.cluster),
        needs=_needs(identity, shared),
    )
    return LoginNodes(args, opts=shared.opts)


def _template(node_set: NodeSet, shared: Foundation, keys: contract.SlurmKeys, identity: Identity) -> NodeTemplate:
    """Create a node set's template."""
    mounts = _mounts(shared)
    scratch = [node_set.scratch_mount] if node_set.scratch_mount else []
    must_have = expected(node_set, mounts=[*(mount.target for mount in mounts), *scratch], is_replaced=True)
    args = NodeTemplateArgs(
        shared.names,
        node_set=node_set,
        region=shared.cluster.network.region,
        image=node_set.image if isinstance(node_set.image, str) else shared.images.of(node_set.hosts.machine),
        network=shared.network,
        account=identity.email,
        user_data=_user_data(node_set.hosts, identity, shared, keys, mounts=mounts, scratch=node_set.scratch_mount, must_have=must_have),
    )
    return NodeTemplate(node_set.hosts.name, args, opts=pulumi.ResourceOptions.merge(shared.opts, pulumi.ResourceOptions(depends_on=_needs(identity, shared))))


def _group(node_set: NodeSet, template: NodeTemplate, shared: Foundation) -> FlexGroup:
    args = FlexGroupArgs(shared.names, node_set, region=shared.cluster.network.region, zone=shared.zone, template=template.instance_template)
    return FlexGroup(f"{node_set.hosts.name}-flex", args, opts=shared.opts)


def _ender(node_set: str, template: NodeTemplate, shared: Foundation, group: FlexGroup | None) -> OwnResource:
    """Create the resource that terminates a node set's nodes on deletion."""
    inputs = {
        "project": shared.accounts.project,
        "zone": shared.zone,
        "stack": shared.stack,
        "cluster": shared.cluster.name,
        "owner": shared.names.owner,
        "node_set": node_set,
        "starter": shared.accounts.emails["control"],
        **({"group": group.path} if group else {}),
    }
    opts = pulumi.ResourceOptions.merge(
        shared.own_opts, pulumi.ResourceOptions(depends_on=[template.instance_template, *template.domains, *([group.group] if group else [])])
    )
    return OwnResource("clusterwright:gcp:Nodes", f"{node_set}-nodes", inputs=inputs, opts=opts)


def _pool(node_set: NodeSet, template: NodeTemplate) -> contract.Hosts:
    """Describe a node set: the engine knows none of its hosts, and another template changes the boot mark."""
    nobody: list[dict[str, Any]] = []
    boots = pulumi.Output.all(**{node_set.hosts.hostlist: template.instance_template.name})
    return contract.Hosts(group=node_set.hosts, described=pulumi.Output.from_input(nobody), boots=boots, resource=template.instance_template)


def _controller(
    slurm: Slurm,
    group: HostGroup,
    shared: Foundation,
    keys: contract.SlurmKeys,
    identity: Identity,
    *,
    host_key: contract.SshKey,
    after: Sequence[pulumi.Resource],
) -> Instances:
    """Create the controllers. The first has the disks: the blueprint's `block` file systems and, without a second controller, the cluster's folder, which it exports; and its state.

    Two controllers keep Slurm's own state on a file system; an embedded database is always on a disk of the first.
    """
    protect, on_filestore = slurm.database.protect, shared.shared_state
    is_embedded = slurm.database.placement == "embedded"
    # Disks of different purposes have different names, so that neither is mistaken for the other. A file system below another could be mounted before it.
    name, where = ("accounting", f"{host_folders.STATE}/mysql") if on_filestore else ("state", host_folders.STATE)
    state = storage.VolumeArgs(
        shared.names,
        name=name,
        part="control",
        zone=shared.zone,
        size_gib=STATE_GIB,
        kind=shared.place.disk_type,
        mount=where,
        protect=protect,
        snapshot=protect,
    )
    exported = [*([] if on_filestore else [shared.cluster_folder]), *shared.file_systems.exported]
    disks = [
        *exported,
        *([storage.Volume("_state", state, opts=shared.opts)] if is_embedded or not on_filestore else []),
    ]  # not a valid name of a blueprint's file system
    folders = tuple(disk.mount.target for disk in exported)
    common = [on_filestore.tables, on_filestore.state] if on_filestore else []
    mounts = [*(disk.mount for disk in disks), *common, *(mount for mount in shared.mounts if mount.target not in folders)]
    first = _user_data(group, identity, shared, keys, mounts=mounts, exports=folders)
    others = [_user_data(group, identity, shared, keys, mounts=[*common, *shared.mounts]) for _ in range(1, group.count)]
    args = HostsArgs(
        shared.names,
        group=group,
        zone=shared.zone,
        image=shared.images.of(group.machine),
        subnet=shared.network.hosts.subnet,
        account=identity.email,
        user_data=[first, *others],
        host_key=host_key.public,
        jump_key=keys.login_host.public,
        addresses=shared.addresses.addresses,
        disks=disks,
        needs=[*_needs(identity, shared), *after],
    )
    return Instances("control", args, opts=shared.opts)


def _database(slurm: Slurm, group: HostGroup, shared: Foundation, keys: contract.SlurmKeys) -> Database | None:
    if slurm.database.placement != "managed":
        return None
    emails = shared.accounts.emails
    args = DatabaseArgs(
        shared.names,
        region=shared.cluster.network.region,
        project=shared.accounts.project,
        hosts=shared.network.hosts,
        kept_out=[emails["access"], emails["compute"]],
        password=keys.database,
        protect=slurm.database.protect,
        has_standby=group.count > 1,
    )
    return Database("accounting", args, opts=shared.opts)


def _table(hosts: pulumi.Output[dict[str, str]], database: Database | None) -> pulumi.Output[dict[str, str]]:
    """Give the names that hosts know without a name service: those of each other, and the database's, which its certificate is for."""
    if database is None:
        return hosts
    known = pulumi.Output.all(hosts=hosts, name=database.name, address=database.address)
    table: pulumi.Output[dict[str, str]] = known.apply(lambda found: {**found["hosts"], found["name"]: found["address"]})
    return table


def _needs(identity: Identity, shared: Foundation) -> list[pulumi.Resource]:
    """List the resources that must exist before a host starts: it fetches its keys in its first seconds."""
    return [*shared.network.ready, *shared.firewall.ready, *identity.ready, *shared.file_systems.ready]


def _mounts(shared: Foundation) -> list[contract.Mount]:
    """List what hosts other than controllers mount. Only controllers write the cluster's folder."""
    if shared.shared_state:
        return [shared.shared_state.read, *shared.mounts]
    folder = storage.over_nfs(shared.cluster_folder.mount, shared.addresses.addresses[0], options=storage.TABLE_OPTIONS)
    return [folder, *shared.mounts]


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
    """Write the user data of a host."""
    cluster: ClusterSpec = shared.cluster
    known = pulumi.Output.all(
        controllers=shared.addresses.addresses, admin_key=keys.admin.public, secret=identity.secret, sources=[mount.source for mount in mounts]
    )

    def write(values: Mapping[str, Any]) -> str:
        # A compute node is started by the controller, which serves by then, and its start guard wants all mounts at once.
        can_wait = group.role != "compute"
        rows = [
            FstabEntry(source, one.target, kind=one.kind, options=one.options, is_late=one.is_late and can_wait)
            for source, one in zip(values["sources"], mounts, strict=True)
        ]
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
            lustre_network=own_cidr(cluster.network) if any(mount.kind == storage.LUSTRE for mount in mounts) else "",
        )
        return user_data(config, prefix=shared.names.instance_prefix, secret=values["secret"])

    return known.apply(write)
