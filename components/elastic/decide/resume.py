"""Slurm wants nodes: which instances to ask for, and what follows from the answer.

The nodes of a job come all or not at all. A refusal takes the node set out of service for a while and gives the job back to the scheduler, which then chooses the next set.
A job that can't be given back would end with it: its nodes are asked for again for as long as they could still boot in time, and only then refused.
"""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from ..memory import Launch, Memory, whole
from ..model import OURS, Cloud, Instance, Life, Slurm
from ..table import NodeSet, Table
from . import holds, pools
from .steps import Ask, Decision, Explain, PowerDown, SetAddress, SetDown, StartNow, Step, Terminate, decision

VISIBLE_WITHIN_S = 180.0
"""So long the cloud may take to show an instance that it says it has started."""
RETRY_FOR_S = 300.0
"""So long a launch that the cloud could not answer is asked for again, from the first time on that it was asked for: of hundreds of launches the last wait long for their turn."""

WAITING_SHARE = 0.5
"""Of a node set's boot timeout, how much may pass until the cloud gives nodes to a job that can't go back to the queue; the rest is for their boot."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Nodes that belong together."""

    nodes: tuple[str, ...]
    job: int | None
    """None: nobody's in particular, each node for itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    groups: tuple[Wanted, ...]


class Refusal(Enum):
    """Why the cloud gave nothing."""

    CAPACITY = "no capacity"
    LIMIT = "the account's limit is reached"
    ERROR = "the cloud refused"
    LATER = "the cloud could not answer"
    """Worth asking again, with the same token."""
    QUEUED = "the request waits in the cloud's queue"
    """The cloud took the request and answers it later, as Google's flex-start does: asked again with the same token, it says how the request is. This is no shortage: the node set is not held."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What came of a launch."""

    instances: tuple[Instance, ...]
    refusal: Refusal | None = None
    detail: str = ""


def resume(request: Request, *, table: Table, slurm: Slurm, cloud: Cloud, memory: Memory, now: float) -> Decision:
    """Decide what to ask the cloud for. Launches are remembered before they are asked for, so that a killed run is taken up by the next."""
    owners = table.owners()
    known = request_of_known(_still(request, slurm), owners)
    steps: list[Step] = []
    unknown = tuple(node for group in request.groups for node in group.nodes if node not in owners)
    if unknown:
        steps += [SetDown(unknown, f"{OURS}not in the fleet table; `clusterwright up` writes Slurm's configuration and the table anew")]
    stale = _stale(cloud, memory, {node for group in known for node in group.nodes})
    if stale:
        steps += [Terminate(stale, "left from an earlier life of a node that is wanted again")]
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
        # What would end a job is not refused for a shortage of earlier: the cloud is asked. What does not boot does not help it.
        held = next((hold.reason for hold in found if hold.until is None or not is_bound), None)
        if held:
            steps += [*_given_up(group.nodes, held, group.job, slurm)]
            continue
        beyond = room.refusal(left)
        if beyond and is_bound:
            # Remembered and not asked for: `sync` does it when the pool has room.
            for launch in _launches(dataclasses.replace(group, nodes=left), owners, table.stack, now):
                memory = memory.with_launch(dataclasses.replace(launch, ask_until=_patience(launch, owners[launch.nodes[0]])))
            room.take(left)
            continue
        if beyond:
            # The job waits as long as Slurm lets any job wait that lost its nodes: another try at once would end in the same way.
            steps += [*_out_of_service(group.nodes, beyond, slurm)]
            continue
        for launch in _launches(dataclasses.replace(group, nodes=left), owners, table.stack, now):
            memory = memory.with_launch(launch)
            asked.append(launch)
        room.take(left)
    merged, memory = _merged(asked, memory)
    return decision([*steps, *(Ask(launch, "wanted by Slurm") for launch in merged)], memory)


def _still(request: Request, slurm: Slurm) -> Request:
    """Leave out what is switched off by now: the call waited for its turn, and Slurm takes a node for starting before it asks for it."""
    off = {node.name for node in slurm.nodes.values() if node.is_off and not node.has_jobs and "power_up" not in node.flags}
    return Request(tuple(dataclasses.replace(group, nodes=tuple(node for node in group.nodes if node not in off)) for group in request.groups))


def request_of_known(request: Request, owners: Mapping[str, NodeSet]) -> tuple[Wanted, ...]:
    """Give each node to the first group that wants it; nodes that belong to nobody's job stand for themselves."""
    taken: set[str] = set()
    groups = []
    for group in request.groups:
        nodes = tuple(node for node in dict.fromkeys(group.nodes) if node in owners and node not in taken)
        taken.update(nodes)
        groups += [Wanted(nodes, group.job)] if group.job is not None else [Wanted((node,), None) for node in nodes]
    return tuple(group for group in groups if group.nodes)


