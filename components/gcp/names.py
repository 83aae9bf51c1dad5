"""Names and ownership labels of objects in the project, in one place, so that creation and clean-up can't disagree."""

import dataclasses
import re
from typing import TYPE_CHECKING

from blueprints import catalog
from blueprints.spec import ClusterSpec

from .. import short_names
from .site import Site

if TYPE_CHECKING:  # drift checks read names without an engine
    import pulumi

STACK_LABEL, CLUSTER_LABEL, PART_LABEL = "clusterwright-stack", "clusterwright-cluster", "clusterwright-part"
OWNER_LABEL = "clusterwright-owner"
"""The stack's mark (`site`), which differs between stacks of the same name."""
NODE_SET_LABEL, NODE_LABEL = "clusterwright-node-set", "clusterwright-node"
COMPUTE = "compute"

_KNOWN = catalog.target("gcp").name_limits
_LIMITS = {
    "resource": _KNOWN["resource"],
    "instance_prefix": _KNOWN["resource"] - len("-") - _KNOWN["hostname"],
    "service_account": 30,
    "role": 40,
    "disk": 48,
    "database": 59,
}
"""Kind → the longest name. A service account's id has 6 to 30 characters (IAM API reference, accountId), a role's id 64, of which the mark takes a part. A prefix of instances
leaves room for the longest hostnames, which `check` limits. The last snapshot of a disk has its name and 14 more characters (pulumi-gcp, compute.Disk, create_snapshot_before_destroy).
A database's name has 98 characters with the project's, which has up to 30 (Cloud SQL documentation, "About instance settings"), and 8 of them are random."""
_LABEL_LENGTH = 63  # Compute Engine documentation, "Label format"
_DIGEST_LENGTH = 8
MARK_ROOM = len("-") + 2 * Site.size_bytes
"""Of the stack's mark at the end of a name, hexadecimal."""


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """Names and labels of one stack's objects."""

    cluster: str
    stack: str
    user_labels: tuple[tuple[str, str], ...] = ()
    owner: "pulumi.Input[str]" = ""
    """The stack's mark."""

    def name(self, *parts: str, kind: str = "resource", spare: int = 0) -> str:
        """Return the name of an object: `<cluster>-<stack>-<part…>`, shortened with a digest where it is too long.

        Args:
            kind: a key of the limits.
            spare: characters that somebody appends.
        """
        plain = "-".join((self.cluster, self.stack, *parts))
        # Cluster a-b with stack c and cluster a with stack b-c would get the same names.
        return _fit(plain, _LIMITS[kind] - spare, of="\0".join((self.cluster, self.stack, *parts)), is_ambiguous="-" in self.stack)

    def lasting_name(self, *parts: str, kind: str = "resource") -> "pulumi.Output[str]":
        """Return the name of an object that can outlive its stack: it ends with the stack's mark, so that the next stack of this name takes another.

        Args:
            kind: a key of the limits.
        """
        import pulumi

        return pulumi.Output.concat(self.name(*parts, kind=kind, spare=MARK_ROOM), "-", self.owner)

    @property
    def instance_prefix(self) -> str:
        """Begins the names of all instances; the rest is the hostname, which the host reads from its own name at boot."""
        return f"{self.name(kind='instance_prefix')}-"

    def instance(self, hostname: str) -> str:
        return f"{self.instance_prefix}{hostname}"

    def labels(self, part: str) -> "dict[str, pulumi.Input[str]]":
        """Give the labels of an object.

        Args:
            part: its purpose: `network`, `storage`, `control`, `compute`, `access`, `image`.
        """
        own = {STACK_LABEL: label(self.stack), CLUSTER_LABEL: label(self.cluster), OWNER_LABEL: self.owner, PART_LABEL: part}
        return {**dict(self.user_labels), **own}

    def description(self, what: str) -> "pulumi.Output[str]":
        """Describe an object that can't have labels; the description ends with the stack's mark."""
        import pulumi

        return pulumi.Output.concat(what, whose(self.cluster, self.stack), OWNER_LABEL, "=", self.owner)


def whose(cluster: str, stack: str) -> str:
    """Give the part of a description that says whose an object is: two clusters may have stacks of one name."""
    return f" of cluster {cluster}, stack {stack}, "


def names(cluster: ClusterSpec, stack: str, owner: "pulumi.Input[str]") -> Names:
    return Names(cluster.name, stack, cluster.tags, owner)


def label(text: str) -> str:
    """Write a value of a label: lower-case letters, digits, hyphens and underscores; a changed one ends with a digest of the original."""
    clean = re.sub("[^a-z0-9_-]+", "-", text.lower())
    return clean if clean == text and len(clean) <= _LABEL_LENGTH else short_names.shortened(clean, _LABEL_LENGTH, of=text, digits=_DIGEST_LENGTH)


def _fit(plain: str, limit: int, *, of: str, is_ambiguous: bool) -> str:
    """Shorten a name to what Google Cloud allows (RFC 1035). A changed name ends with a digest of the original."""
    clean = re.sub("[^a-z0-9]+", "-", plain.lower()).strip("-")
    if not clean[:1].isalpha():
        clean = f"cw-{clean}"
    if clean == plain and len(clean) <= limit and not is_ambiguous:
        return clean
    return short_names.shortened(clean, limit, of=of, digits=_DIGEST_LENGTH)
