"""Partitions against each other."""

from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find default partitions beyond the first; Slurm has one."""
    defaults = list(dict.fromkeys(partition.name for _, partition in cluster.slurm_node_sets if partition.default))
    for name in defaults[1:]:
        what = f"the default partition is said to be {message_text.listed(defaults)}"
        why = "jobs that name no partition can go to one only"
        where = source.where("pools", name, "partition", "default")
        remedy = f"keep `default: true` in one of them, `{defaults[0]}` or another"
        yield finding.Finding(finding.Level.ERROR, Code.DEFAULT_PARTITIONS, where, what, why, remedy)
