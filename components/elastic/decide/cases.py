"""Combine Slurm's view, the cloud's view and the memory of each node, and judge it."""

import dataclasses
from collections.abc import Iterator, Mapping

from ..memory import Hold, Launch, Memory
from ..model import Cloud, Instance, Life, Slurm
from ..table import NodeSet, Table
from . import holds
from .judge import Act, Case, Verdict, judge

REPORTED_FOR_S = 1800.0
"""How long a node is left for the cloud's work on its host: 10 to 12 minutes, says Google (AI Hypercomputer documentation, "Report faulty host")."""
REPORTS_A_DAY = 3
"""In the whole cluster, as blueprints/catalog/repairs.yaml limits what a node does itself: a wrong diagnosis must not take a fleet out of service. What is beyond that is replaced."""
DAY_S = 86400.0
REPLACED_AT_ONCE = 0.1
"""Share of a set's always-running nodes that is replaced at a time, at least one: their replacements may not boot."""


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    case: Case
    verdict: Verdict


def as_told(cloud: Cloud, memory: Memory) -> Cloud:
    """Treat instances that this program terminated as ended, even when the cloud still lists them."""
    instances = []
    for instance in cloud.instances:
        is_told = instance.id in memory.terminated
        instances.append(dataclasses.replace(instance, life=Life.ENDED) if is_told and instance.life is Life.LIVE else instance)
    return dataclasses.replace(cloud, instances=tuple(instances))


def by_node(cloud: Cloud, memory: Memory) -> tuple[dict[str, Instance], dict[str, Instance]]:
    """Return the live instance of each node (of several, the one launched for it, else the oldest), and the ended instance of nodes without a live one."""
    meant = {**memory.lives, **{node: instance for launch in memory.launches for node, instance in launch.instances.items()}}
    live: dict[str, Instance] = {}
    for instance in sorted(cloud.instances, key=lambda one: (one.launched_at, one.id)):
        if not instance.node or instance.life is not Life.LIVE:
            continue
        if instance.node not in live or meant.get(instance.node) == instance.id:
            live[instance.node] = instance
    ended: dict[str, Instance] = {}
    for instance in cloud.instances:
        if instance.life is Life.ENDED and instance.node not in live and (instance.node not in ended or meant.get(instance.node) == instance.id):
            ended[instance.node] = instance
    return live, ended


def judge_all(
    table: Table, slurm: Slurm, memory: Memory, live: Mapping[str, Instance], ended: Mapping[str, Instance], full: Mapping[str, str], now: float
) -> Iterator[Judged]:
    launches = {node: launch for launch in memory.launches for node in launch.nodes}
    reports_today = sum(now - one.at < DAY_S for one in memory.reports.values())
    for node_set in table.node_sets:
        hold = holds.standing(memory, node_set, now)
        trial = _trial(node_set, slurm, launches) if hold and holds.is_due(hold, now) else None
        turn = _turn(node_set, slurm, memory, live, hold)
        for name in node_set.nodes:
            node = slurm.nodes.get(name)
            if node is None:
                continue
            launch, last = launches.get(name), ended.get(name)
            has_ended = _has_ended(last, launch, memory.lives.get(name))
            case = Case(
                node,
                node_set,
                now,
                instance=live.get(name),
                has_ended=has_ended,
                is_certain=name in memory.lives or bool(launch and launch.instances),
                ended_because=last.ended_because if last and has_ended else "",
                launch=launch,
                hold=hold,
                is_trial=name == trial,
                full=full.get(node_set.pool),
                missing_since=memory.missing.get(name),
                may_be_replaced=name in turn or not node_set.always_runs(name),
                may_be_reported=name in live and live[name].id not in memory.reports and reports_today < REPORTS_A_DAY,
                reported=_reported(live[name].id, memory, now) if name in live else "",
            )
            verdict = judge(case)
            reports_today += verdict.act is Act.REPORT and not case.reported
            yield Judged(case, verdict)


def _trial(node_set: NodeSet, slurm: Slurm, launches: Mapping[str, Launch]) -> str | None:
    """Choose the node that tests whether nodes of the set boot now; None while another node is starting."""
    nodes = [slurm.nodes[name] for name in node_set.nodes if name in slurm.nodes]
    if any(node.is_starting or "power_up" in node.flags or node.name in launches for node in nodes):
        return None
    return next((node.name for node in nodes if node.is_off and not node.is_kept and not node.has_jobs), None)


def _turn(node_set: NodeSet, slurm: Slurm, memory: Memory, live: Mapping[str, Instance], hold: Hold | None) -> tuple[str, ...]:
    """Return the always-running nodes that may be replaced now: the next ones when the earlier ones are up, and none after one that did not boot."""
    if hold:
        return ()
    outdated, away = [], 0
    for name in node_set.nodes[: node_set.minimum]:
        node = slurm.nodes.get(name)
        if node is None or node.is_kept or node_set.keeps(node):
            continue
        if not node.is_up or not node.is_answering or node.is_drained or memory.launch_of(name):
            away += 1
        elif name in live and live[name].is_outdated and not node.has_jobs:
            outdated.append(name)
    if away and memory.failed_boots.get(node_set.name):
        return ()
    return tuple(outdated[: max(0, max(1, int(node_set.minimum * REPLACED_AT_ONCE)) - away)])


def _reported(instance: str, memory: Memory, now: float) -> str:
    report = memory.reports.get(instance)
    return report.why if report and not report.is_over and now - report.at < REPORTED_FOR_S else ""


def _has_ended(instance: Instance | None, launch: Launch | None, lives: str | None) -> bool:
    """Return whether the node's current instance ended, and not one of an earlier life.

    Args:
        lives: the instance on which it was seen to run.
    """
    if instance is None:
        return False
    if launch and launch.instances:
        return instance.id in launch.instances.values()
    return launch is not None or lives is None or instance.id == lives
