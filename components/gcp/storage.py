"""Shared file systems and disks: Filestore, disks that the controller exports over NFS, and file systems that exist already."""

import dataclasses
import re
from collections.abc import Sequence

import pulumi
from pulumi_gcp import compute, filestore

from blueprints import catalog, spec

from .. import contract
from ..resource_options import beneath
from .names import Names

NFS_OPTIONS = ("nfsvers=3", "hard", "timeo=600", "retrans=3", "rsize=524288", "wsize=524288", "_netdev", "nofail")
"""Filestore documentation, "Mounting file shares"; `nofail`: a host without one of its file systems boots and reports it."""
EXPORT_OPTIONS = ("nfsvers=4.2", "hard", "timeo=600", "retrans=2", "_netdev", "nofail")
"""Of disks that the controller exports."""
TABLE_OPTIONS = ("nfsvers=4.2", "ro", "soft", "timeo=50", "retrans=2", "_netdev", "nofail")
"""Of the cluster's folder on other hosts than the controller: while it boots, reading the table of hosts fails after seconds instead of waiting."""
LUSTRE = "lustre"
"""Kind for mount(8)."""
LUSTRE_OPTIONS = ("relatime", "flock", "_netdev", "nofail")
SHARE = "share"
_DISK = "/dev/disk/by-id/google-"


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where new file systems are."""

    names: Names
    region: str
    zone: pulumi.Output[str]
    network: pulumi.Output[str]
    """Full name of the hosts' network."""
    clients: str
    """Network of the hosts, which may mount them."""
    disk_type: str
    """Of disks that the first controller mounts."""


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeArgs:
    names: Names
    name: str
    part: str
    zone: pulumi.Input[str] | None
    size_gib: int
    kind: str
    """Type of the disk (`pd-balanced`)."""
    mount: str
    protect: bool
    keep: bool = False
    snapshot: bool = False
    """Keep a final snapshot when the disk is deleted."""
    holds_zone: bool = False
    """The zone is chosen once; a later answer must not move the disk."""
    key: str | None = None
    """Key of Cloud KMS that encrypts it; None: Google's own."""


