"""Buckets of Cloud Storage that all hosts mount with gcsfuse."""

import dataclasses
from collections.abc import Mapping

import pulumi
from pulumi_gcp import storage as cloud_storage

from blueprints import spec

from .. import contract
from ..resource_options import beneath
from . import identity, storage

KIND = "gcsfuse"
"""For mount(8), which looks for mount.gcsfuse."""
OPTIONS = ("_netdev", "nofail", "nosuid", "nodev", "rw", "allow_other", "implicit_dirs", "dir_mode=777", "file_mode=666")
"""All files of a bucket belong to the user that mounts it: `allow_other` lets other users in, and the modes let them write (Cloud Storage FUSE documentation, "Mount a bucket by using a mount
command or file"). They can't separate users of a bucket, and the hosts' accounts may write anyway."""
ROLE = "roles/storage.objectUser"
"""Reads, writes and deletes objects and folders, and changes no rights (Cloud Storage documentation, "IAM roles"; Cloud Storage FUSE documentation, "Authenticate and authorize")."""


@dataclasses.dataclass(frozen=True, slots=True)
class BucketArgs:
    place: storage.Place
    file_system: spec.FileSystem
    accounts: Mapping[str, pulumi.Input[str]]
    """Part (`control`) → address of the service account of its hosts."""


class Bucket(pulumi.ComponentResource):
    """A bucket in the cluster's region that nobody outside the project reads, with the rights of the stack's hosts."""

    mount: contract.Mount
    ready: list[pulumi.Resource]
    """Must exist before a host mounts it."""

    def __init__(self, name: str, args: BucketArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Bucket", name, {}, opts)
        wanted, names = args.file_system, args.place.names
        kept = storage.keeps(wanted)
        bucket = cloud_storage.Bucket(
            f"{wanted.name}-bucket",
            # Names of buckets belong to the whole world; the stack's mark at the end makes this one the stack's.
            name=names.lasting_name(wanted.name),
            location=args.place.region,
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            # Folders of their own make renaming one operation (Cloud Storage documentation, "Hierarchical namespace"); chosen once.
            hierarchical_namespace=cloud_storage.BucketHierarchicalNamespaceArgs(enabled=True),
            encryption=cloud_storage.BucketEncryptionArgs(default_kms_key_name=wanted.key) if wanted.key else None,
            force_destroy=wanted.on_delete == "delete",
            labels=names.labels("storage"),
            opts=beneath(self, protect=wanted.protect, keep=kept, replace_first=True, ignore=("name",)),
        )
        self.ready = [
            cloud_storage.BucketIAMMember(
                f"{part}-uses-{wanted.name}",
                bucket=bucket.name,
                role=ROLE,
                member=identity.member(pulumi.Output.from_input(email)),
                opts=beneath(self),
            )
            for part, email in args.accounts.items()
        ]
        self.mount = contract.Mount(source=bucket.name, incarnation=bucket.id, target=wanted.mount, resource=bucket, kind=KIND, options=OPTIONS)
        self.register_outputs({})
