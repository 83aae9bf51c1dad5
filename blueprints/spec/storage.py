"""Shared file systems and buckets."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """Files that come from or go to object storage."""

    bucket: str
    import_files: bool
    export_files: bool


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystem:
    name: str
    kind: str
    """What serves it: `nfs`, `lustre`, …; on the local target every kind is one folder of the machine."""
    mount: str
    protect: bool
    """True: a change that would delete or replace it is refused."""
    simulated: bool
    product: str = ""
    """The cloud's name for it (`FSx for Lustre`)."""
    storage_class: str = ""
    """The catalogue's key."""
    size_gib: float | None = None
    """None: what there is (a bucket, a folder, one that exists)."""
    throughput_mbs_per_tib: int | None = None
    throughput_mbs: float | None = None
    """All of it together, MB/s (powers of 1000), as the cloud states it; None when no source tells."""
    fabric: str = ""
    """The fabric over which nodes reach it (`efa`); empty: they reach it over Ethernet."""
    durability: str = "persistent"
    on_delete: str = "keep"
    backup_days: int = 0
    encrypted: bool = True
    key: str | None = None
    source: str | None = None
    """What is mounted, of one that exists already."""
    exchange: Exchange | None = None
    user_quota_gib: float | None = None
    group_quota_gib: float | None = None