def _outlived(cloud: Cloud, memory: Memory, now: float) -> frozenset[str]:
    """Nodes whose launch is remembered and whose instance is gone: nobody told us that it was over."""
    live = {instance.id for instance in cloud.instances if instance.life is Life.LIVE and instance.id not in memory.terminated}
    found: set[str] = set()
    for launch in memory.launches:
        if launch.launched_at is not None and now - launch.launched_at >= VISIBLE_WITHIN_S:
            found.update(node for node in launch.nodes if launch.instances.get(node) not in live)
    return frozenset(found)


def _stale(cloud: Cloud, memory: Memory, nodes: set[str]) -> tuple[str, ...]:
    """Instances of an earlier life: Slurm takes only a node that booted after it was asked for."""
    found = []
    for instance in cloud.instances:
        launch = memory.launch_of(instance.node)
        is_known = launch is not None and launch.token == whole(instance.launch)
        if instance.node in nodes and instance.life is Life.LIVE and not is_known:
            found.append(instance.id)
    return tuple(found)


def _out_of_service(nodes: tuple[str, ...], reason: str, slurm: Slurm) -> Iterator[Step]:
    ours = tuple(node for node in nodes if not _is_kept(node, slurm))
    if ours:
        yield SetDown(ours, reason)
        yield PowerDown(ours, reason.removeprefix(OURS))


def _is_kept(node: str, slurm: Slurm) -> bool:
    known = slurm.nodes.get(node)
    return known is not None and known.is_kept


def _given_up(nodes: tuple[str, ...], reason: str, job: int | None, slurm: Slurm) -> Iterator[Step]:
    yield from _out_of_service(nodes, reason, slurm)
    jobs = slurm.jobs_on(frozenset(nodes)) or ((job,) if job is not None else ())
    if jobs:
        yield StartNow(jobs)


def _launches(group: Wanted, owners: Mapping[str, NodeSet], stack: str, now: float) -> Iterator[Launch]:
    """Make one launch for each node set of the group."""
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
    """Ask for nodes that stand for themselves in one call a node set: a thousand jobs of one node each are not a thousand calls."""
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
        together = first if len(alike) == 1 else dataclasses.replace(first, token=_hashed(*(one.token for one in alike)), nodes=nodes, jobs=jobs)
        memory = memory.without(frozenset(nodes)).with_launch(together)
        merged.append(together)
    return (*whole, *merged), memory


def token(stack: str, node_set: str, nodes: Sequence[str], now: float) -> str:
    return _hashed(stack, node_set, f"{now:.3f}", *nodes)


