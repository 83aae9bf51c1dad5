"""Storage: file systems and buckets."""

from typing import Literal

from pydantic import Field

from .section import Bucket, Identifier, MountPoint, MountSource, Section, Size, Throughput


class Exchange(Section):
    """Import from and export to object storage."""

    bucket: Bucket = Field(description="The bucket and a prefix in it (`s3://name/prefix`, `gs://name`).")
    import_files: bool = Field(default=True, description="Show the bucket's objects as files.")
    export_files: bool = Field(default=False, description="Write changed files back to the bucket.")


class Quotas(Section):
    """Storage quotas of users and groups."""

    user: Size | None = Field(default=None, description="Limit of each user (`500 GiB`).")
    group: Size | None = Field(default=None, description="Limit of each account's group.")


class Storage(Section):
    """A shared file system, or a disk or bucket that all hosts mount."""

    kind: Literal["lustre", "nfs", "block", "object", "existing"] = Field(
        description="`lustre` (parallel, fast), `nfs` (homes), `block` (a disk of the controller, exported), `object` (a mounted bucket: every user can read, write and delete all files), `existing` (a file system that exists already)."
    )
    mount: MountPoint = Field(description="Where every host mounts it.")
    size: Size | None = Field(
        default=None,
        description="Size (`14400 GiB`, `2 TiB`), rounded up to what the cloud sells. Default: the smallest that the target offers.",
    )
    throughput: Throughput | None = Field(default=None, description="For `lustre`: throughput per TiB of size (`250 MB/s/TiB`).")
    durability: Literal["persistent", "scratch"] = Field(
        default="persistent", description="`scratch` is cheaper and loses files when a server of the file system fails."
    )
    writable_by: Literal["users", "administrators", "root"] | None = Field(
        default=None,
        description="Who may write at its top: all users (with the sticky bit, as in `/tmp`), the group of administrators, or root alone. Default: `users` while it is new and empty; root for `/home` and below `/opt`, `/usr`, `/var` and `/etc`. Files below are never changed.",
    )
    protect: bool = Field(default=True, description="Refuse changes that would delete or replace it.")
    on_delete: Literal["keep", "snapshot", "delete"] = Field(
        default="keep",
        description="What happens to the data when the stack is deleted: keep it, keep a final snapshot, or delete it. For `protect: false`.",
    )
    backup_days: int = Field(default=0, ge=0, le=90, description="Daily backups to keep; 0 for none.")
    encrypted: bool = Field(default=True, description="Encrypt it at rest.")
    key: Identifier | None = Field(default=None, description="Your own encryption key, by its id, alias or ARN. Default: the cloud's key.")
    source: MountSource | None = Field(
        default=None,
        description="For `existing`: the file system to mount. On a cloud: `fs-0123456789abcdef0` or `10.0.0.5:/export`. On bare metal: `10.0.0.5:/export` (NFS), `10.0.0.5@o2ib:/name` (Lustre), `user@.name=/` (CephFS), `backend/name` (WekaFS), or a folder of each host.",
    )
    exchange: Exchange | None = Field(default=None, description="For `lustre`: a bucket to import from or export to.")
    quotas: Quotas = Field(default=Quotas())
