"""Rebuild of Compute Engine instances."""

from ..cloud import rebuild_instances
from .names import NODE_LABEL


class Rebuild(rebuild_instances.Rebuild):
    """Implements `rebuild.Rebuild`."""

    kind = "gcp:compute/instance:Instance"
    labels = "labels"
    name = NODE_LABEL
