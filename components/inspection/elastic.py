"""Hosts that come and go with the work: which are up when the check begins, and which of them are on their way in or out. `look` asks; all else is pure.

No record names them. Those that are up are checked as all hosts of their group are; one that is off, or starts or stops while the check runs, is named as not checked.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from components.inspection.finding import Unchecked
from components.inspection.layer import Layer
from components.inspection.recorded_cluster import Known, KnownHost

from .. import registry
from ..discovery import RunningNodes, Stack
from .slurm import nodes as slurm_nodes
from .slurm import parse

YOUNG_S = 60.0
"""A younger host may still be starting its daemons, whatever state the scheduler gives it."""
ELSEWHERE = "its hosts are elastic, are replaced each time, and have SSH host keys that the stack does not know"
NAMES_SHOWN = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The hosts that are up, or why they can't be listed."""

    hosts: tuple[KnownHost, ...] = ()
    launched_s: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Incarnation → when it was started, seconds since 1970."""
    passed_over: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Hosts that run and can't be inspected → why."""
    why: str = ""
    """Why none of them can be inspected."""
    failure: str = ""
    """Why the target, which should know, did not list those that are up."""
    boot_s: float = YOUNG_S
    """How long a host may take until it is up, where the scheduler gives no state."""


def look(stack_name: str, known: Known) -> Listing:
    """List the hosts of elastic groups that are up now."""
    members = groups(known)
    if not members:
        return Listing()
    target = registry.discovery(known.cluster.target)
    return listing(target.running_nodes(discovered(stack_name, known, nodes=members)), known) if target else Listing(why=ELSEWHERE)


def listing(running: RunningNodes, known: Known) -> Listing:
    """Give the running nodes as hosts that can be inspected, through the same host as the controllers. Pure."""
    through = next((host for host in known.hosts if host.role == "control"), None)
    way = {name: getattr(through, name) for name in ("jump", "jump_key", "jump_command")} if through else {}
    hosts = tuple(KnownHost(one.name, one.node_set, "compute", one.address, one.id, one.host_key, **way) for one in running.nodes)
    launched = {one.id: one.launched.timestamp() for one in running.nodes}
    return Listing(hosts, launched, running.skipped, running.reason, running.failure, boot_s=max(running.boot_s, YOUNG_S))


def discovered(stack_name: str, known: Known, *, nodes: Mapping[str, tuple[str, ...]] | None = None) -> Stack:
    """Give a target's discovery what it needs to know of a recorded stack.

    Args:
        nodes: node set → its hostnames; None: all node sets.
    """
    every = {one.hosts.name: one.hosts.hostnames for one in known.cluster.node_sets}
    return Stack(
        name=stack_name,
        region=known.cluster.network.region,
        resources=known.resources,
        nodes=every if nodes is None else nodes,
        node_key=known.node_key,
        node_key_since=known.node_key_since,
    )


def groups(known: Known) -> Mapping[str, tuple[str, ...]]:
    """Give the groups whose hosts no record names, each with the names of all hosts that it can have."""
    recorded = {host.group for host in known.hosts}
    hosts = (node_set.hosts for node_set in known.cluster.node_sets)
    return {group.name: group.hostnames for group in hosts if group.count and group.name not in recorded}


def on_their_way(before: Listing, after: Listing, answers: Mapping[str, Mapping[str, str]], *, moment_s: float) -> dict[KnownHost, str]:
    """Give the hosts that were starting or stopping while the check ran, with the reason why they were not judged.

    Args:
        before: what was up when the check began.
        after: what was up after the hosts were inspected.
        answers: the scheduler's answers meanwhile (`program.scheduler.facts`); empty: none.
        moment_s: when the check began, seconds since 1970.
    """
    left = {host.incarnation for host in after.hosts}
    nodes = parse.parse_records(answers.get("nodes", {}).get("text", ""), "NodeName")
    found = {}
    for host in before.hosts:
        state = nodes.get(host.name, {}).get("State", "")
        if host.incarnation not in left:
            found[host] = "it went while the check ran"
        elif slurm_nodes.states_of(state) & slurm_nodes.ASLEEP:
            found[host] = f"it is starting or stopping (Slurm's state: {state})"
        elif moment_s - before.launched_s.get(host.incarnation, 0.0) < (YOUNG_S if state else max(before.boot_s, YOUNG_S)):
            found[host] = "it has just been started"
    return found


def unchecked(known: Known, listing: Listing, arriving: Mapping[KnownHost, str]) -> Iterator[Unchecked]:
    """Name the hosts that were not inspected, with the reason."""
    up = {host.name for host in listing.hosts}
    for group, names in groups(known).items():
        off = [name for name in names if name not in up and name not in listing.passed_over]
        if listing.why:
            yield Unchecked(Layer.HOSTS, group, listing.why)
        elif off:
            yield Unchecked(Layer.HOSTS, f"{group}: {_shown(off)}", "off: they come when jobs want them")
    for name, why in {**listing.passed_over, **{host.name: why for host, why in arriving.items()}}.items():
        for layer in (Layer.HOSTS, Layer.VERSIONS, Layer.CAPABILITY):
            yield Unchecked(layer, name, why)


def _shown(names: Iterable[str]) -> str:
    listed = [*names]
    return ", ".join(listed) if len(listed) <= NAMES_SHOWN else f"{len(listed)} hosts"
