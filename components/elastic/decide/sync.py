"""Every 30 seconds: compare Slurm with the cloud, and decide the next steps where they differ.

Nodes that a person drained, took down or put under maintenance are left alone, whatever happens to their instances. A node that is powered down has no instance, whether Slurm or an administrator powered it down.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from ..memory import Launch, Memory, whole
from ..memory import Report as Told
from ..model import OURS, Cloud, Instance, Life, Node, Slurm
from ..table import NodeSet, Table
from . import holds, leases, pools
from .cases import DAY_S, Judged, as_told, by_node, judge_all
from .judge import Act
from .resume import Request, Wanted, resume
from .steps import (
    Ask,
    Decision,
    Drain,
    Keep,
    PowerDown,
    PowerUp,
    Release,
    Report,
    Requeue,
    SetAddress,
    SetDown,
    StartNow,
    Step,
    Terminate,
    Withdraw,
    decision,
)

ORPHAN_AFTER_S = 90.0
"""An instance without a node is terminated when it is older than this: younger ones may still get one."""
FORGET_TERMINATED_AFTER_S = 300.0
LOOKS_APART_S = 300.0
"""After a gap this long, elapsed time does not count: the program did not run, or the clock was set."""
HURRY_FOR_S = 150.0
"""How long the program asks Slurm again and again to start a requeued job at once: while the job's processes end, Slurm ignores the request (seen with 24.11)."""


def sync(*, table: Table, slurm: Slurm, cloud: Cloud, memory: Memory, now: float) -> Decision:
    """Decide the next steps for all node sets."""
    memory = leases.held(holds.forgotten(_only_seen(memory, now), table, now), table, cloud, now)
    shown, cloud = cloud, as_told(cloud, memory)
    owners = table.owners()
    live, ended = by_node(cloud, memory)
    full = pools.full(table, slurm=slurm, cloud=shown, memory=memory)
    judged = tuple(judge_all(table, slurm, memory, live, ended, full, now))
    memory, broken = _counted(judged, memory, now)
    failed = {name: memory.holds[name].reason for name in broken}
    steps: list[Step] = [
        *leases.reservations(table, slurm, cloud, now),
        *_failures(judged, slurm),
        *_others(judged, slurm),
        *_hurried(slurm, memory, now),
        *_breaks(failed, judged),
        *_addresses(judged),
        *_orphans(cloud, owners, slurm, memory, live, now),
        *_unwanted(cloud, judged, memory),
    ]
    lost = [one.case.node.name for one in judged if one.verdict.act is Act.ASK]
    asked = resume(_request(lost, slurm), table=table, slurm=slurm, cloud=shown, memory=memory, now=now)
    steps += [*_repeats(judged, pools.over(table, slurm=slurm, cloud=shown, memory=memory)), *asked.steps]
    memory = _remembered(judged, asked.memory, steps, now)
    return decision(steps, memory)


def _only_seen(memory: Memory, now: float) -> Memory:
    """Count only the time in which this program observed the nodes: while it did not run, they may have come up unnoticed."""
    unseen = now - memory.looked_at
    if not memory.looked_at or unseen < LOOKS_APART_S:
        return memory
    launches = tuple(
        launch if launch.launched_at is None else dataclasses.replace(launch, launched_at=launch.launched_at + unseen) for launch in memory.launches
    )
    return dataclasses.replace(memory, launches=launches, missing={node: since + unseen for node, since in memory.missing.items()})


def _named(judged: Iterable[Judged], *acts: Act) -> dict[str, tuple[str, ...]]:
    """Group the nodes with one of these verdicts by the reason."""
    found: dict[str, list[str]] = {}
    for one in judged:
        if one.verdict.act in acts:
            found.setdefault(one.verdict.why, []).append(one.case.node.name)
    return {why: tuple(nodes) for why, nodes in found.items()}


def _failures(judged: tuple[Judged, ...], slurm: Slurm) -> Iterator[Step]:
    unfit = [one.case for one in judged if one.verdict.act in (Act.FAILED_BOOT, Act.REPLACE) and one.case.instance]
    if unfit and unfit[0].instance:
        yield Keep(unfit[0].instance.id, unfit[0].node.name)
    for why, nodes in _named(judged, Act.FAIL, Act.FAILED_BOOT).items():
        on = {one.case.node.name: one.case for one in judged}
        yield SetDown(nodes, OURS + why)
        running = tuple(node for node in nodes if not on[node].node.is_off)
        if running:
            yield PowerDown(running, why)
        # A node that set itself down has lost its jobs already: those that it was started for are remembered.
        started_for = {job for node in nodes if (launch := on[node].launch) for job in launch.jobs}
        jobs = tuple(sorted({*slurm.jobs_on(frozenset(nodes)), *started_for}))
        if jobs:
            yield StartNow(jobs)


