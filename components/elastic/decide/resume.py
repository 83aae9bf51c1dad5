"""Slurm resumes nodes: decide which instances to request from the cloud."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence

from ..memory import Launch, Memory, whole
from ..model import OURS, Cloud, Life, Slurm
from ..table import NodeSet, Table
from . import holds, pools
from .steps import Ask, Decision, PowerDown, SetDown, StartNow, Step, Terminate, decision

VISIBLE_WITHIN_S = 180.0
"""Time until the cloud lists an instance that it has started."""
WAITING_SHARE = 0.5
"""Share of a node set's boot timeout in which the cloud must provide nodes for a job that can't be requeued; the rest is for their boot."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Nodes that belong together."""

    nodes: tuple[str, ...]
    job: int | None
    """None: no job, each node for itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    groups: tuple[Wanted, ...]


def resume(request: Request, *, table: Table, slurm: Slurm, cloud: Cloud, memory: Memory, now: float) -> Decision:
    """Decide the launches. The memory records them before the request, so that the next run continues a killed one."""
    owners = table.owners()
    known = request_of_known(_still(request, slurm), owners)
    steps: list[Step] = []
    unknown = tuple(node for group in request.groups for node in group.nodes if node not in owners)
    if unknown:
        steps += [SetDown(unknown, f"{OURS}not in the fleet table; `clusterwright up` updates Slurm's configuration and the table")]
    stale = _stale(cloud, memory, {node for group in known for node in group.nodes})
    if stale:
        steps += [Terminate(stale, "left from an earlier life of a node that Slurm wants again")]
        memory = dataclasses.replace(memory, terminated={**memory.terminated, **dict.fromkeys(stale, now)})
    memory = memory.without(_outlived(cloud, memory, now))
    asked: list[Launch] = []
    bound = slurm.bound
    room = pools.Room(table, slurm=slurm, cloud=cloud, memory=memory, apart_from={node for group in known for node in group.nodes})
    for group in known:
        left = tuple(node for node in group.nodes if not memory.launch_of(node))
        if not left:
            continue
        found = [hold for node in left if (hold := holds.active(memory, owners[node], now))]
        is_bound = not bound.isdisjoint(left)
        # A refusal would end such a job, so an earlier shortage does not count: ask the cloud. Nodes that don't boot would not help.
        held = next((hold.reason for hold in found if hold.until is None or not is_bound), None)
        if held:
            steps += [*given_up(group.nodes, held, group.job, slurm)]
            continue
        beyond = room.refusal(left)
        if beyond and is_bound:
            # Remembered, not requested: `sync` requests it when the pool has room.
            for launch in _launches(dataclasses.replace(group, nodes=left), owners, table.stack, now):
                memory = memory.with_launch(dataclasses.replace(launch, ask_until=patience(launch, owners[launch.nodes[0]])))
            room.take(left)
            continue
        if beyond:
            # The job waits as long as any job that lost its nodes: an immediate retry would fail in the same way.
            steps += [*_out_of_service(group.nodes, beyond, slurm)]
            continue
        for launch in _launches(dataclasses.replace(group, nodes=left), owners, table.stack, now):
            memory = memory.with_launch(launch)
            asked.append(launch)
        room.take(left)
    merged, memory = _merged(asked, memory)
    return decision([*steps, *(Ask(launch, "wanted by Slurm") for launch in merged)], memory)


def _still(request: Request, slurm: Slurm) -> Request:
    """Omit nodes that are powered down by now: the call waited for the lock, and Slurm marks a node as starting before the call."""
    off = {node.name for node in slurm.nodes.values() if node.is_off and not node.has_jobs and "power_up" not in node.flags}
    return Request(tuple(dataclasses.replace(group, nodes=tuple(node for node in group.nodes if node not in off)) for group in request.groups))


def request_of_known(request: Request, owners: Mapping[str, NodeSet]) -> tuple[Wanted, ...]:
    """Give each node to the first group that needs it; nodes without a job are groups of one."""
    taken: set[str] = set()
    groups = []
    for group in request.groups:
        nodes = tuple(node for node in dict.fromkeys(group.nodes) if node in owners and node not in taken)
        taken.update(nodes)
        groups += [Wanted(nodes, group.job)] if group.job is not None else [Wanted((node,), None) for node in nodes]
    return tuple(group for group in groups if group.nodes)


def _outlived(cloud: Cloud, memory: Memory, now: float) -> frozenset[str]:
    """Return nodes with a remembered launch whose instance is gone."""
    live = {instance.id for instance in cloud.instances if instance.life is Life.LIVE and instance.id not in memory.terminated}
    found: set[str] = set()
    for launch in memory.launches:
        if launch.launched_at is not None and now - launch.launched_at >= VISIBLE_WITHIN_S:
            found.update(node for node in launch.nodes if launch.instances.get(node) not in live)
    return frozenset(found)


def _stale(cloud: Cloud, memory: Memory, nodes: set[str]) -> tuple[str, ...]:
    """Return instances of an earlier life: Slurm accepts only a node that booted after its request."""
    found = []
    for instance in cloud.instances:
        launch = memory.launch_of(instance.node)
        is_known = launch is not None and launch.token == whole(instance.launch)
        if instance.node in nodes and instance.life is Life.LIVE and not is_known:
            found.append(instance.id)
    return tuple(found)


def _out_of_service(nodes: tuple[str, ...], reason: str, slurm: Slurm) -> Iterator[Step]:
    ours = tuple(node for node in nodes if not is_kept(node, slurm))
    if ours:
        yield SetDown(ours, reason)
        yield PowerDown(ours, reason.removeprefix(OURS))


def is_kept(node: str, slurm: Slurm) -> bool:
    known = slurm.nodes.get(node)
    return known is not None and known.is_kept


def given_up(nodes: tuple[str, ...], reason: str, job: int | None, slurm: Slurm) -> Iterator[Step]:
    yield from _out_of_service(nodes, reason, slurm)
    jobs = slurm.jobs_on(frozenset(nodes)) or ((job,) if job is not None else ())
    if jobs:
        yield StartNow(jobs)


def _launches(group: Wanted, owners: Mapping[str, NodeSet], stack: str, now: float) -> Iterator[Launch]:
    """Create one launch for each node set of the group."""
    name = f"job {group.job}" if group.job is not None else group.nodes[0]
    for node_set in dict.fromkeys(owners[node].name for node in group.nodes):
        nodes = tuple(node for node in group.nodes if owners[node].name == node_set)
        yield Launch(
            token=token(stack, node_set, nodes, now),
            node_set=node_set,
            nodes=nodes,
            group=f"{name} {now:.3f}",
            jobs=(group.job,) if group.job is not None else (),
            requested_at=now,
            is_whole=len(group.nodes) > 1,
        )


def _merged(launches: Sequence[Launch], memory: Memory) -> tuple[tuple[Launch, ...], Memory]:
    """Merge requests for single nodes into one call for each node set: a thousand jobs of one node each must not cause a thousand calls."""
    whole = [launch for launch in launches if launch.is_whole]
    single: dict[str, list[Launch]] = {}
    for launch in launches:
        if not launch.is_whole:
            single.setdefault(launch.node_set, []).append(launch)
    merged = []
    for alike in single.values():
        nodes = tuple(node for launch in alike for node in launch.nodes)
        jobs = tuple(job for launch in alike for job in launch.jobs)
        first = alike[0]
        together = first if len(alike) == 1 else dataclasses.replace(first, token=hashed(*(one.token for one in alike)), nodes=nodes, jobs=jobs)
        memory = memory.without(frozenset(nodes)).with_launch(together)
        merged.append(together)
    return (*whole, *merged), memory


def token(stack: str, node_set: str, nodes: Sequence[str], now: float) -> str:
    return hashed(stack, node_set, f"{now:.3f}", *nodes)


def hashed(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def patience(launch: Launch, node_set: NodeSet) -> float:
    """Return until when nodes arrive in time: Slurm counts their boot from its request, whenever the cloud provides them."""
    return launch.requested_at + node_set.boot_timeout_s * WAITING_SHARE
