"""What a rebuild does: which hosts, in which order, what is lost with each, and what it refuses. Pure."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from blueprints import hostlist, message_text
from blueprints.spec import ClusterSpec

from ..errors import EXIT_USAGE, Problem
from .scheduler import REASON

CONTROL, KUBERNETES, ACCESS, COMPUTE = "control", "kubernetes", "access", "compute"
"""Roles of hosts."""
_ONE_BY_ONE = (CONTROL, KUBERNETES)
"""Roles whose other hosts take over meanwhile."""


class Node(Protocol):
    """A node, as its scheduler sees it."""

    @property
    def is_drained(self) -> bool: ...

    @property
    def reason(self) -> str: ...


class Running(Protocol):
    """A job on nodes. Its text names it for people."""

    @property
    def nodes(self) -> tuple[str, ...]: ...

    @property
    def requeues(self) -> bool:
        """It goes back to the queue when it is asked to."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host to rebuild."""

    name: str
    group: str
    role: str
    is_elastic: bool = False
    """The scheduler starts and terminates it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Hosts by what is done with them."""

    elastic: tuple[Host, ...]
    """The scheduler terminates and starts them again."""
    together: tuple[Host, ...]
    """The engine creates these together."""
    controllers: tuple[Host, ...]
    """The engine creates one after the other, the first one last: the others take over meanwhile."""
    drained: tuple[str, ...]
    """Nodes that the rebuild drains, and returns to service."""
    kept: Mapping[str, str]
    """Nodes that somebody else took out of service → the reason; they stay so."""
    jobs: tuple[Running, ...]

    @property
    def hosts(self) -> tuple[Host, ...]:
        return (*self.elastic, *self.together, *self.controllers)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts if host.role == COMPUTE)


def choose(
    words: Sequence[str], *, cluster: ClusterSpec, recorded: Mapping[str, tuple[str, str]], running: Mapping[str, str], keeps_state: bool
) -> tuple[Host, ...]:
    """Find the hosts that the command line names.

    Args:
        words: hosts and host lists.
        keeps_state: the state of Kubernetes can stay when a disk is deleted.
        recorded: host → its group and role.
        running: elastic host that is up → its group.
    Raises:
        Problem: a host list can't be read, or a host is unknown or off.
    """
    try:
        named = dict.fromkeys(name for word in words for name in hostlist.expand(word))
    except ValueError as error:
        raise Problem("a host list can't be read", why=str(error), remedy="write `train-0` or `train-[0-3,7]`", status=EXIT_USAGE) from error
    off = {name: group.name for group in cluster.host_groups for name in group.hostnames if name in named and name not in recorded and name not in running}
    unknown = [name for name in named if name not in recorded and name not in running and name not in off]
    if unknown:
        raise Problem(
            f"there is no host {message_text.listed(unknown)}",
            why=f"the cluster has {hostlist.compress([*recorded, *(host for group in cluster.host_groups for host in group.hostnames)])}",
            remedy="name hosts of the cluster, or host lists such as train-[0-3]",
            status=EXIT_USAGE,
        )
    if off:
        raise Problem(
            f"{hostlist.compress(off)} is off" if len(off) == 1 else f"{hostlist.compress(off)} are off",
            why="it is a node of an elastic pool, which has a new disk whenever it starts",
            remedy="nothing: the next job that wants it starts it",
        )
    if not keeps_state and (only := only_state(cluster)) in named:
        raise Problem(
            f"{only} can't be rebuilt",
            why="its disk has the only copy of the Kubernetes cluster's state",
            remedy="delete the cluster with `clusterwright down` and create it again; with `control: {highly_available: true}`, hosts can be rebuilt one by one",
        )
    of_autoscaler = {one.hosts.name for one in cluster.node_sets if one.is_elastic and one.scheduler == "kubernetes"}
    if others := [name for name in named if name not in recorded and running[name] in of_autoscaler]:
        raise Problem(
            f"{hostlist.compress(others)} can't be rebuilt",
            why="the autoscaler of Kubernetes starts and ends the nodes of this pool, each with a new disk",
            remedy=f"let its pods leave with `clusterwright kubectl -- drain {others[0]} --ignore-daemonsets`, then `kubectl uncordon` it: it goes when it is idle",
        )
    return tuple(Host(name, *recorded[name]) if name in recorded else Host(name, running[name], COMPUTE, is_elastic=True) for name in named)


def only_state(cluster: ClusterSpec) -> str | None:
    """Name the host whose disk has the only copy of a Kubernetes cluster's state."""
    control = cluster.kubernetes.control if cluster.kubernetes else None
    return control.hostname(0) if control and control.count == 1 else None


