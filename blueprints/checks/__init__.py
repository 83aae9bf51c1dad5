"""What is wrong with a cluster although each of its parts is right: one module per concern, each a pure function."""

from .. import document, finding, spec
from . import hosts, partitions, storage, users

_CHECKS = (hosts.check, partitions.check, storage.check, users.check)


def check(cluster: spec.ClusterSpec, source: document.Document) -> tuple[finding.Finding, ...]:
    """Check the parts of a cluster against each other.

    Args:
        source: the blueprint as written; findings point into it.
    """
    return tuple(found for one in _CHECKS for found in one(cluster, source))
