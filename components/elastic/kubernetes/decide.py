"""Decide which hosts start and end. Pure: from what fleet and API server say, and what was seen before, to steps and a new memory.

What has to outlive this program is with the fleet (which hosts there are) and on nodes (which of them is being stopped); the memory has only times, and losing it starts them anew.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from ..model import Cloud, Instance, Life
from ..table import NodeSet, Table
from . import fit
from .model import STARTED_FROM, STOPPING, Kubernetes, Node, Pod, Template, mark_of

FIRST_PAUSE_S = 30.0
LONGEST_PAUSE_S = 600.0
SETTLES_WITHIN_S = 30.0
"""A node that has just become ready has room that the scheduler has not counted yet."""

_OWN_TAINTS = "node.kubernetes.io/"


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    node_set: str
    nodes: tuple[str, ...]
    pods: tuple[Pod, ...]
    """For which they are; none: they always run."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stop:
    """Cordon, drain, end the host, delete the Node: in this order, so that a step that was cut off is repeated."""

    node: str
    instance: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """End a host that is no node, or no longer; then delete its Node, if there is one."""

    node: str
    instance: str
    """Empty: the host is gone."""
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """Give a node its labels, and the mark of what it was told."""

    node: str
    node_set: str
    mark: str


Step = Start | Stop | End | Mark


@dataclasses.dataclass(frozen=True, slots=True)
class Pause:
    """A node set of which nothing is started for a while."""

    reason: str
    until: float
    times: int
    pods: tuple[Pod, ...] = ()
    """Those that waited when it began."""


@dataclasses.dataclass(frozen=True, slots=True)
class Memory:
    idle: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)
    """Node → since when it has had no pods."""
    silent: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)
    """Host → since when it has not been a ready node."""
    ready: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)
    """Node → since when it has been ready."""
    watched: frozenset[str] = frozenset()
    """Hosts that this process saw before they were ready nodes: of others, it can't say whether their start failed."""
    used: frozenset[str] = frozenset()
    """Nodes that have had pods."""
    pauses: Mapping[str, Pause] = dataclasses.field(default_factory=dict, hash=False)
    """By node set; also those that are over, so that the next one is longer."""

    def paused(self, node_set: str, reason: str, pods: tuple[Pod, ...], now: float) -> "Memory":
        before = self.pauses.get(node_set)
        if before and now < before.until:
            return self  # several hosts failed together: that is one failure
        times = before.times + 1 if before else 1
        pause = Pause(reason, now + min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(times - 1, 10)), times, pods)
        return dataclasses.replace(self, pauses={**self.pauses, node_set: pause})


def decide(
    table: Table, templates: Mapping[str, Template], *, kubernetes: Kubernetes, cloud: Cloud, memory: Memory, now: float, idle_s: float
) -> tuple[tuple[Step, ...], Memory]:
    """Decide the next steps."""
    owners = table.owners()
    beyond = _beyond(table, kubernetes, cloud)
    owners |= beyond
    instances = {one.node: one for one in sorted(cloud.instances, key=lambda one: (one.life is Life.LIVE, one.launched_at)) if one.node in owners}
    nodes = {name: node for name, node in kubernetes.nodes.items() if name in owners}
    memory = _seen(memory, owners, instances, nodes, kubernetes, now)
    waiting = tuple(pod for pod in kubernetes.pods if pod.is_unschedulable and not pod.is_of_node)
    steps: list[Step] = []
    for name in sorted({*instances, *nodes}):
        node_set = owners[name]
        step = _of_host(name, node_set, instances.get(name), nodes.get(name), memory, now, is_beyond=name in beyond)
        if step:
            steps.append(step)
        if (
            isinstance(step, End) and step.instance and name in memory.watched - memory.used - beyond.keys()
        ):  # a host that has run pods and dies is no failed start
            memory = memory.paused(node_set.name, step.why, _fitting(waiting, templates[node_set.name]), now)
    ending = {step.node for step in steps if isinstance(step, Stop | End)}
    living = {name for name in instances if name not in ending}
    starts = _starts(table, templates, waiting, living, beyond=beyond, taken={*instances, *nodes}, kubernetes=kubernetes, memory=memory, now=now)
    for name in sorted(nodes.keys() - ending):
        idle_since = memory.idle.get(name)
        node_set, node = owners[name], nodes[name]
        if idle_since is None or name not in instances or node.is_cordoned:
            continue  # also what an administrator keeps
        mark = templates[node_set.name].mark
        outdated = name in beyond or instances[name].is_outdated or node.annotations.get(STARTED_FROM, mark) != mark
        if outdated or (now - idle_since >= idle_s and not node_set.always_runs(name)):
            steps.append(Stop(name, instances[name].id, "outdated" if outdated else f"idle for {now - idle_since:.0f} s"))
            if name in memory.watched - memory.used and not outdated:
                memory = memory.paused(node_set.name, f"{name} came, and the scheduler put no pod on it", _fitting(waiting, templates[node_set.name]), now)
    return (*steps, *starts), dataclasses.replace(memory, watched=memory.watched.union(*(one.nodes for one in starts)))