def plan(hosts: Sequence[Host], *, nodes: Mapping[str, Node], jobs: Sequence[Running]) -> Plan:
    """Decide what is done.

    Args:
        nodes: all nodes as their schedulers see them; empty when no node is rebuilt.
        jobs: those that run on the nodes that are rebuilt.
    """
    names = [host.name for host in hosts if host.role == COMPUTE]
    kept = {name: node.reason for name in names if (node := nodes.get(name)) and node.is_drained and node.reason.partition(" [")[0] != REASON}
    return Plan(
        elastic=tuple(host for host in hosts if host.is_elastic),
        together=tuple(host for host in hosts if host.role not in _ONE_BY_ONE and not host.is_elastic),
        controllers=tuple(sorted((host for host in hosts if host.role in _ONE_BY_ONE), key=lambda host: _natural(host.name), reverse=True)),
        drained=tuple(name for name in names if name not in kept),
        kept=kept,
        jobs=tuple(jobs),
    )


def only(decided: Plan, names: Collection[str]) -> Plan:
    """Give the part of a plan that concerns some nodes."""
    return dataclasses.replace(
        decided,
        elastic=tuple(host for host in decided.elastic if host.name in names),
        together=tuple(host for host in decided.together if host.name in names),
        controllers=(),
        drained=tuple(name for name in decided.drained if name in names),
        kept={name: reason for name, reason in decided.kept.items() if name in names},
        jobs=tuple(job for job in decided.jobs if not set(names).isdisjoint(job.nodes)),
    )


def _natural(name: str) -> tuple[str, int]:
    """Sort `head-10` behind `head-9`."""
    plain = name.rstrip("0123456789")
    return plain, int(name[len(plain) :] or 0)


def whole_pools(hosts: Collection[Host], cluster: ClusterSpec) -> tuple[str, ...]:
    """Name the pools all of whose hosts are rebuilt, of those that have more than one."""
    names = {host.name for host in hosts}
    return tuple(one.hosts.name for one in cluster.node_sets if one.hosts.count > 1 and names >= set(one.hosts.hostnames))


def lines(decided: Plan, *, requeues: bool, controllers: int, only_state: str | None = None, by_owner: bool = False) -> Iterator[str]:
    """Say of each host what happens to it.

    Args:
        requeues: jobs are put back into the queue.
        controllers: how many the cluster has.
        only_state: the only host of the control plane of Kubernetes.
        by_owner: only their owner can install the hosts again.
    """
    width = max(len(host.name) for host in decided.hosts)
    for host in decided.hosts:
        yield f"  {host.name:{width}}  {_what_its_owner_does(host) if by_owner else _what_happens(host, controllers, only_state)}"
        for job in decided.jobs:
            if host.name in job.nodes:
                does = "it is put back into the queue" if requeues and job.requeues else "the rebuild waits until it ends"
                yield f"  {'':{width}}  job {job} runs here; {does}"
        if host.name in decided.kept:
            yield f"  {'':{width}}  it is out of service ({decided.kept[host.name] or 'no reason given'}), and stays so"


def _what_happens(host: Host, controllers: int, only_state: str | None) -> str:
    if host.role == ACCESS:
        return "login node: its disk is deleted, and open sessions end; its host key stays"
    if host.role == CONTROL:
        meanwhile = "the other controller serves meanwhile" if controllers > 1 else "running jobs go on, and Slurm's commands wait meanwhile"
        return f"controller: its disk is deleted; accounting and Slurm's state are on a volume of their own, and stay; {meanwhile}"
    if host.role == KUBERNETES and host.name == only_state:
        return "the control plane: its disk is deleted, but for the cluster's state; pods go on, and the API server does not answer meanwhile"
    if host.role == KUBERNETES:
        return "host of the control plane: its disk is deleted; the others serve meanwhile, and it joins them again"
    return f"node of {host.group}: its disk is deleted" + ("; Slurm terminates it and starts it again" if host.is_elastic else "")


def _what_its_owner_does(host: Host) -> str:
    if host.role == ACCESS:
        return "login node: you install it again, which ends open sessions"
    return f"node of {host.group}: it is taken out of service, and you install it again"


def next_steps(hosts: Sequence[Host], *, stack: str, blueprint: str, can_return: bool) -> Iterator[str]:
    """Say what the owner of servers does after they were taken out of service.

    Args:
        can_return: nodes register again with the system that they have.
    """
    names = hostlist.compress(host.name for host in hosts)
    nodes = [host.name for host in hosts if host.role == COMPUTE]
    if nodes:
        yield f"{hostlist.compress(nodes)} {'has no jobs and is' if len(nodes) == 1 else 'have no jobs and are'} out of service"
    yield "Now:"
    yield f"  1. install the operating system of {names} again"
    yield f"  2. clusterwright lookup hosts {blueprint}     # shows the new SSH host keys; take the old ones out of the inventory, then add --write"
    yield f"  3. clusterwright up --stack {stack}     # adopts, configures and tests the hosts, and returns nodes to service"
    if nodes and can_return:
        yield "Without a new system, step 3 returns nodes to service as they are."


def waiting(jobs: Sequence[Running]) -> str:
    """Say what a rebuild waits for."""
    nodes = hostlist.compress(dict.fromkeys(node for job in jobs for node in job.nodes))
    some = ", ".join(map(str, jobs[:5])) + (f" and {len(jobs) - 5} more" if len(jobs) > 5 else "")
    return f"waiting for {'a job' if len(jobs) == 1 else f'{len(jobs)} jobs'} on {nodes} to end: {some}"
