"""Preemption between qualities of service (QOS), and their time limits beside those of partitions."""

from collections.abc import Iterator, Mapping

from .. import durations, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import cycles


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find preemption cycles, preemption of a QOS with a higher priority, and time limits that no job can use."""
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
    yield from _times(cluster, blueprint, source)


def _times(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find time limits that those of partitions override. Source: sacctmgr(1), Flags=PartitionTimeLimit: a QOS exceeds them with this flag alone."""
    partitions = {partition.name: partition for _, partition in cluster.slurm_node_sets}
    for name, entry in blueprint.qos.items():
        limit = durations.seconds(entry.max_time)
        usable = [one for one in partitions.values() if not one.qos or name in one.qos]
        times = [seconds for one in usable if (seconds := durations.seconds(one.max_time)) is not None]
        if limit is None or not usable or len(times) < len(usable) or limit <= max(times):
            continue
        longest = max(usable, key=lambda one: durations.seconds(one.max_time) or 0)
        what = f"jobs of the QOS {name} may run {entry.max_time}, and those of the partition {longest.name} at most {longest.max_time}"
        why = "the lower limit applies, and a job that asks for more waits for ever"
        if len(usable) > 1:
            what = f"jobs of the QOS {name} may run {entry.max_time}, and those of {message_text.listed(one.name for one in usable)} at most {longest.max_time}"
        remedy = f"write `max_time: {longest.max_time}` or less, or raise `partition.max_time` of the pool"
        yield finding.Finding(finding.Level.WARNING, Code.QOS_TIME_UNREACHED, source.where("qos", name, "max_time"), what, why, remedy)


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