def _beyond(table: Table, kubernetes: Kubernetes, cloud: Cloud) -> dict[str, NodeSet]:
    """Give hosts and nodes with numbers that their pool had before it got a smaller `max`. Nodes that a person let join are not ours, whatever their name."""
    of_prefix = {one.prefix: one for one in table.node_sets}
    ours = {one.node for one in cloud.instances} | {name for name, node in kubernetes.nodes.items() if STARTED_FROM in node.annotations}
    found = {name: of_prefix[name.rpartition("-")[0]] for name in ours - table.owners().keys() if name.rpartition("-")[0] in of_prefix}
    return {name: one for name, one in found.items() if name.rpartition("-")[2].isdecimal()}


def _seen(
    memory: Memory, owners: Mapping[str, NodeSet], instances: Mapping[str, Instance], nodes: Mapping[str, Node], kubernetes: Kubernetes, now: float
) -> Memory:
    busy = {pod.node for pod in kubernetes.pods if pod.node in nodes and not pod.is_of_node}
    ready = {name for name, node in nodes.items() if node.is_ready}
    proven = {owners[name].name for name in busy & ready}
    silent = instances.keys() - ready
    coming = {name for name in silent if name not in nodes or STARTED_FROM not in nodes[name].annotations}
    return Memory(
        idle={name: memory.idle.get(name, now) for name in ready - busy},
        silent={name: memory.silent.get(name, now) for name in silent},
        ready={name: memory.ready.get(name, now) for name in ready},
        watched=(memory.watched | coming) & (instances.keys() | nodes.keys()),
        used=(memory.used & nodes.keys()) | busy,
        # What ran pods again has recovered.
        pauses={name: one for name, one in memory.pauses.items() if now < one.until or name not in proven},
    )


def _of_host(name: str, node_set: NodeSet, instance: Instance | None, node: Node | None, memory: Memory, now: float, *, is_beyond: bool) -> Step | None:
    """Decide about one host alone, whoever waits."""
    if instance is None:
        return End(name, "", "its host is gone")
    if instance.life is Life.ENDED:
        return End(name, instance.id, "its host has ended")
    if node is None and is_beyond:
        return End(name, instance.id, f"pool {node_set.pool} no longer has it")
    if node and node.is_stopping:
        return Stop(name, instance.id, node.annotations[STOPPING])
    silent = memory.silent.get(name)
    if silent is not None and now - silent > node_set.boot_timeout_s:
        return End(name, instance.id, f"{name} was no ready node within {node_set.boot_timeout_s:.0f} s")
    if node and STARTED_FROM not in node.annotations:
        return Mark(name, node_set.name, mark_of(instance.launch))
    return None


class _Bin:
    """Room on a node that is there, comes, or would be started."""

    def __init__(self, name: str, labels: Mapping[str, str], taints: Sequence[Mapping[str, object]], room: Mapping[str, float]):
        self.name, self.labels, self.taints, self.room = name, labels, taints, dict(room)
        self.pods: list[Pod] = []
        self.is_taken = False

    def takes(self, pod: Pod) -> bool:
        wants, is_alone = pod.wants, fit.is_alone(pod.spec)
        if (is_alone and self.is_taken) or not fit.allows(pod.spec, self.labels, self.taints) or not fit.holds(self.room, wants):
            return False
        for key, value in wants.items():
            self.room[key] = self.room.get(key, 0.0) - value
        self.is_taken |= is_alone
        self.pods.append(pod)
        return True


