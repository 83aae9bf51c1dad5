"""The shared file systems: EFS, FSx for Lustre, disks that the controller exports, buckets, and existing file systems."""

import dataclasses
import re
from collections.abc import Sequence

import pulumi
from pulumi_aws import efs, fsx, s3

from blueprints import catalog, spec

from .. import contract
from ..resource_options import beneath
from . import policies
from .control import Volume, VolumeArgs
from .names import Names

NFS_OPTIONS = ("nfsvers=4.1", "rsize=1048576", "wsize=1048576", "hard", "timeo=600", "retrans=2", "noresvport", "_netdev", "nofail")
"""EFS User Guide, "Recommended NFS mount options"; `nofail`: a host without one of its file systems boots and reports it."""
LUSTRE_OPTIONS = ("relatime", "flock", "_netdev", "nofail")
"""FSx for Lustre User Guide, "Mounting your file system automatically". The unit that it names beside these is another one on each system, and a mount that requires a missing one fails at
every boot but the first, when cloud-init mounts; `_netdev` waits for the network on all of them (systemd.mount(5), "fstab")."""
BUCKET_OPTIONS = ("_netdev", "nosuid", "nodev", "nofail", "rw", "allow-other", "allow-delete", "dir-mode=0777", "file-mode=0666")
"""All files of a bucket belong to the user that mounts it, whoever wrote them: `allow-other` alone lets users read, and the modes let them write (Mountpoint's CONFIGURATION.md, "File and directory
permissions"). They can't separate users of a bucket, and the host's role may write anyway."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Network and access of new file systems."""

    names: Names
    region: str
    subnet: pulumi.Input[str]
    zone: pulumi.Output[str]
    security_group: pulumi.Input[str]
    further_subnets: Sequence[pulumi.Input[str]] = ()
    """Subnets in other zones whose hosts also mount the file systems. A file system's name resolves to the mount target of the host's own zone only."""


@dataclasses.dataclass(frozen=True, slots=True)
class NfsArgs:
    place: Place
    name: str
    mount: str
    protect: bool
    keep: bool
    encrypted: bool = True
    key: str | None = None
    part: str = "storage"
    options: tuple[str, ...] = ()


