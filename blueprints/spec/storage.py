"""Shared file systems and buckets."""

import dataclasses
from typing import Annotated

from . import cost

MADE_NEW = "a new file system is made, and the old one goes with all files"
NEW_FILE_SYSTEM = cost.destroys_data(MADE_NEW)
ENCRYPTED_ANEW = cost.destroys_data("files are encrypted from the first on: a new file system is made, and the old one goes")
LINK = cost.in_place("the link to the bucket; files stay")


HOMES = "/home"
SYSTEM_FOLDERS = ("/opt", "/usr", "/var", "/etc")
"""Where programs and settings of all are looked for: who may write there can run as others."""


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """Files that come from or go to object storage."""

    bucket: Annotated[str, LINK]
    import_files: Annotated[bool, LINK]
    export_files: Annotated[bool, LINK]


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystem:
    name: Annotated[str, NEW_FILE_SYSTEM]
    kind: Annotated[
        str,
        cost.destroys_data(MADE_NEW, given=(("kind", "existing", cost.Cost(cost.Effect.ROLLING, "hosts mount the other one; this one stays where it is")),)),
    ]
    """What serves it: `nfs`, `lustre`, …; on the local target every kind is one folder of the machine."""
    mount: Annotated[str, cost.rolling("hosts mount it at the other place; jobs that use the old one end")]
    protect: Annotated[bool, cost.in_place("what is refused from now on; the files stay")]
    """True: a change that would delete or replace it is refused."""
    simulated: Annotated[bool, cost.TEXT]
    product: Annotated[str, cost.FOLLOWS] = ""
    """The cloud's name for it (`FSx for Lustre`)."""
    storage_class: Annotated[str, NEW_FILE_SYSTEM] = ""
    """The catalogue's key."""
    size_gib: Annotated[
        float | None,
        cost.in_place(
            "the file system grows while it is mounted",
            less=cost.Cost(cost.Effect.DESTROYS_DATA, "it can't shrink: a smaller one is made, and the old one goes with all files"),
        ),
    ] = None
    """None: what there is (a bucket, a folder, one that exists)."""
    throughput_mbs_per_tib: Annotated[int | None, cost.in_place("the file system is rebuilt around its files; it pauses for moments")] = None
    throughput_mbs: Annotated[float | None, cost.FOLLOWS] = None
    """All of it together, MB/s (powers of 1000), as the cloud states it; None when no source tells."""
    fabric: Annotated[str, cost.FOLLOWS] = ""
    """The fabric over which nodes reach it (`efa`); empty: they reach it over Ethernet."""
    durability: Annotated[str, NEW_FILE_SYSTEM] = "persistent"
    on_delete: Annotated[str, cost.in_place("what happens at the end; the files stay")] = "keep"
    backup_days: Annotated[int, cost.in_place("backups from now on")] = 0
    encrypted: Annotated[bool, ENCRYPTED_ANEW] = True
    key: Annotated[str | None, ENCRYPTED_ANEW] = None
    source: Annotated[str | None, cost.rolling("hosts mount the other one; what they mounted stays where it is")] = None
    """What is mounted, of one that exists already."""
    exchange: Annotated[Exchange | None, LINK] = None
    user_quota_gib: Annotated[float | None, cost.in_place("a limit; files stay")] = None
    group_quota_gib: Annotated[float | None, cost.in_place("a limit; files stay")] = None
    writable_by: Annotated[str, cost.in_place("owner and mode of its top folder; files below stay as they are")] = ""
    """`users`, `administrators` or `root`; empty: the default."""

    @property
    def writers(self) -> str:
        """Who may write at its top."""
        return self.writable_by or ("root" if self.mount == HOMES or self.mount.startswith(SYSTEM_FOLDERS) else "users")


FileSystems = Annotated[
    tuple[FileSystem, ...],
    cost.Entries(
        added=cost.in_place("it is made, and hosts mount it"),
        removed=cost.destroys_data(
            "the file system goes, with all files",
            given=(
                ("kind", "existing", cost.Cost(cost.Effect.ROLLING, "hosts unmount it; it stays where it is")),
                ("protect", True, cost.Cost(cost.Effect.DESTROYS_DATA, "the file system leaves the stack")),
                (
                    "on_delete",
                    "keep",
                    cost.Cost(cost.Effect.ROLLING, "hosts unmount it; it stays, outside of the stack, and goes on to cost (on_delete: keep)"),
                ),
            ),
        ),
    ),
]
"""The file systems of a cluster."""
