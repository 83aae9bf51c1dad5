"""Names and ownership tags of objects in the account, in one place, so that creation and clean-up can't disagree."""

import dataclasses
import re
from typing import TYPE_CHECKING

from blueprints import catalog
from blueprints.spec import ClusterSpec

from .. import short_names

if TYPE_CHECKING:  # drift checks read names without an engine
    import pulumi

STACK_TAG, CLUSTER_TAG, PART_TAG = "clusterwright:stack", "clusterwright:cluster", "clusterwright:part"
OWNER_TAG = "clusterwright:owner"
"""The stack's mark (`site`), which differs between stacks of the same name."""
NODE_TAG, NODE_SET_TAG = "clusterwright:node", "clusterwright:node-set"
"""On instances: the hostname, which the instance reads at boot, and the node set."""

_LIMITS = {
    **catalog.target("aws").name_limits,
    "backup": 50,
    "bucket_prefix": 36,
    "creation_token": 64,
    "image_builder": 126,
    "instance_profile": 128,
    "launch_template": 128,
    "log_group": 512,
    "secret": 512,
    "security_group": 255,
    "subnet_group": 255,
    "target_group": 32,
}
"""Kind → the longest name. Beside the catalogue's: the API models of botocore 1.44 and CloudFormation's schemas (maxLength)."""
_DIGEST_LENGTH = 8
_REFUSED_BEGINNINGS = ("amazon", "aws", "internal-", "sg-", "ssm")
"""Names of load balancers, security groups and others must not begin with these."""


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """Names and tags of one stack's objects."""

    cluster: str
    stack: str
    user_tags: tuple[tuple[str, str], ...] = ()
    owner: "pulumi.Input[str]" = ""
    """The stack's mark."""

    def name(self, kind: str, *parts: str) -> str:
        """Return the name of an object: `<cluster>-<stack>-<part…>`, shortened with a digest where the service does not allow it.

        Args:
            kind: a key of the limits (`iam_role`, `target_group`).
        """
        plain = "-".join((self.cluster, self.stack, *parts))
        # Cluster a-b with stack c and cluster a with stack b-c would get the same names.
        return _fit(plain, _LIMITS[kind], of="\0".join((self.cluster, self.stack, *parts)), is_ambiguous="-" in self.stack)

    def tags(self, part: str, *shown: str) -> "dict[str, pulumi.Input[str]]":
        """Give the tags of an object.

        Args:
            part: its purpose: `network`, `storage`, `control`, `compute`, `access`, `image`.
            shown: its name in the consoles, after cluster and stack.
        """
        own = {STACK_TAG: self.stack, CLUSTER_TAG: self.cluster, OWNER_TAG: self.owner, PART_TAG: part}
        return {**dict(self.user_tags), **own, "Name": "-".join((self.cluster, self.stack, *(shown or (part,))))}


def names(cluster: ClusterSpec, stack: str, owner: "pulumi.Input[str]") -> Names:
    return Names(cluster.name, stack, cluster.tags, owner)


def _fit(plain: str, limit: int, *, of: str, is_ambiguous: bool) -> str:
    """Shorten a name to what services allow: lower-case letters, digits and single hyphens. A changed name ends with a digest of the original."""
    clean = re.sub("[^a-z0-9]+", "-", plain.lower()).strip("-")
    if clean.startswith(_REFUSED_BEGINNINGS):
        clean = f"cw-{clean}"
    if clean == plain and len(clean) <= limit and not is_ambiguous:
        return clean
    return short_names.shortened(clean, limit, of=of, digits=_DIGEST_LENGTH)
