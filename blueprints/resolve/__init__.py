"""Blueprint + target + facts to the concrete cluster. Pure: the same arguments always give the same spec.

What can't be resolved becomes a finding, and a stand-in takes its place in the spec, so that one run finds everything that is wrong.
"""

from .cluster import Attempt, attempt, resolve
from .context import Where
from .pools import default_partition

__all__ = ["Attempt", "Where", "attempt", "default_partition", "resolve"]
