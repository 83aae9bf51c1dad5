"""Storage: file systems and buckets."""

from typing import Literal

from pydantic import Field

from .section import Bucket, Identifier, MountPoint, Section, Size, Throughput


class Exchange(Section):
    """Files that come from or go to object storage."""

    bucket: Bucket = Field(description="The bucket and a prefix in it (`s3://name/prefix`, `gs://name`).")
    import_files: bool = Field(default=True, description="Show the bucket's objects as files.")
    export_files: bool = Field(default=False, description="Write changed files back to the bucket.")


class Quotas(Section):
    """What one user or group may store."""

    user: Size | None = Field(default=None, description="The most each user may store (`500 GiB`).")
    group: Size | None = Field(default=None, description="The most each account's group may store.")


class Storage(Section):
    """A file system that all hosts share, or a disk or bucket that they mount."""

    kind: Literal["lustre", "nfs", "block", "object", "existing"] = Field(
        description="`lustre` (parallel, fast), `nfs` (homes), `block` (a disk of the controller, exported), `object` (a bucket, mounted: every user reads, writes and deletes all of its files), `existing` (one that is there)."
    )
    mount: MountPoint = Field(description="Where every host mounts it.")
    size: Size | None = Field(
        default=None,
        description="How much it holds (`14400 GiB`, `2 TiB`); what is not sold is rounded up, and left out it is the least that the target offers.",
    )
    throughput: Throughput | None = Field(default=None, description="For `lustre`: speed for each TiB of size (`250 MB/s/TiB`).")
    durability: Literal["persistent", "scratch"] = Field(
        default="persistent", description="`scratch` is cheaper, and its files are lost when a server of the file system is."
    )
    protect: bool = Field(default=True, description="Refuse changes that would delete or replace it.")
    on_delete: Literal["keep", "snapshot", "delete"] = Field(
        default="keep",
        description="What happens to the data when the stack is removed: it stays, a last snapshot stays, or nothing does. For `protect: false`.",
    )
    backup_days: int = Field(default=0, ge=0, le=90, description="How many daily backups are kept; 0 for none.")
    encrypted: bool = Field(default=True, description="Encrypt it at rest.")
    key: Identifier | None = Field(default=None, description="Your own encryption key, by its identifier; left out, the cloud's.")
    source: Identifier | None = Field(default=None, description="For `existing`: what is mounted (`fs-0123456789abcdef0`, `10.0.0.5:/export`).")
    exchange: Exchange | None = Field(default=None, description="For `lustre`: a bucket whose objects it shows or keeps.")
    quotas: Quotas = Field(default=Quotas())