class Volume(pulumi.ComponentResource):
    """A disk that outlives its instance."""

    mount: contract.Mount
    link: pulumi.Output[str]
    device: str
    """Name under which an instance attaches it, and finds it."""
    zone: pulumi.Output[str]

    def __init__(self, name: str, args: VolumeArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Volume", name, {}, opts)
        disk = compute.Disk(
            f"{args.name}-disk",
            name=args.names.lasting_name(args.name, "disk", kind="disk"),
            description=args.names.description(f"Disk {args.name}"),
            zone=args.zone,
            type=args.kind,
            size=args.size_gib,
            create_snapshot_before_destroy=True if args.snapshot else None,
            disk_encryption_key=compute.DiskDiskEncryptionKeyArgs(kms_key_self_link=args.key) if args.key else None,
            labels=args.names.labels(args.part),
            # Another machine of the controller may want another type. A disk's type can't be changed, and a new disk would have no data. Nor would one with another name: a stack of an earlier
            # version has a disk without the mark in its name.
            opts=beneath(self, protect=args.protect, keep=args.keep, replace_first=True, ignore=("name", "type", *(("zone",) if args.holds_zone else ()))),
        )
        self.link, self.zone, self.device = disk.self_link, disk.zone, args.name
        self.mount = contract.Mount(
            source=pulumi.Output.from_input(f"{_DISK}{args.name}"),
            incarnation=disk.id,
            target=args.mount,
            resource=disk,
            kind="xfs",
            # An empty disk is formatted by the first host that mounts it (systemd.mount(5)).
            options=("nofail", "noatime", "x-systemd.makefs", "x-systemd.device-timeout=600"),
        )
        self.register_outputs({})


UNPROTECTED_TIERS = ("BASIC_HDD", "BASIC_SSD")
"""Filestore documentation, "Prevent instance deletion", limitations: the service refuses its own protection for these. The engine's protection holds for all."""


@dataclasses.dataclass(frozen=True, slots=True)
class FilestoreArgs:
    place: Place
    file_system: spec.FileSystem
    part: str = "storage"


class Filestore(pulumi.ComponentResource):
    """A Filestore instance with one share."""

    mount: contract.Mount

    def __init__(self, name: str, args: FilestoreArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Filestore", name, {}, opts)
        wanted, place = args.file_system, args.place
        known = catalog.storage_class("gcp", wanted.storage_class)
        export = filestore.InstanceFileSharesNfsExportOptionArgs(access_mode="READ_WRITE", squash_mode="NO_ROOT_SQUASH", ip_ranges=[place.clients])
        instance = filestore.Instance(
            f"{wanted.name}-file-system",
            name=place.names.lasting_name(wanted.name),
            description=place.names.description(f"File system {wanted.name}"),
            location=place.zone if known.zonal else place.region,
            tier=known.api["tier"],
            file_shares=filestore.InstanceFileSharesArgs(name=SHARE, capacity_gb=int(wanted.size_gib or 0), nfs_export_options=[export]),
            networks=[filestore.InstanceNetworkArgs(network=place.network, modes=["MODE_IPV4"], connect_mode="DIRECT_PEERING")],
            kms_key_name=wanted.key,
            deletion_protection_enabled=wanted.protect if known.api["tier"] not in UNPROTECTED_TIERS else None,
            labels=place.names.labels(args.part),
            opts=beneath(self, protect=wanted.protect, keep=keeps(wanted), replace_first=True, ignore=("name",)),  # as of a disk
        )
        address = instance.networks.apply(lambda networks: str((networks[0].ip_addresses or [""])[0]))
        self.mount = contract.Mount(
            source=pulumi.Output.concat(address, ":/", SHARE),
            incarnation=instance.id,
            target=wanted.mount,
            resource=instance,
            kind="nfs",
            options=NFS_OPTIONS,
        )
        self.register_outputs({})


def exported(wanted: spec.FileSystem, place: Place, opts: pulumi.ResourceOptions | None = None) -> Volume:
    """Make the disk of a `block` file system, which the first controller exports."""
    args = VolumeArgs(
        place.names,
        name=wanted.name,
        part="storage",
        zone=place.zone,
        size_gib=int(wanted.size_gib or 0),
        kind=place.disk_type,
        mount=wanted.mount,
        protect=wanted.protect,
        keep=keeps(wanted),
        snapshot=wanted.on_delete == "snapshot",
        key=wanted.key,
    )
    return Volume(wanted.name, args, opts=opts)


def over_nfs(mount: contract.Mount, server: pulumi.Output[str], *, options: tuple[str, ...] = EXPORT_OPTIONS) -> contract.Mount:
    """Give the mount of an exported disk as other hosts have it."""
    return dataclasses.replace(mount, source=pulumi.Output.concat(server, ":", mount.target), kind="nfs4", options=options, is_late=True)


def existing(wanted: spec.FileSystem, resource: pulumi.Resource) -> contract.Mount:
    """Mount what exists already: Lustre where the source names a Lustre network, else NFS."""
    source = wanted.source or ""
    is_lustre = re.search(r"@[a-z0-9]+:/", source) is not None
    known = pulumi.Output.from_input(source)
    kind, options = (LUSTRE, LUSTRE_OPTIONS) if is_lustre else ("nfs", NFS_OPTIONS)
    return contract.Mount(source=known, incarnation=known, target=wanted.mount, resource=resource, kind=kind, options=options)


def keeps(wanted: spec.FileSystem) -> bool:
    """Say whether the data stays in the project when the stack goes. Pure.

    The engine can't ask Filestore for a last backup, so there `snapshot` means that the instance itself stays: better too much is left than too little.
    """
    return wanted.on_delete == "keep" or (wanted.on_delete == "snapshot" and wanted.kind != "block")


def keeps_network(file_systems: Sequence[spec.FileSystem]) -> bool:
    """Say whether the hosts' network has to outlive the stack: it is peered with the network of a Filestore instance. Pure."""
    return any(one.kind in ("nfs", "lustre") and one.storage_class and keeps(one) for one in file_systems)