class Nfs(pulumi.ComponentResource):
    """An EFS file system with a mount target in each zone where hosts are."""

    mount: contract.Mount
    arn: pulumi.Output[str]
    zone: pulumi.Output[str]
    further: list[efs.MountTarget]
    """Mount targets in other zones than the cluster's."""

    def __init__(self, name: str, args: NfsArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Nfs", name, {}, opts)
        api = catalog.storage_class("aws", "efs").api
        system = efs.FileSystem(
            f"{args.name}-file-system",
            # accepted CKV_AWS_184: `storage.<name>.key` names the owner's key; without it, AWS's key encrypts
            # accepted CKV2_AWS_18: `storage.<name>.backup_days` asks for backups
            creation_token=args.place.names.name("creation_token", args.name),
            encrypted=args.encrypted,
            kms_key_id=args.key,
            performance_mode=api["performance_mode"],
            throughput_mode=api["throughput_mode"],
            tags=args.place.names.tags(args.part, args.name),
            opts=beneath(self, protect=args.protect, keep=args.keep),
        )
        target = efs.MountTarget(
            f"{args.name}-mount-target",
            file_system_id=system.id,
            subnet_id=args.place.subnet,
            security_groups=[args.place.security_group],
            opts=beneath(self, replace_first=True),  # a zone has one
        )
        self.further = [
            efs.MountTarget(
                f"{args.name}-mount-target-{number}",
                file_system_id=system.id,
                subnet_id=subnet,
                security_groups=[args.place.security_group],
                opts=beneath(self, replace_first=True),
            )
            for number, subnet in enumerate(args.place.further_subnets, start=2)
        ]
        self.arn, self.zone = system.arn, target.availability_zone_name
        self.mount = contract.Mount(
            source=system.dns_name.apply(lambda host: f"{host}:/"),
            incarnation=system.id,
            target=args.mount,
            resource=target,
            kind="nfs4",
            options=(*NFS_OPTIONS, *args.options),
        )
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class LustreArgs:
    place: Place
    file_system: spec.FileSystem


class Lustre(pulumi.ComponentResource):
    """An FSx for Lustre file system."""

    mount: contract.Mount

    def __init__(self, name: str, args: LustreArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Lustre", name, {}, opts)
        wanted, names = args.file_system, args.place.names
        api = catalog.storage_class("aws", wanted.storage_class).api
        lasts = catalog.storage_class("aws", wanted.storage_class).survives
        system = fsx.LustreFileSystem(
            f"{wanted.name}-file-system",
            # accepted CKV_AWS_190: `storage.<name>.key` names the owner's key; without it, AWS's key encrypts
            deployment_type=api["deployment_type"],
            storage_type=api["storage_type"],
            storage_capacity=int(wanted.size_gib or 0),
            per_unit_storage_throughput=wanted.throughput_mbs_per_tib,
            subnet_ids=args.place.subnet,
            security_group_ids=[args.place.security_group],
            kms_key_id=wanted.key,
            efa_enabled=True if wanted.fabric else None,
            # The number of metadata servers follows the size. Without this block there is no EFA either.
            metadata_configuration={"mode": "AUTOMATIC"} if lasts else None,
            automatic_backup_retention_days=wanted.backup_days if lasts else None,
            copy_tags_to_backups=True if lasts else None,  # a backup that nobody can tell the owner of is kept and paid for ever
            skip_final_backup=wanted.on_delete != "snapshot",
            final_backup_tags=names.tags("storage", wanted.name) if wanted.on_delete == "snapshot" else None,
            tags=names.tags("storage", wanted.name),
            # EFA is decided when the file system is made; a pool that comes later must not replace the data.
            opts=beneath(self, protect=wanted.protect, keep=keeps(wanted), ignore=("efaEnabled",)),
        )
        if wanted.exchange:
            _associate(self, wanted, wanted.exchange, system, names)
        self.mount = contract.Mount(
            source=pulumi.Output.concat(system.dns_name, "@tcp:/", system.mount_name),
            incarnation=system.id,
            target=wanted.mount,
            resource=system,
            kind="lustre",
            options=LUSTRE_OPTIONS,
        )
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class BucketArgs:
    place: Place
    file_system: spec.FileSystem


class Bucket(pulumi.ComponentResource):
    """A bucket that hosts mount with Mountpoint."""

    mount: contract.Mount
    arn: pulumi.Output[str]

    def __init__(self, name: str, args: BucketArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Bucket", name, {}, opts)
        wanted, names = args.file_system, args.place.names
        bucket = private_bucket(
            self, wanted.name, names, part="storage", protect=wanted.protect, keep=keeps(wanted), empty=wanted.on_delete == "delete", key=wanted.key
        )
        if wanted.on_delete == "snapshot" or wanted.backup_days:
            # Objects have no snapshots; their older versions are what can be gone back to.
            s3.BucketVersioning(f"{wanted.name}-versions", bucket=bucket.id, versioning_configuration={"status": "Enabled"}, opts=beneath(self))
        self.arn = bucket.arn
        self.mount = contract.Mount(
            source=bucket.id.apply(lambda found: f"s3://{found}"),
            incarnation=bucket.id,
            target=wanted.mount,
            resource=bucket,
            kind="mount-s3",
            options=BUCKET_OPTIONS,
        )
        self.register_outputs({})


def private_bucket(
    parent: pulumi.Resource, name: str, names: Names, *, part: str, protect: bool = False, keep: bool = False, empty: bool = False, key: str | None = None
) -> s3.Bucket:
    """Make a bucket that nobody outside of the account reads, and nobody in the clear.

    Args:
        empty: delete its objects with it.
        key: the KMS key that it is encrypted with; without one, S3's own.
    """
    bucket = s3.Bucket(
        f"{name}-bucket",
        # accepted CKV_AWS_145: `storage.<name>.key` names a key of one's own; without it S3's encrypts
        # accepted CKV_AWS_21: `on_delete: snapshot` and `backup_days` ask for versions; who doesn't want them pays for each file once
        # accepted CKV_AWS_18, CKV2_AWS_62: who reads which object CloudTrail records where an account wants that; nothing here waits for events
        # accepted CKV_AWS_144, CKV2_AWS_61: how long data stays, and where else it lies, its owner decides; the stack deletes and copies none by itself
        # Names of buckets belong to the whole world, so the end is left to chance.
        bucket_prefix=f"{names.name('bucket_prefix', name)}-",
        force_destroy=empty,
        tags=names.tags(part, name),
        opts=beneath(parent, protect=protect, keep=keep),
    )
    s3.BucketPublicAccessBlock(
        f"{name}-bucket",
        bucket=bucket.id,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=beneath(parent, keep=keep),
    )
    s3.BucketPolicy(
        f"{name}-bucket", bucket=bucket.id, policy=bucket.arn.apply(lambda arn: policies.as_json(policies.only_encrypted(arn))), opts=beneath(parent, keep=keep)
    )
    if key is not None:
        by_default = s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(sse_algorithm="aws:kms", kms_master_key_id=key)
        rule = s3.BucketServerSideEncryptionConfigurationRuleArgs(apply_server_side_encryption_by_default=by_default, bucket_key_enabled=True)
        s3.BucketServerSideEncryptionConfiguration(f"{name}-bucket", bucket=bucket.id, rules=[rule], opts=beneath(parent, keep=keep))
    return bucket


def exported(wanted: spec.FileSystem, place: Place, opts: pulumi.ResourceOptions | None = None) -> Volume:
    """Make the disk of a `block` file system, which the first controller exports."""
    args = VolumeArgs(
        place.names,
        name=wanted.name,
        part="storage",
        zone=place.zone,
        size_gib=int(wanted.size_gib or 0),
        mount=wanted.mount,
        protect=wanted.protect,
        keep=keeps(wanted),
        snapshot=wanted.on_delete == "snapshot",
        encrypted=wanted.encrypted,
        key=wanted.key,
    )
    return Volume(wanted.name, args, opts=opts)


def over_nfs(mount: contract.Mount, server: pulumi.Output[str]) -> contract.Mount:
    """Give the mount of an exported disk as other hosts have it."""
    source = pulumi.Output.concat(server, ":", mount.target)
    return dataclasses.replace(mount, source=source, kind="nfs4", options=NFS_OPTIONS)


def existing(wanted: spec.FileSystem, region: str, resource: pulumi.Resource) -> contract.Mount:
    """Mount what is there already. Its source tells what it is: `fs-…` of EFS, `host:/folder` of NFS, anything with a Lustre network's name in it."""
    source, kind = source_of(wanted.source or "", region)
    options = LUSTRE_OPTIONS if kind == "lustre" else NFS_OPTIONS
    known = pulumi.Output.from_input(source)
    return contract.Mount(source=known, incarnation=known, target=wanted.mount, resource=resource, kind=kind, options=options)


def source_of(source: str, region: str) -> tuple[str, str]:
    """Give the source as mount(8) takes it, and the kind of file system. Pure."""
    if re.search(r"@[a-z0-9]+:/", source):
        return source, "lustre"
    if re.fullmatch("fs-[0-9a-f]+", source):
        return f"{source}.efs.{region}.amazonaws.com:/", "nfs4"
    return source, "nfs4"


def keeps(wanted: spec.FileSystem) -> bool:
    """Say whether the data stays in the account when the stack goes. Pure.

    EFS has no last snapshot that could be asked for, so there `snapshot` means that the file system itself stays: better too much is left than too little.
    """
    return wanted.on_delete == "keep" or (wanted.on_delete == "snapshot" and wanted.kind in ("nfs", "object"))


def keeps_network(file_systems: Sequence[spec.FileSystem]) -> bool:
    """Say whether the network has to outlive the stack: FSx stands in it with its addresses, EFS only puts mount targets there. Pure."""
    return any(one.kind == "lustre" and one.storage_class and not one.protect and keeps(one) for one in file_systems)


def _associate(parent: pulumi.Resource, wanted: spec.FileSystem, exchange: spec.Exchange, system: fsx.LustreFileSystem, names: Names) -> None:
    events = ["NEW", "CHANGED", "DELETED"]
    both = fsx.DataRepositoryAssociationS3Args(
        auto_import_policy=fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=events) if exchange.import_files else None,
        auto_export_policy=fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=events) if exchange.export_files else None,
    )
    fsx.DataRepositoryAssociation(
        f"{wanted.name}-exchange",
        file_system_id=system.id,
        file_system_path="/",
        data_repository_path=exchange.bucket,
        batch_import_meta_data_on_create=exchange.import_files,
        delete_data_in_filesystem=False,
        s3=both,
        tags=names.tags("storage", wanted.name, "exchange"),
        opts=beneath(parent, keep=keeps(wanted)),
    )