def _others(judged: tuple[Judged, ...], slurm: Slurm) -> Iterator[Step]:
    for why, nodes in _named(judged, Act.DRAIN).items():
        yield Drain(nodes, OURS + why)
        jobs = slurm.jobs_on(frozenset(nodes))
        if jobs:
            yield Requeue(jobs, why)
            yield StartNow(jobs)
    for one in judged:
        if one.verdict.act is Act.REPORT and one.case.instance:
            yield Report(one.case.instance.id, one.case.node.name, one.verdict.why)
    for why, nodes in _named(judged, Act.STOP, Act.REPLACE).items():
        yield PowerDown(nodes, why)
    for reason, nodes in _named(judged, Act.HOLD).items():
        yield SetDown(nodes, reason)
    for why, nodes in _named(judged, Act.RELEASE).items():
        yield Release(nodes, why)
    for why, nodes in _named(judged, Act.START).items():
        yield PowerUp(nodes, why)


def _hurried(slurm: Slurm, memory: Memory, now: float) -> Iterator[Step]:
    running = {job.id for job in slurm.jobs}
    waiting = tuple(sorted(job for job, at in memory.requeued.items() if now - at < HURRY_FOR_S and job not in running))
    if waiting:
        yield StartNow(waiting)


def _breaks(failed: Mapping[str, str], judged: tuple[Judged, ...]) -> Iterator[Step]:
    """Keep jobs off the remaining nodes of a node set that was just found broken."""
    for name, reason in failed.items():
        free = []
        for one in judged:
            node = one.case.node
            if (
                one.case.node_set.name == name
                and node.is_off
                and one.verdict.act in (Act.LEAVE, Act.RELEASE, Act.START)
                and not (node.is_kept or node.has_jobs)
            ):
                free.append(node.name)
        if free:
            yield SetDown(tuple(free), reason)


def _addresses(judged: tuple[Judged, ...]) -> Iterator[Step]:
    """Tell Slurm where starting nodes are."""
    addressed = []
    for one in judged:
        node, instance = one.case.node, one.case.instance
        if node.is_starting and not node.is_down and instance and instance.address and instance.address != node.address:
            addressed.append((node.name, instance.address))
    if addressed:
        yield SetAddress(tuple(addressed))


def _orphans(cloud: Cloud, owners: Mapping[str, NodeSet], slurm: Slurm, memory: Memory, live: Mapping[str, Instance], now: float) -> Iterator[Step]:
    tokens = {launch.token for launch in memory.launches}
    orphans = []
    for instance in cloud.instances:
        if instance.life is not Life.LIVE or now - instance.launched_at < ORPHAN_AFTER_S or whole(instance.launch) in tokens:
            continue
        if not _is_wanted(instance, slurm.nodes.get(instance.node), owners, live):
            orphans.append(instance.id)
    if orphans:
        yield Terminate(tuple(orphans), "no node wants it")


def _unwanted(cloud: Cloud, judged: tuple[Judged, ...], memory: Memory) -> Iterator[Step]:
    """Withdraw requests from the cloud's queue whose launch is given up: nodes that it grants later would have no job."""
    given_up = {one.case.node.name for one in judged if one.verdict.act is Act.FAIL}
    wanted: dict[str, set[str]] = {}
    for launch in memory.launches:
        wanted.setdefault(launch.token, set()).update(set(launch.nodes) - given_up)
    requests = tuple(one.id for one in cloud.queued if not wanted.get(whole(one.launch), set()).issuperset(one.nodes))
    if requests:
        yield Withdraw(requests, "no node waits for it")


def _is_wanted(instance: Instance, node: Node | None, owners: Mapping[str, NodeSet], live: Mapping[str, Instance]) -> bool:
    if node is None or instance.node not in owners:
        return False
    if live[instance.node].id != instance.id:
        return False
    return node.has_jobs or not node.is_off


