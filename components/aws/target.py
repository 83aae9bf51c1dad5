"""The AWS target: Slurm on EC2, with EFA, FSx and elastic pools."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from blueprints.spec import ClusterSpec, FileSystem, HostGroup, Machine, NodeSet

from .. import contract, host_folders
from ..bootstrap.config import FstabEntry, HostConfig
from ..expected import expected
from ..provider.resource import OwnResource
from . import policies, zones
from . import storage as files
from .access import SSH, Balancer, BalancerArgs
from .backups import Backups, BackupsArgs
from .compute import NodeTemplate, NodeTemplateArgs
from .control import STATE_GIB, Addresses, AddressesArgs, Volume, VolumeArgs
from .database import Database, DatabaseArgs
from .fleet import Row, table
from .hosts import HostsArgs, Instances, encoded
from .identity import Role, RoleArgs, Starts
from .image import Builder, BuilderArgs, base_image
from .names import names
from .network import Network, NetworkArgs
from .secrets import HostKeys, HostKeysArgs
from .security import Security, SecurityArgs, is_public
from .template import names_group
from .user_data import user_data

_STATE, _CLUSTER_FOLDER = "_state", "_cluster"  # no file system of a blueprint can have these names


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """What all hosts of one kind share: the right to fetch their keys, and which these are."""

    role: Role
    keys: HostKeys


class Aws:
    """A cluster on AWS: one zone of one region, private hosts, and login nodes as the only way in."""

    def __init__(self, spec: ClusterSpec, *, stack: str, keys: contract.Keys, opts: pulumi.ResourceOptions):
        self._spec, self._stack, self._keys = spec, stack, keys
        self._slurm, self._controllers = contract.slurm_on_hosts(spec)
        self._own = opts
        site = OwnResource("clusterwright:aws:Site", "site", inputs={"stack": stack, "cluster": spec.name}, outputs=("owner",), opts=opts)
        self._names = names(spec, stack, site.output("owner"))
        self._provider = aws.Provider("aws", region=spec.network.region, opts=opts)
        self._opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(providers=[self._provider]))
        self._images: dict[str, pulumi.Output[str]] = {}
        self._templates: dict[str, NodeTemplate] = {}
        self._exported: dict[str, Volume] = {}
        self._buckets: list[pulumi.Output[str]] = []
        _check(spec)

    def network(self) -> None:
        spec = self._spec
        keeps = files.keeps_network(spec.storage)
        found = zones.look_up(spec, pulumi.InvokeOptions(provider=self._provider))
        self._network = Network(
            "network", NetworkArgs(self._names, spec.network, zones=found, keeps=keeps, log_days=spec.monitoring.retention_days), opts=self._opts
        )
        self._security = Security(
            "security",
            SecurityArgs(
                self._names,
                vpc_id=self._network.vpc_id,
                network=spec.network,
                login=spec.login,
                storage=spec.storage,
                s3_prefix_list=self._network.s3_prefix_list,
                uses_fabric_storage=any(files.fabric_reaches(one, spec.node_sets) for one in spec.storage),
                has_balancer=self._has_balancer,
                has_state=self._controllers.count > 1,
                has_database=self._slurm.database.placement == "managed",
                keeps=keeps,
            ),
            opts=self._opts,
        )
        if self._security.endpoints is not None:
            self._network.endpoints(self._security.endpoints)
        addresses = AddressesArgs(
            self._names, group=self._controllers, subnets=self._controllers_subnets, security_groups=[self._security.hosts, self._security.control]
        )
        self._addresses = Addresses("addresses", addresses, opts=self._opts)

    def storage(self, file_systems: Sequence[FileSystem]) -> Sequence[contract.Mount]:
        place = files.Place(
            self._names,
            region=self._spec.network.region,
            subnet=self._network.cluster_subnet,
            zone=self._network.cluster_zone or pulumi.Output.from_input(""),
            security_group=self._security.storage,
            further_subnets=self._controllers_subnets[1:],
        )
        # What finishing writes for all hosts (users, names of hosts): made again by the next `up`, so nothing to protect.
        folder = files.NfsArgs(place, name="cluster", mount=host_folders.CLUSTER, protect=False, keep=False, part="control")
        self._cluster_folder = files.Nfs(_CLUSTER_FOLDER, folder, opts=self._opts)
        # A zone that only its owner knows is read off the mount target, which stands in it.
        self._place = dataclasses.replace(place, zone=self._network.cluster_zone or self._cluster_folder.zone)
        self._backed_up: dict[tuple[str | None, int], list[pulumi.Output[str]]] = {}
        mounts = [self._file_system(one) for one in file_systems]
        if self._backed_up:
            ours = [one for one in file_systems if one.backup_days and one.kind in ("nfs", "block")]
            safety = {"protect": any(one.protect for one in ours), "keep": any(files.keeps(one) for one in ours)}
            Backups("backups", BackupsArgs(self._names, region=self._spec.network.region, arns=self._backed_up, **safety), opts=self._opts)
        return mounts

    def control(self, group: HostGroup, *, mounts: Sequence[contract.Mount]) -> contract.Control:
        """Make the controllers. Login nodes come before them, since finishing reaches controllers through these."""
        own_key = OwnResource(
            "clusterwright:secret:Secret", "control-host-key", inputs={"kind": "ssh", "rotation": 0}, outputs=("value", "public"), opts=self._own
        )
        # One for all compute nodes, as the MUNGE key beside it is: a drift check knows by it that it speaks with a node of this stack.
        node_key = OwnResource(
            "clusterwright:secret:Secret", "compute-host-key", inputs={"kind": "ssh", "rotation": 0}, outputs=("value", "public"), opts=self._own
        )
        self._compute = self._kind("compute", host_key=node_key.output("value"))
        starts = Starts(_started(self._spec, self._stack), compute_role_arn=self._compute.role.arn)
        kind = self._kind("control", host_key=own_key.output("value"), starts=starts)
        self._access = self._login_nodes(mounts)
        nodes = [self._nodes(node_set, mounts) for node_set in self._spec.node_sets if node_set.partition is not None]
        volumes, states = self._state(group)
        exported = tuple(self._exported)
        births = []
        for number in range(group.count):
            disks = [*volumes, *self._exported.values()] if number == 0 else []
            shared = [mount for mount in mounts if number or mount.target not in self._exported_mounts]
            seen = [self._cluster_folder.mount, *shared, *states, *(disk.mount for disk in disks)]
            births.append(self._birth(group, kind, mounts=seen, exports=self._exported_mounts if exported and number == 0 else ()))
        made = Instances(
            "control",
            HostsArgs(
                self._names,
                group=group,
                image=self._image(group.machine),
                subnet=self._network.cluster_subnet,
                security_groups=(),
                profile_name=kind.role.profile_name,
                user_data=births,
                host_key=own_key.output("public"),
                jump_key=self._keys.login_host_public,
                interfaces=self._addresses.interfaces,
                protect=self._slurm.database.protect,
                # What starts nodes comes after them, and goes before them.
                needs=[*self._needs(kind), *nodes],
            ),
            opts=self._opts,
        )
        attached = [disk.attach(made.instances[0], number=number) for number, disk in enumerate([*volumes, *self._exported.values()]) if group.count]
        described = made.described(jump=self._jump, after=[*attached, *self._reached_by])
        standing = dict(zip(group.hostnames, self._addresses.addresses, strict=True)) | dict(
            zip(self._spec.access.hostnames, self._access.addresses, strict=True)
        )
        return contract.SlurmHosts(described, database=self._database(), addresses=pulumi.Output.all(**standing))

    def compute(self, node_set: NodeSet, *, mounts: Sequence[contract.Mount], control: contract.Control) -> contract.Hosts:
        if node_set.partition is None:
            raise pulumi.RunError(f"pool {node_set.pool} is for Kubernetes, which this version can't stand up on AWS")
        group, template = node_set.hosts, self._templates[node_set.hosts.name]
        mark = pulumi.Output.concat(template.launch_template.id, ":", template.launch_template.latest_version.apply(lambda version: str(int(version))))
        nobody: list[dict[str, Any]] = []
        return contract.Hosts(
            group=group, described=pulumi.Output.from_input(nobody), boots=pulumi.Output.all(**{group.hostlist: mark}), resource=template.launch_template
        )

    def access(self, group: HostGroup, *, mounts: Sequence[contract.Mount]) -> tuple[contract.Hosts, contract.Endpoint]:
        described = self._access.described(jump=self._jump, after=self._reached_by)
        return described, contract.Endpoint(address=self._front, port=SSH, host_key=self._keys.login_host_public)

    def fleet(self) -> pulumi.Output[dict[str, Any]] | None:
        rows = [Row(node_set, self._templates[node_set.hosts.name]) for node_set in self._spec.node_sets if node_set.hosts.name in self._templates]
        return table(self._spec, rows, stack=self._stack, owner=self._names.owner, subnet=self._network.cluster_subnet) if rows else None

    @property
    def _has_balancer(self) -> bool:
        return self._spec.login.load_balancer and self._spec.access.count > 0

    @property
    def _controllers_subnets(self) -> list[pulumi.Output[str]]:
        """Where controllers stand: with the nodes, and the second one in the second zone that the blueprint names."""
        further = self._controllers.count > 1 and len(self._spec.network.zones) > 1
        return self._network.service_subnets[: 2 if further else 1]

    @property
    def _exported_mounts(self) -> tuple[str, ...]:
        return tuple(volume.mount.target for volume in self._exported.values())

    def _file_system(self, wanted: FileSystem) -> contract.Mount:
        match wanted.kind:
            case "nfs":
                args = files.NfsArgs(
                    self._place,
                    name=wanted.name,
                    mount=wanted.mount,
                    protect=wanted.protect,
                    keep=files.keeps(wanted),
                    encrypted=wanted.encrypted,
                    key=wanted.key,
                )
                made = files.Nfs(wanted.name, args, opts=self._opts)
                self._back_up(wanted, made.arn)
                return made.mount
            case "lustre":
                uses_fabric = files.fabric_reaches(wanted, self._spec.node_sets)
                return files.Lustre(wanted.name, files.LustreArgs(self._place, file_system=wanted, uses_fabric=uses_fabric), opts=self._opts).mount
            case "object":
                bucket = files.Bucket(wanted.name, files.BucketArgs(self._place, file_system=wanted), opts=self._opts)
                self._buckets.append(bucket.arn)
                return bucket.mount
            case "block":
                volume = files.exported(wanted, self._place, opts=self._opts)
                self._exported[wanted.name] = volume
                self._back_up(wanted, volume.arn)
                return files.over_nfs(volume.mount, self._addresses.addresses[0])
        return files.existing(wanted, self._spec.network.region, self._cluster_folder.mount.resource)

    def _back_up(self, wanted: FileSystem, arn: pulumi.Output[str]) -> None:
        if wanted.backup_days:
            self._backed_up.setdefault((wanted.key, wanted.backup_days), []).append(arn)

    def _state(self, group: HostGroup) -> tuple[list[Volume], list[contract.Mount]]:
        """Make what controllers keep: a disk of the only one, or a file system of both; a database is on a disk in any case.

        Returns:
            disks of the first controller; file systems of all.
        """
        embedded, protect = self._slurm.database.placement == "embedded", self._slurm.database.protect
        shared = group.count > 1
        volumes, mounts = [], []
        if shared and self._security.state is not None:
            place = dataclasses.replace(self._place, security_group=self._security.state)
            args = files.NfsArgs(place, name="state", mount=f"{host_folders.STATE}/slurmctld", protect=protect, keep=False, part="control")
            mounts.append(files.Nfs(_STATE, args, opts=self._opts).mount)
        if group.count and (embedded or not shared):
            # Two disks of different use have different names: what one holds is not where the other has it, and a protected one is not taken for the other.
            name, where = ("accounting", f"{host_folders.STATE}/mysql") if shared else ("state", host_folders.STATE)
            disk = VolumeArgs(self._names, name=name, part="control", zone=self._place.zone, size_gib=STATE_GIB, mount=where, protect=protect, snapshot=protect)
            volumes.append(Volume(name, disk, opts=self._opts))
        return volumes, mounts

    def _database(self) -> pulumi.Output[str] | None:
        if self._security.database is None:
            return None
        if self._keys.database is None:
            raise TypeError("a managed database needs the password that its user has")
        args = DatabaseArgs(
            self._names,
            subnets=self._network.service_subnets,
            security_group=self._security.database,
            password=self._keys.database,
            protect=self._slurm.database.protect,
            log_days=self._spec.monitoring.retention_days,
        )
        return Database("accounting", args, opts=self._opts).address

    def _login_nodes(self, mounts: Sequence[contract.Mount]) -> Instances:
        """Make the login nodes and what stands in front of them."""
        group, is_open = self._spec.access, is_public(self._spec.login) and bool(self._network.public_subnets)
        kind = self._kind("access", host_key=self._keys.login_host)
        by_itself = is_open and not self._has_balancer
        made = Instances(
            "access",
            HostsArgs(
                self._names,
                group=group,
                image=self._image(group.machine) if group.count else "",
                # Without a balancer in front of it, a login node that people reach from the Internet has an address there.
                subnet=self._network.public_subnets[0] if by_itself else self._network.cluster_subnet,
                security_groups=[self._security.hosts, self._security.login],
                profile_name=kind.role.profile_name,
                user_data=[self._birth(group, kind, mounts=[_read_only(self._cluster_folder.mount), *mounts])] * group.count,
                host_key=self._keys.login_host_public,
                jump_key=self._keys.login_host_public,
                public_address=by_itself,
                needs=self._needs(kind),
            ),
            opts=self._opts,
        )
        self._reached_by: list[pulumi.CustomResource] = []
        self._front = self._jump = pulumi.Output.from_input("")
        if self._has_balancer:
            args = BalancerArgs(
                self._names,
                vpc_id=self._network.vpc_id,
                subnets=self._network.public_subnets if is_open else [self._network.cluster_subnet],
                security_group=self._security.balancer or self._security.login,
                is_public=is_open,
            )
            balancer = Balancer("balancer", args, opts=self._opts)
            self._reached_by = balancer.serve(group.hostnames, made.instances)
            self._front = self._jump = balancer.address
        elif by_itself:
            self._front = self._jump = made.public_addresses[0]
        elif group.count:
            self._front = made.addresses[0]
        return made

    def _nodes(self, node_set: NodeSet, mounts: Sequence[contract.Mount]) -> OwnResource:
        """Make what a node set's nodes are started from, and what ends them when it goes."""
        group = node_set.hosts
        seen = [_read_only(self._cluster_folder.mount), *mounts]
        scratch = [node_set.scratch_mount] if node_set.scratch_mount else []
        has_to_have = expected(node_set, mounts=[*(mount.target for mount in seen), *scratch])
        birth = self._birth(group, self._compute, mounts=seen, scratch=node_set.scratch_mount, has_to_have=has_to_have)
        template = self._templates[group.name] = NodeTemplate(
            group.name,
            NodeTemplateArgs(
                self._names,
                node_set=node_set,
                image=node_set.image if isinstance(node_set.image, str) else self._image(group.machine),
                root_device=base_image(self._spec.software.os, group.machine.arch).root_device,
                subnet=self._network.cluster_subnet,
                security_groups=[self._security.hosts],
                profile_arn=self._compute.role.profile_arn,
                user_data=birth,
            ),
            opts=pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=self._needs(self._compute))),
        )
        inputs = {
            "region": self._spec.network.region,
            "stack": self._stack,
            "cluster": self._spec.name,
            "owner": self._names.owner,
            "node_set": group.name,
            "template": template.launch_template.id,
        }
        return OwnResource("clusterwright:aws:Nodes", f"{group.name}-nodes", inputs=inputs, opts=self._own)

    def _kind(self, part: str, *, host_key: pulumi.Output[str] | None = None, starts: Starts | None = None) -> Kind:
        keys = HostKeys(f"{part}-keys", HostKeysArgs(self._names, part=part, munge_key=self._keys.munge, host_key=host_key), opts=self._opts)
        keyed = [one.key for one in self._spec.storage if one.kind == "object" and one.key]
        args = RoleArgs(
            self._names,
            part=part,
            secret_arn=keys.arn,
            region=self._spec.network.region,
            bucket_arns=self._buckets,
            bucket_keys=keyed,
            starts=starts,
        )
        role = Role(part, args, opts=self._opts)
        return Kind(role, keys)

    def _needs(self, kind: Kind) -> list[pulumi.Resource]:
        return [*self._network.ready, *kind.role.ready, kind.keys.version]

    def _birth(
        self,
        group: HostGroup,
        kind: Kind,
        *,
        mounts: Sequence[contract.Mount],
        scratch: str | None = None,
        exports: tuple[str, ...] = (),
        has_to_have: str = "",
    ) -> pulumi.Output[str]:
        """Write the user data of a host, Base64."""
        spec = self._spec
        known = pulumi.Output.all(
            controllers=self._addresses.addresses, admin_key=self._keys.admin_public, secret=kind.keys.arn, sources=[mount.source for mount in mounts]
        )

        def write(values: Mapping[str, Any]) -> str:
            rows = [FstabEntry(source, mount.target, kind=mount.kind, options=mount.options) for source, mount in zip(values["sources"], mounts, strict=True)]
            config = HostConfig(
                role=group.role,
                cluster=spec.name,
                group=group.name,
                controllers=tuple(values["controllers"]),
                admin_key=values["admin_key"],
                mounts=tuple(rows),
                scratch=scratch,
                exports=exports,
                clients=spec.network.cidr,
                expected=has_to_have,
            )
            return encoded(user_data(config, region=spec.network.region, secret_arn=values["secret"]))

        return known.apply(write)

    def _image(self, machine: Machine) -> pulumi.Output[str]:
        """Give the software profile's image for a machine, built when it is first asked for."""
        if not self._images:
            args = BuilderArgs(
                self._names,
                region=self._spec.network.region,
                subnet=self._network.cluster_subnet,
                security_group=self._security.hosts,
                log_days=self._spec.monitoring.retention_days,
            )
            self._builder = Builder("image", args, opts=pulumi.ResourceOptions.merge(self._opts, pulumi.ResourceOptions(depends_on=self._network.ready)))
        if machine.arch not in self._images:
            self._images[machine.arch] = self._builder.build(self._spec.software, machine.arch)
        return self._images[machine.arch]


def _started(spec: ClusterSpec, stack: str) -> policies.Nodes:
    """Give what a controller's rights depend on."""
    started = [node_set for node_set in spec.node_sets if node_set.partition is not None]
    groups = {one.capacity.id for one in started if one.capacity.id and names_group(one.capacity)}
    return policies.Nodes(spec.network.region, stack, tuple(sorted({one.hosts.machine.name for one in started})), tuple(sorted(groups)))


def _check(spec: ClusterSpec) -> None:
    """Refuse what can't be stood up here.

    Raises:
        pulumi.RunError: with what to write instead.
    """
    if spec.network.egress == "none":
        raise pulumi.RunError(
            "without a way out no image can be built\n"
            "  why: the software profile's packages come from the Internet\n"
            "  do:  write `network: {egress: nat}`; hosts stay unreachable from outside"
        )


def _read_only(mount: contract.Mount) -> contract.Mount:
    """What only controllers write can't be spoilt by accident elsewhere. It keeps out mishaps, not a root: that takes Kerberos, which EFS doesn't have."""
    return dataclasses.replace(mount, options=(*mount.options, "ro"))
