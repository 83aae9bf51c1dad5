"""Resolve a blueprint for a target to the concrete cluster. Pure: the same arguments always give the same spec.

A part that can't be resolved becomes a finding, and a placeholder replaces it in the spec, so that one run reports all faults.
"""

from .cluster import Attempt, attempt, resolve
from .context import Where
from .pools import default_partition

__all__ = ["Attempt", "Where", "attempt", "default_partition", "resolve"]
