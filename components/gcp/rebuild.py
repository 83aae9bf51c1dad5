"""Rebuild of Compute Engine instances."""

import functools

from .. import rebuild_instances
from .names import NODE_LABEL

Rebuild = functools.partial(rebuild_instances.Rebuild, "gcp:compute/instance:Instance", labels="labels", name=NODE_LABEL)
"""Makes an implementation of `rebuild.Rebuild`."""
