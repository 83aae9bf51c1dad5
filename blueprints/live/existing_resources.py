"""Existing resources that a blueprint names: keys, file systems, buckets, images."""

from collections.abc import Iterator

from .. import finding, spec
from ..codes import Code
from ..document import Document
from .account import Answers, FileSystem, bucket_name, file_system_id, hosts_zone

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find keys, file systems, buckets and images that don't exist or can't be used."""
    zone = hosts_zone(cluster, answers)
    for entry in cluster.storage:
        if entry.key and answers.knows("keys"):
            yield from _key(entry, source, answers)
        if entry.exchange and answers.knows("buckets") and not answers.buckets[bucket_name(entry.exchange.bucket)]:
            what = f"the bucket {bucket_name(entry.exchange.bucket)} does not exist"
            why = "bucket names are global, and no account has a bucket of this name; a file system can't be linked to it"
            yield finding.Finding(
                _ERROR, Code.BUCKET_MISSING, source.where("storage", entry.name, "exchange", "bucket"), what, why, "create it, or name another bucket"
            )
        found = file_system_id(cluster, entry)
        if found and answers.knows("file systems"):
            where = source.where("storage", entry.name, "source")
            for level, what, why, remedy in _file_system(found, answers.file_systems.get(found), zone, cluster):
                yield finding.Finding(level, Code.FILE_SYSTEM_UNFIT, where, what, why, remedy)
    yield from _images(cluster, source, answers)


def _key(entry: spec.FileSystem, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    key = answers.keys.get(entry.key or "")
    where = source.where("storage", entry.name, "key")
    if key is None:
        what = f"the key {entry.key} does not exist"
        yield finding.Finding(
            _ERROR, Code.KEY_UNFIT, where, what, "the account has no key of this name in the region", "write the full name of an existing key, or remove `key`"
        )
    elif not key.is_enabled or not key.can_encrypt:
        what = f"the key {entry.key} can't encrypt"
        why = "it is a signing key" if key.is_enabled else "it is disabled, or scheduled for deletion"
        yield finding.Finding(_ERROR, Code.KEY_UNFIT, where, what, why, "enable it, or name another key")


def _file_system(ident: str, found: FileSystem | None, zone: str | None, cluster: spec.ClusterSpec) -> Iterator[tuple[finding.Level, str, str, str]]:
    region, network = cluster.network.region, cluster.network.existing
    if found is None:
        yield (
            _ERROR,
            f"the file system {ident} does not exist in {region}",
            "the account has no file system of this name there",
            "choose one that `clusterwright lookup storage` lists",
        )
        return
    if not found.is_available:
        yield _ERROR, f"{ident} is {found.state}", "hosts can't mount it", "wait until it is available, or name another file system"
    if found.network is not None and found.network != network:
        what = f"{ident} is in the network {found.network}, and the cluster's network is {network or 'a new one'}"
        why = "hosts in another network can't reach a file system unless the networks are peered"
        yield _WARNING, what, why, f"write `network: {{existing: {found.network}}}`, or peer the two networks"
    elif found.zones is not None and zone is not None and zone not in found.zones:
        what = f"{ident} has no mount target in {zone}, the hosts' zone"
        why = f"its name resolves only in zones that have one ({', '.join(found.zones) or 'none has'})"
        yield _ERROR, what, why, "create a mount target in that zone, or name another zone"


def _images(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    for node_set in cluster.node_sets if answers.knows("images") else ():
        if not isinstance(node_set.image, str) or node_set.image not in answers.images:
            continue
        image, arch = answers.images[node_set.image], node_set.hosts.machine.arch
        where = source.where("pools", node_set.pool, "image")
        if image is None or not image.is_available:
            what = f"the image {node_set.image} does not exist in {cluster.network.region}, or this account can't use it"
            why = "an image must be where the hosts run, and its owner must share it with the account"
            yield finding.Finding(_ERROR, Code.IMAGE_UNFIT, where, what, why, "choose one that `clusterwright lookup images` lists")
        elif image.arch != arch:
            what = f"{node_set.image} is for {image.arch} processors, and {node_set.hosts.machine.name} has {arch}"
            yield finding.Finding(
                _ERROR,
                Code.IMAGE_UNFIT,
                where,
                what,
                "a host can't start from an image for another architecture",
                "name an image for these processors, or remove `image`",
            )
    for (system, arch), image in answers.bases.items() if answers.knows("base images") else ():
        if image is None:
            what = f"the base image of the profile {cluster.software.profile}, {system} for {arch}, does not exist in {cluster.network.region}"
            why = "the cloud publishes none there under the name that the catalogue knows"
            yield finding.Finding(_ERROR, Code.IMAGE_UNFIT, source.where("software"), what, why, "choose another region or software profile")
