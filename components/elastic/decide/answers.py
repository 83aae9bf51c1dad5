"""Decide the steps after the cloud's answer to a launch.

A job gets all of its nodes or none. A refusal holds the node set for a while and requeues the job, so that the scheduler chooses the next set. A job that can't be requeued would end with the
refusal: the program repeats its request as long as the nodes could still boot in time.
"""

import dataclasses
from collections.abc import Mapping
from enum import Enum

from ..memory import Launch, Memory
from ..model import OURS, Instance, Slurm
from ..table import NodeSet, Table
from . import holds
from .resume import given_up, hashed, is_kept, patience
from .steps import Decision, Explain, SetAddress, SetDown, Step, Terminate, decision

RETRY_FOR_S = 300.0
"""How long the program repeats a launch that the cloud could not answer, counted from the launch's own first call: the last of hundreds of launches start late."""


class Refusal(Enum):
    """Why the cloud provided no instance."""

    CAPACITY = "no capacity"
    LIMIT = "the account's limit is reached"
    ERROR = "the cloud refused"
    LATER = "the cloud could not answer"
    """Repeat the request with the same token."""
    QUEUED = "the request waits in the cloud's queue"
    """The cloud accepted the request and answers it later, as Google's flex-start does. A repeated request with the same token returns its state. This is no shortage: the node set is not held."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The cloud's answer to a launch."""

    instances: tuple[Instance, ...]
    refusal: Refusal | None = None
    detail: str = ""


def launched(launch: Launch, answer: Answer, *, table: Table, slurm: Slurm, memory: Memory, now: float) -> Decision:
    """Decide the steps after the cloud's answer to a launch."""
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
        return decision(explained, memory.with_launch(dataclasses.replace(launch, ask_until=ask_until)))  # it stays in the memory, unanswered
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
        # The cloud's answer to a token never changes: a new request needs a new token.
        again = hashed(launch.token, f"{now:.3f}")
        jobs = slurm.jobs_on(frozenset(waiting))
        retried = dataclasses.replace(launch, token=again, nodes=waiting, jobs=jobs, ask_until=ask_until, instances={})
        memory = memory.without(frozenset(waiting)).with_launch(retried)
        missing = tuple(node for node in missing if node not in waiting)
    elif launch.is_whole:
        undone = _undone(launch, made, reason, slurm=slurm, memory=memory, now=now)
        return decision([*held, *undone.steps], undone.memory)
    memory, found = _kept(launch, made, memory.without(frozenset(missing)), now)
    return decision([*held, *given_up(missing, reason, None, slurm), *found], memory)


def _ask_until(launch: Launch, node_set: NodeSet, slurm: Slurm, refusal: Refusal, now: float) -> float:
    """Return until when the program repeats a launch; this may be its first answer."""
    if refusal is Refusal.QUEUED:
        return max(launch.ask_until or 0.0, patience(launch, node_set))
    if launch.ask_until is not None:
        return launch.ask_until
    latest = now if slurm.bound.isdisjoint(launch.nodes) else patience(launch, node_set)
    return max(latest, now + RETRY_FOR_S) if refusal is Refusal.LATER else latest


def _queued(node_set: NodeSet, answer: Answer, until: float | None) -> str:
    detail = f" ({answer.detail})" if answer.detail else ""
    when = f", until {holds.clock(until)} at most" if until is not None else ", too late for nodes to boot in time"
    return f"{OURS}{node_set.name} waits for {node_set.machine}: {Refusal.QUEUED.value}{detail}{when}"


def _out_of_time(launch: Launch, made: Mapping[str, Instance], reason: str, *, slurm: Slurm, memory: Memory, now: float) -> Decision:
    """Give up a request that is still queued; the job requests nodes again when Slurm restarts it. No node needs instances that arrive too late."""
    if launch.is_whole:
        return _undone(launch, made, reason, slurm=slurm, memory=memory, now=now)
    missing = tuple(node for node in launch.nodes if node not in made)
    memory, steps = _kept(launch, made, memory.without(frozenset(missing)), now)
    return decision([*given_up(missing, reason, None, slurm), *steps], memory)


def _kept(launch: Launch, made: Mapping[str, Instance], memory: Memory, now: float) -> tuple[Memory, list[Step]]:
    """Remember the nodes of a launch that have an instance, and give Slurm their addresses."""
    if not made:
        return memory, []
    done = dataclasses.replace(launch, nodes=tuple(made), launched_at=now, instances={node: instance.id for node, instance in made.items()})
    known = tuple((node, instance.address) for node, instance in made.items() if instance.address)
    return memory.with_launch(done), [SetAddress(known)] if known else []


def _waiting(launch: Launch, made: Mapping[str, Instance], missing: tuple[str, ...], slurm: Slurm) -> tuple[str, ...]:
    """Return the refused nodes whose job would end; a job with some of its nodes returns them rather than pay for them idle."""
    bound = slurm.bound
    if launch.is_whole:
        return () if made or bound.isdisjoint(missing) else missing
    return tuple(node for node in missing if node in bound)


def _unwanted(made: Mapping[str, Instance], memory: Memory, now: float) -> Decision:
    """The launch was cancelled during the cloud's call."""
    instances = tuple(instance.id for instance in made.values())
    memory = dataclasses.replace(memory, terminated={**memory.terminated, **dict.fromkeys(instances, now)})
    return decision([Terminate(instances, "the rest of the job can't start")] if instances else [], memory)


def _free(node_set: NodeSet, slurm: Slurm, memory: Memory) -> tuple[str, ...]:
    """Return the nodes of the set that the scheduler could choose next."""
    found = []
    for name in node_set.nodes:
        node = slurm.nodes.get(name)
        if node and node.is_off and not node.is_kept and not node.is_down and not node.has_jobs and not memory.launch_of(name):
            found.append(name)
    return tuple(found)


def _undone(launch: Launch, made: Mapping[str, Instance], reason: str, *, slurm: Slurm, memory: Memory, now: float) -> Decision:
    """Cancel a launch and all launches of its group, except nodes that an operator has taken."""
    others = [one for one in memory.launches if one.group == launch.group and one.token != launch.token]
    nodes = (*launch.nodes, *(node for one in others for node in one.nodes))
    started = {**{node: instance.id for node, instance in made.items()}, **{node: instance for one in others for node, instance in one.instances.items()}}
    instances = tuple(instance for node, instance in started.items() if not is_kept(node, slurm))
    # The nodes first: until then, nodes that came up meanwhile belong to the job.
    steps = [*given_up(nodes, reason, launch.jobs[0] if launch.jobs else None, slurm)]
    steps += [Terminate(instances, "the rest of the job can't start")] if instances else []
    memory = memory.without(frozenset(nodes))
    return decision(steps, dataclasses.replace(memory, terminated={**memory.terminated, **dict.fromkeys(instances, now)}))
