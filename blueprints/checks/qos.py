"""Preemption between qualities of service (QOS)."""

from collections.abc import Iterator, Mapping

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import cycles


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find preemption cycles, and preemption of a QOS with a higher priority."""
    preempts = {name: entry.preempts for name, entry in blueprint.qos.items()}
    reported: set[str] = set()
    for name in preempts:
        circle = [] if name in reported else _circle(name, preempts)
        if circle:
            reported.update(circle)
            what = cycles.words(circle, " preempts ")
            why = "jobs would preempt each other forever, and slurmdbd refuses such a cycle"
            where = source.where_key("qos", name, "preempts")
            yield finding.Finding(finding.Level.ERROR, Code.PREEMPTION_CYCLE, where, what, why, "remove one of them from `preempts`")
    for name, entry in blueprint.qos.items():
        for number, other in enumerate(entry.preempts):
            lower = blueprint.qos.get(other)
            if lower is None or lower.priority <= entry.priority or name in reported:
                continue
            what = f"{name} preempts jobs of {other}, but has the lower priority: {entry.priority}, not {lower.priority}"
            why = "the preempted jobs are first in the queue and take the nodes back"
            where = source.where("qos", name, "preempts", number)
            remedy = f"give {name} a priority above {lower.priority}"
            yield finding.Finding(finding.Level.WARNING, Code.PREEMPTION_ORDER, where, what, why, remedy)


def _circle(start: str, preempts: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Find the shortest preemption cycle that contains a QOS."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for following in preempts.get(way[-1], ()):
            if following == start:
                return way
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return []