def _starts(
    table: Table,
    templates: Mapping[str, Template],
    waiting: Sequence[Pod],
    living: set[str],
    *,
    beyond: Mapping[str, NodeSet],
    taken: set[str],
    kubernetes: Kubernetes,
    memory: Memory,
    now: float,
) -> tuple[Start, ...]:
    """Give what is started: for pods in their order, the first node set that may and can take one."""
    bins = [*_room(table, templates, living - beyond.keys(), kubernetes, memory, now)]
    owners = {**table.owners(), **beyond}
    free = {one.name: [name for name in one.nodes if name not in taken] for one in table.node_sets}
    wanted: dict[str, list[str]] = {}
    for one in table.node_sets:  # those that always run
        missing = [name for name in free[one.name] if one.always_runs(name)]
        if missing and not _is_paused(memory, one.name, now):
            free[one.name] = [name for name in free[one.name] if name not in missing]
            wanted[one.name] = missing
            bins += [_new(name, templates[one.name]) for name in missing]
        count = len(free[one.name]) - sum(beyond[name].name == one.name for name in beyond.keys() & living)  # the fleet counts those too
        free[one.name] = free[one.name][: max(0, count)]
    for pod in waiting:
        if any(one.takes(pod) for one in bins):
            continue
        for one in table.node_sets:
            most = one.pool_most
            of_pool = sum(owner.pool == one.pool for name, owner in owners.items() if name in living or name in wanted.get(owner.name, ()))
            if not free[one.name] or _is_paused(memory, one.name, now) or (most is not None and of_pool >= most):
                continue
            new = _new(free[one.name][0], templates[one.name])
            if new.takes(pod):
                free[one.name].pop(0)
                wanted.setdefault(one.name, []).append(new.name)
                bins.append(new)
                break
    pods = {one.name: one.pods for one in bins}
    return tuple(Start(name, tuple(nodes), tuple(pod for node in nodes for pod in pods[node])) for name, nodes in wanted.items())


def _room(table: Table, templates: Mapping[str, Template], living: set[str], kubernetes: Kubernetes, memory: Memory, now: float) -> Iterator[_Bin]:
    """Give the room of hosts that come, of nodes that have just come, and of empty ones. Of all others the scheduler has said that there is none."""
    owners = table.owners()
    for name in sorted(living):
        node, template = kubernetes.nodes.get(name), templates[owners[name].name]
        if node is None or not node.is_ready:
            yield _new(name, template)
        elif not node.is_cordoned and not node.is_stopping and (name in memory.idle or now - memory.ready.get(name, now) < SETTLES_WITHIN_S):
            room = {key: max(value, node.allocatable.get(key, 0.0)) for key, value in template.offers.items()}  # a device plugin offers its GPUs a little later
            # Taints of Kubernetes itself say what has passed a moment ago, or keep the node from being ready.
            taints = [taint for taint in node.taints if not str(taint["key"]).startswith(_OWN_TAINTS)]
            one = _Bin(name, {**template.labels, **node.labels}, taints, room)
            for pod in kubernetes.pods:
                if pod.node == name:
                    for key, value in pod.wants.items():
                        one.room[key] = one.room.get(key, 0.0) - value
                    one.is_taken |= fit.is_alone(pod.spec)
            yield one


def _new(name: str, template: Template) -> _Bin:
    return _Bin(name, template.labels, template.taints, template.offers)


def _fitting(waiting: Sequence[Pod], template: Template) -> tuple[Pod, ...]:
    return tuple(pod for pod in waiting if fit.allows(pod.spec, template.labels, template.taints) and fit.holds(template.offers, pod.wants))


def _is_paused(memory: Memory, node_set: str, now: float) -> bool:
    pause = memory.pauses.get(node_set)
    return pause is not None and now < pause.until
