"""Qualities of service against each other: whose jobs stop whose."""

from collections.abc import Iterator, Mapping

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import cycles


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find preemption in a circle, and against priority."""
    preempts = {name: entry.preempts for name, entry in blueprint.qos.items()}
    told: set[str] = set()
    for name in preempts:
        circle = [] if name in told else _circle(name, preempts)
        if circle:
            told.update(circle)
            what = cycles.words(circle, " preempts ")
            why = "jobs would stop each other without an end, and Slurm's database refuses such a circle"
            where = source.where_key("qos", name, "preempts")
            yield finding.Finding(finding.Level.ERROR, Code.PREEMPTION_CYCLE, where, what, why, "take one of them out of `preempts`")
    for name, entry in blueprint.qos.items():
        for number, other in enumerate(entry.preempts):
            lower = blueprint.qos.get(other)
            if lower is None or lower.priority <= entry.priority or name in told:
                continue
            what = f"{name} stops jobs of {other}, and its priority is lower: {entry.priority} against {lower.priority}"
            why = "the stopped jobs come before its own in the queue, and take the place back"
            where = source.where("qos", name, "preempts", number)
            remedy = f"give {name} a priority above {lower.priority}"
            yield finding.Finding(finding.Level.WARNING, Code.PREEMPTION_ORDER, where, what, why, remedy)


def _circle(start: str, preempts: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Find the shortest way from a quality of service back to itself."""
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