def _hashed(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


def launched(launch: Launch, answer: Answer, *, table: Table, slurm: Slurm, memory: Memory, now: float) -> Decision:
    """Decide what follows from the cloud's answer to a launch."""
    node_set = table.by_name(launch.node_set)
    made = {instance.node: instance for instance in answer.instances if instance.node in launch.nodes}
    missing = tuple(node for node in launch.nodes if node not in made)
    if launch.token not in {one.token for one in memory.launches}:
        return _unwanted(made, memory, now)
    if not missing:
        memory, found = _kept(launch, {node: made[node] for node in launch.nodes}, memory, now)
        return decision(found, memory)
    if node_set is None:
        return _undone(launch, made, f"{OURS}{launch.node_set} is no longer in the fleet table", slurm=slurm, memory=memory, now=now)
    refusal = answer.refusal or Refusal.ERROR
    ask_until = _ask_until(launch, node_set, slurm, refusal, now)
    if refusal in (Refusal.LATER, Refusal.QUEUED) and now < ask_until:
        is_news = refusal is Refusal.QUEUED and launch.ask_until != ask_until and bool(launch.jobs)
        explained = [Explain(launch.jobs, _queued(node_set, answer, ask_until))] if is_news else []
        return decision(explained, memory.with_launch(dataclasses.replace(launch, ask_until=ask_until)))  # it stays remembered as not answered
    if refusal is Refusal.QUEUED:
        return _out_of_time(launch, made, _queued(node_set, answer, None), slurm=slurm, memory=memory, now=now)
    why = f"{refusal.value} ({answer.detail})" if answer.detail else refusal.value
    waiting = _waiting(launch, made, missing, slurm) if refusal is not Refusal.ERROR and now < ask_until else ()
    if not (waiting and holds.active(memory, node_set, now)):
        memory = holds.refused(memory, node_set, f"{node_set.machine}: {why}", now)
    reason = memory.holds[node_set.name].reason
    free = _free(node_set, slurm, memory)
    held = [SetDown(free, reason)] if free else []
    if waiting:
        # The cloud's answer to a token stays what it was: what is asked anew has a new one.
        again = _hashed(launch.token, f"{now:.3f}")
        jobs = slurm.jobs_on(frozenset(waiting))
        anew = dataclasses.replace(launch, token=again, nodes=waiting, jobs=jobs, ask_until=ask_until, instances={})
        memory = memory.without(frozenset(waiting)).with_launch(anew)
        missing = tuple(node for node in missing if node not in waiting)
    elif launch.is_whole:
        undone = _undone(launch, made, reason, slurm=slurm, memory=memory, now=now)
        return decision([*held, *undone.steps], undone.memory)
    memory, found = _kept(launch, made, memory.without(frozenset(missing)), now)
    return decision([*held, *_given_up(missing, reason, None, slurm), *found], memory)


def _ask_until(launch: Launch, node_set: NodeSet, slurm: Slurm, refusal: Refusal, now: float) -> float:
    """Say until when a launch is asked for again, of which this may be the first answer."""
    if refusal is Refusal.QUEUED:
        return max(launch.ask_until or 0.0, _patience(launch, node_set))
    if launch.ask_until is not None:
        return launch.ask_until
    patience = now if slurm.bound.isdisjoint(launch.nodes) else _patience(launch, node_set)
    return max(patience, now + RETRY_FOR_S) if refusal is Refusal.LATER else patience


def _queued(node_set: NodeSet, answer: Answer, until: float | None) -> str:
    detail = f" ({answer.detail})" if answer.detail else ""
    when = f", until {holds.clock(until)} at most" if until is not None else ", and nodes can't boot in time any more"
    return f"{OURS}{node_set.name} waits for {node_set.machine}: {Refusal.QUEUED.value}{detail}{when}"


def _out_of_time(launch: Launch, made: Mapping[str, Instance], reason: str, *, slurm: Slurm, memory: Memory, now: float) -> Decision:
    """Give up a request that is still queued; the job asks anew when Slurm starts it again. Instances that come too late are wanted by no node."""
    if launch.is_whole:
        return _undone(launch, made, reason, slurm=slurm, memory=memory, now=now)
    missing = tuple(node for node in launch.nodes if node not in made)
    memory, steps = _kept(launch, made, memory.without(frozenset(missing)), now)
    return decision([*_given_up(missing, reason, None, slurm), *steps], memory)


def _kept(launch: Launch, made: Mapping[str, Instance], memory: Memory, now: float) -> tuple[Memory, list[Step]]:
    """Remember those nodes of a launch that have an instance, and tell Slurm where they are."""
    if not made:
        return memory, []
    done = dataclasses.replace(launch, nodes=tuple(made), launched_at=now, instances={node: instance.id for node, instance in made.items()})
    known = tuple((node, instance.address) for node, instance in made.items() if instance.address)
    return memory.with_launch(done), [SetAddress(known)] if known else []


def _patience(launch: Launch, node_set: NodeSet) -> float:
    """Say until when nodes can come in time: Slurm counts their boot from its request on, whenever the cloud gives them."""
    return launch.requested_at + node_set.boot_timeout_s * WAITING_SHARE


def _waiting(launch: Launch, made: Mapping[str, Instance], missing: tuple[str, ...], slurm: Slurm) -> tuple[str, ...]:
    """Of the nodes that were refused, those with a job that would end; a job that has some of its nodes already gives them back rather than pay for them idle."""
    bound = slurm.bound
    if launch.is_whole:
        return () if made or bound.isdisjoint(missing) else missing
    return tuple(node for node in missing if node in bound)


def _unwanted(made: Mapping[str, Instance], memory: Memory, now: float) -> Decision:
    """The launch was taken back while the cloud was at it."""
    instances = tuple(instance.id for instance in made.values())
    memory = dataclasses.replace(memory, terminated={**memory.terminated, **dict.fromkeys(instances, now)})
    return decision([Terminate(instances, "the rest of the job can't start")] if instances else [], memory)


def _free(node_set: NodeSet, slurm: Slurm, memory: Memory) -> tuple[str, ...]:
    """Nodes of the set that the scheduler could choose next."""
    found = []
    for name in node_set.nodes:
        node = slurm.nodes.get(name)
        if node and node.is_off and not node.is_kept and not node.is_down and not node.has_jobs and not memory.launch_of(name):
            found.append(name)
    return tuple(found)


def _undone(launch: Launch, made: Mapping[str, Instance], reason: str, *, slurm: Slurm, memory: Memory, now: float) -> Decision:
    """Take back a launch, and all that was to stand with it, but for nodes that a person has."""
    others = [one for one in memory.launches if one.group == launch.group and one.token != launch.token]
    nodes = (*launch.nodes, *(node for one in others for node in one.nodes))
    started = {**{node: instance.id for node, instance in made.items()}, **{node: instance for one in others for node, instance in one.instances.items()}}
    instances = tuple(instance for node, instance in started.items() if not _is_kept(node, slurm))
    # The nodes first: what came up meanwhile is still the job's until then.
    steps = [*_given_up(nodes, reason, launch.jobs[0] if launch.jobs else None, slurm)]
    steps += [Terminate(instances, "the rest of the job can't start")] if instances else []
    memory = memory.without(frozenset(nodes))
    return decision(steps, dataclasses.replace(memory, terminated={**memory.terminated, **dict.fromkeys(instances, now)}))
