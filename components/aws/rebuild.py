"""Rebuild of EC2 instances."""

import functools

from .. import rebuild_instances
from .names import NODE_TAG

Rebuild = functools.partial(rebuild_instances.Rebuild, "aws:ec2/instance:Instance", labels="tags", name=NODE_TAG)
"""Makes an implementation of `rebuild.Rebuild`."""
