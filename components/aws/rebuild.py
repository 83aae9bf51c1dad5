"""Rebuild of EC2 instances."""

from ..cloud import rebuild_instances
from .names import NODE_TAG


class Rebuild(rebuild_instances.Rebuild):
    """Implements `rebuild.Rebuild`."""

    kind = "aws:ec2/instance:Instance"
    labels = "tags"
    name = NODE_TAG
