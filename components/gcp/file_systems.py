"""All file systems of a blueprint, as hosts mount them, with the disks that a controller exports."""

import dataclasses
from collections.abc import Sequence

import pulumi

from blueprints import spec

from .. import contract
from . import storage


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystems:
    """The file systems of a stack."""

    mounts: tuple[contract.Mount, ...]
    """In the blueprint's order."""
    exported: tuple[storage.Volume, ...]
    """Disks that the first controller mounts and exports to the others."""


def provision(
    wanted: Sequence[spec.FileSystem], place: storage.Place, *, exporter: pulumi.Output[str], after: pulumi.Resource, opts: pulumi.ResourceOptions
) -> FileSystems:
    """Create the file systems.

    Args:
        exporter: address of the controller that exports disks.
        after: the resource that existing file systems depend on.
    Raises:
        pulumi.RunError: this version doesn't provision one of them.
    """
    mounts: list[contract.Mount] = []
    exported: list[storage.Volume] = []
    for one in wanted:
        match one.kind:
            case "nfs" if one.storage_class:
                mount = storage.Filestore(one.name, storage.FilestoreArgs(place, file_system=one), opts=opts).mount
            case "block":
                volume = storage.exported(one, place, opts=opts)
                exported.append(volume)
                mount = storage.over_nfs(volume.mount, exporter)
            case "existing":
                mount = storage.existing(one, after)
            case _:
                raise pulumi.RunError(
                    f"this version can't provision {one.product or one.kind} on Google Cloud\n  do:  choose another kind for storage.{one.name}"
                )
        mounts.append(mount)
    return FileSystems(tuple(mounts), tuple(exported))
