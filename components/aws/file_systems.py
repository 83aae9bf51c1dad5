"""All file systems of a blueprint, as hosts mount them, with the disks that a controller exports and the buckets that roles may read."""

import dataclasses
from collections.abc import Sequence

import pulumi

from blueprints import spec

from .. import contract
from . import storage
from .backups import Backups, BackupsArgs
from .control import Volume


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystems:
    """The file systems of a stack."""

    mounts: tuple[contract.Mount, ...]
    """In the blueprint's order."""
    exported: tuple[Volume, ...]
    """Disks that the first controller mounts and exports to the others."""
    bucket_arns: tuple[pulumi.Output[str], ...]
    bucket_keys: tuple[str, ...]
    """KMS keys that buckets are encrypted with, as the blueprint names them."""


def provision(
    wanted: Sequence[spec.FileSystem],
    place: storage.Place,
    *,
    exporter: pulumi.Output[str] | None,
    after: pulumi.Resource,
    opts: pulumi.ResourceOptions,
) -> FileSystems:
    """Create the file systems and their backups.

    Args:
        exporter: address of the controller that exports disks; None: there is no controller.
        after: the resource that existing file systems depend on.
    """
    mounts: list[contract.Mount] = []
    exported: list[Volume] = []
    buckets: list[pulumi.Output[str]] = []
    backed_up: dict[tuple[str | None, int], list[pulumi.Output[str]]] = {}
    for one in wanted:
        arn = None
        match one.kind:
            case "nfs":
                nfs = storage.Nfs(one.name, _nfs(one, place), opts=opts)
                mount, arn = nfs.mount, nfs.arn
            case "lustre":
                mount = storage.Lustre(one.name, storage.LustreArgs(place, file_system=one), opts=opts).mount
            case "object":
                bucket = storage.Bucket(one.name, storage.BucketArgs(place, file_system=one), opts=opts)
                buckets.append(bucket.arn)
                mount = bucket.mount
            case "block" if exporter is not None:
                volume = storage.exported(one, place, opts=opts)
                exported.append(volume)
                mount, arn = storage.over_nfs(volume.mount, exporter), volume.arn
            case _:
                mount = storage.existing(one, place.region, after)
        mounts.append(mount)
        if one.backup_days and arn is not None:
            backed_up.setdefault((one.key, one.backup_days), []).append(arn)
    if backed_up:
        ours = [one for one in wanted if one.backup_days and one.kind in ("nfs", "block")]
        safety = {"protect": any(one.protect for one in ours), "keep": any(storage.keeps(one) for one in ours)}
        Backups("backups", BackupsArgs(place.names, region=place.region, arns=backed_up, **safety), opts=opts)
    keys = tuple(one.key for one in wanted if one.kind == "object" and one.key)
    return FileSystems(tuple(mounts), tuple(exported), tuple(buckets), keys)


def _nfs(wanted: spec.FileSystem, place: storage.Place) -> storage.NfsArgs:
    return storage.NfsArgs(
        place,
        name=wanted.name,
        mount=wanted.mount,
        protect=wanted.protect,
        keep=storage.keeps(wanted),
        encrypted=wanted.encrypted,
        key=wanted.key,
    )
