"""Partitions, compared with each other."""

from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find default partitions beyond the first: Slurm has one."""
    defaults = list(dict.fromkeys(partition.name for _, partition in cluster.slurm_node_sets if partition.default))
    for name in defaults[1:]:
        what = f"several partitions are the default: {message_text.listed(defaults)}"
        why = "Slurm has one default partition, for jobs that name none"
        where = source.where("pools", name, "partition", "default")
        remedy = f"keep `default: true` in one of them, such as `{defaults[0]}`"
        yield finding.Finding(finding.Level.ERROR, Code.DEFAULT_PARTITIONS, where, what, why, remedy)
