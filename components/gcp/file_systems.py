"""All file systems of a blueprint, as hosts mount them, with the disks that a controller exports."""

import dataclasses
from collections.abc import Mapping, Sequence

import pulumi

from blueprints import spec

from .. import contract
from . import buckets, managed_lustre, storage
from .network import Wire


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystems:
    """The file systems of a stack."""

    mounts: tuple[contract.Mount, ...]
    """In the blueprint's order."""
    exported: tuple[storage.Volume, ...]
    """Disks that the first controller mounts and exports to the others."""
    ready: tuple[pulumi.Resource, ...]
    """What must exist before a host reaches its file systems, besides these."""


def provision(
    wanted: Sequence[spec.FileSystem],
    place: storage.Place,
    *,
    hosts: Wire,
    accounts: Mapping[str, pulumi.Input[str]],
    exporter: pulumi.Output[str],
    after: pulumi.Resource,
    opts: pulumi.ResourceOptions,
) -> FileSystems:
    """Create the file systems.

    Args:
        hosts: network and subnet of the hosts.
        accounts: part (`control`) → address of the service account of its hosts.
        exporter: address of the controller that exports disks.
        after: the resource that existing file systems depend on.
    Raises:
        pulumi.RunError: this version doesn't provision one of them.
    """
    mounts: list[contract.Mount] = []
    exported: list[storage.Volume] = []
    ready: list[pulumi.Resource] = []
    access = _access(managed_lustre.of(wanted), place, hosts, accounts, opts)
    for one in wanted:
        match one.kind:
            case "nfs" if one.storage_class:
                mount = storage.Filestore(one.name, storage.FilestoreArgs(place, file_system=one), opts=opts).mount
            case "block":
                volume = storage.exported(one, place, opts=opts)
                exported.append(volume)
                mount = storage.over_nfs(volume.mount, exporter)
            case "object":
                bucket = buckets.Bucket(one.name, buckets.BucketArgs(place, one, accounts), opts=opts)
                ready += bucket.ready
                mount = bucket.mount
            case "lustre" if access:
                mount = managed_lustre.Lustre(one.name, managed_lustre.LustreArgs(place, one, access), opts=opts).mount
            case "existing":
                mount = storage.existing(one, after)
            case _:
                raise pulumi.RunError(
                    f"this version can't provision {one.product or one.kind} on Google Cloud\n  do:  choose another kind for storage.{one.name}"
                )
        mounts.append(mount)
    return FileSystems(tuple(mounts), tuple(exported), (*(access.ready if access else ()), *ready))


def _access(
    file_systems: Sequence[spec.FileSystem], place: storage.Place, hosts: Wire, accounts: Mapping[str, pulumi.Input[str]], opts: pulumi.ResourceOptions
) -> managed_lustre.Access | None:
    """Let the hosts' network and Google's reach each other, where a file system is in Google's."""
    if not file_systems:
        return None
    args = managed_lustre.AccessArgs(place, file_systems, hosts_network=hosts.network, hosts_subnet=hosts.subnet, accounts=accounts)
    return managed_lustre.Access("services", args, opts=opts)
