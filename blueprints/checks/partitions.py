"""Partitions against each other."""

from collections.abc import Iterator

from .. import display, document, finding, spec
from ..codes import Code


def check(cluster: spec.ClusterSpec, source: document.Document) -> Iterator[finding.Finding]:
    """Find default partitions beyond the first; Slurm has one."""
    defaults = [node_set.partition.name for node_set in cluster.node_sets if node_set.partition.default]
    for name in defaults[1:]:
        what = f"the default partition is said to be {display.listed(defaults)}"
        why = "jobs that name no partition can go to one only"
        where = source.where("pools", name, "partition", "default")
        yield finding.Finding(
            finding.Level.ERROR, Code.DEFAULT_PARTITIONS, where, what, why, f"keep `default: true` in one of them, `{defaults[0]}` or another"
        )