def _request(nodes: list[str], slurm: Slurm) -> Request:
    """Rebuild a lost request: the waiting jobs show which nodes belong together."""
    lost = set(nodes)
    groups = []
    for job in slurm.jobs:
        together = tuple(node for node in job.nodes if node in lost)
        if together:
            groups.append(Wanted(together, job.id))
            lost -= set(together)
    return Request((*groups, *([Wanted(tuple(node for node in nodes if node in lost), None)] if lost else [])))


def _repeats(judged: tuple[Judged, ...], over: Collection[str]) -> Iterator[Step]:
    """Ask again, but for pools without room."""
    again = {
        one.case.launch.token: one.case.launch for one in judged if one.verdict.act is Act.REPEAT and one.case.launch and one.case.node_set.pool not in over
    }
    for launch in again.values():
        yield Ask(launch, "the cloud's answer was lost" if launch.ask_until is None else "the cloud has provided nothing yet")


def _counted(judged: tuple[Judged, ...], memory: Memory, now: float) -> tuple[Memory, tuple[str, ...]]:
    """Count nodes that did not boot, and their launches; one that did ends the row. Also gives the node sets that have just failed too often."""
    for node_set in {one.case.node_set.name: one.case.node_set for one in judged if one.verdict.act is Act.UP}.values():
        memory = holds.booted(memory, node_set)
    nodes, launches, last = dict(memory.failed_boots), dict(memory.failed_launches), dict(memory.last_failures)
    failed: dict[str, Launch] = {}
    for one in judged:
        if one.verdict.act is not Act.FAILED_BOOT or not (one.case.launch or one.case.node.shortage):
            continue
        name = one.case.node_set.name
        nodes[name] = nodes.get(name, 0) + 1
        last[name] = f"{one.case.node.name}: {one.verdict.why}"
        if one.case.launch:
            failed[one.case.launch.token] = one.case.launch
    for launch in failed.values():
        launches[launch.node_set] = launches.get(launch.node_set, 0) + (not launch.has_failed)
        memory = memory.with_launch(dataclasses.replace(launch, has_failed=True))
    memory = dataclasses.replace(memory, failed_boots=nodes, failed_launches=launches, last_failures=last)
    broken = []
    for node_set in {one.case.node_set.name: one.case.node_set for one in judged if one.verdict.act is Act.FAILED_BOOT}.values():
        hold = holds.standing(memory, node_set, now)
        is_failed_trial = hold is not None and holds.is_due(hold, now)
        if is_failed_trial or (holds.are_too_many(memory, node_set) and not hold):
            memory = holds.broken(memory, node_set, now)
            broken.append(node_set.name)
    return memory, tuple(broken)


def _remembered(judged: tuple[Judged, ...], memory: Memory, steps: Iterable[Step], now: float) -> Memory:
    over = set()
    for one in judged:
        # Slurm calls a node starting before it asks for it: one that is off, or on its way there, is wanted no longer.
        is_over = one.verdict.act in (Act.UP, Act.FAIL, Act.FAILED_BOOT) or one.case.node.is_off or one.case.node.is_stopping
        if one.case.launch and is_over:
            over.add(one.case.node.name)
    missing = {}
    for one in judged:
        if one.verdict.act is Act.WAIT:
            missing[one.case.node.name] = memory.missing.get(one.case.node.name, now)
    lives = {}
    for one in judged:
        name = one.case.node.name
        if one.case.node.is_up and (instance := one.case.instance.id if one.case.instance else memory.lives.get(name)):
            lives[name] = instance
    ending = {instance: now for step in steps if isinstance(step, Terminate) for instance in step.instances}
    terminated = {instance: at for instance, at in memory.terminated.items() if now - at < FORGET_TERMINATED_AFTER_S}
    lost = {job: now for step in steps if isinstance(step, StartNow) for job in step.jobs}
    requeued = {job: at for job, at in {**lost, **memory.requeued}.items() if now - at < HURRY_FOR_S}
    memory = memory.without(frozenset(over))
    told = {step.instance: Told(now, step.why) for step in steps if isinstance(step, Report)}
    reports = {instance: one for instance, one in {**told, **memory.reports}.items() if now - one.at < DAY_S}
    looked_at = now if memory.launches or missing else 0.0
    return dataclasses.replace(
        memory, missing=missing, terminated={**terminated, **ending}, requeued=requeued, lives=lives, looked_at=looked_at, reports=reports
    )
