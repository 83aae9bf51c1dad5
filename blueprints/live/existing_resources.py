"""What a blueprint names and others made: keys, file systems, buckets, images."""

from collections.abc import Iterator

from .. import finding, spec
from ..codes import Code
from ..document import Document
from .account import Answers, FileSystem, bucket_name, file_system_id, hosts_zone

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find keys, file systems and images that aren't there, or can't serve."""
    zone = hosts_zone(cluster, answers)
    for entry in cluster.storage:
        if entry.key and answers.knows("keys"):
            yield from _key(entry, source, answers)
        if entry.exchange and answers.knows("buckets") and not answers.buckets[bucket_name(entry.exchange.bucket)]:
            what = f"there is no bucket {bucket_name(entry.exchange.bucket)}"
            why = "names of buckets are the same for everybody, and nobody has one of this name; a file system can't be linked to it"
            yield finding.Finding(_ERROR, Code.BUCKET_MISSING, source.where("storage", entry.name, "exchange", "bucket"), what, why, "make it, or name another")
        found = file_system_id(entry)
        if found and answers.knows("file systems"):
            where = source.where("storage", entry.name, "source")
            for level, what, why, remedy in _file_system(found, answers.file_systems.get(found), zone, cluster):
                yield finding.Finding(level, Code.FILE_SYSTEM_UNFIT, where, what, why, remedy)
    yield from _images(cluster, source, answers)


def _key(entry: spec.FileSystem, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    key = answers.keys.get(entry.key or "")
    where = source.where("storage", entry.name, "key")
    if key is None:
        what = f"there is no key {entry.key}"
        yield finding.Finding(
            _ERROR, Code.KEY_UNFIT, where, what, "the account knows none of this name in the region", "write the ARN of one, or take `key` out"
        )
    elif not key.is_enabled or not key.can_encrypt:
        what = f"{entry.key} encrypts nothing"
        why = "it is for signatures" if key.is_enabled else "it is switched off, or about to be deleted"
        yield finding.Finding(_ERROR, Code.KEY_UNFIT, where, what, why, "enable it, or name another")


def _file_system(ident: str, found: FileSystem | None, zone: str | None, cluster: spec.ClusterSpec) -> Iterator[tuple[finding.Level, str, str, str]]:
    region, network = cluster.network.region, cluster.network.existing
    if found is None:
        yield (
            _ERROR,
            f"there is no file system {ident} in {region}",
            "the account has none of this name there",
            "`clusterwright lookup storage` lists those that there are",
        )
        return
    if not found.is_available:
        yield _ERROR, f"{ident} is {found.state}", "hosts can't mount it", "wait until it is available, or name another"
    if found.network is not None and found.network != network:
        what = f"{ident} is reached in {found.network}, and the cluster's network is {network or 'a new one'}"
        why = "a file system answers inside of its network, unless somebody joins the two"
        yield _WARNING, what, why, f"write `network: {{existing: {found.network}}}`, or join the two networks"
    elif found.zones is not None and zone is not None and zone not in found.zones:
        what = f"{ident} has no mount target in {zone}, where the hosts run"
        why = f"its name resolves only in zones that have one ({', '.join(found.zones) or 'none has'})"
        yield _ERROR, what, why, "make one in that zone, or name another zone"


def _images(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    for node_set in cluster.node_sets if answers.knows("images") else ():
        if not isinstance(node_set.image, str) or node_set.image not in answers.images:
            continue
        image, arch = answers.images[node_set.image], node_set.hosts.machine.arch
        where = source.where("pools", node_set.pool, "image")
        if image is None or not image.is_available:
            what = f"there is no usable image {node_set.image} in {cluster.network.region}"
            why = "an image belongs to one region, and to the accounts that its owner named"
            yield finding.Finding(_ERROR, Code.IMAGE_UNFIT, where, what, why, "`clusterwright lookup images` lists your own")
        elif image.arch != arch:
            what = f"{node_set.image} is for {image.arch} processors, and {node_set.hosts.machine.name} has {arch}"
            yield finding.Finding(_ERROR, Code.IMAGE_UNFIT, where, what, "it doesn't start there", "name an image for these processors, or take `image` out")
    for (system, arch), image in answers.bases.items() if answers.knows("base images") else ():
        if image is None:
            what = f"nobody publishes {system} for {arch} in {cluster.network.region}, where the profile {cluster.software.profile} would be built on it"
            why = "the region's parameter store has no entry for it"
            yield finding.Finding(_ERROR, Code.IMAGE_UNFIT, source.where("software"), what, why, "choose another region or software profile")
