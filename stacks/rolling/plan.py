"""What a roll is about to do: which hosts lack what, how many may be out of service at once, and what a person reads before it begins. Pure."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from blueprints import hostlist, rolling
from blueprints.spec import ClusterSpec
from components.elastic import slurm
from components.elastic.model import GUARD, OURS, Node
from components.inspection import in_place
from components.inspection.collect import Seen
from components.inspection.in_place import Lack
from components.inspection.recorded_cluster import Known, KnownHost

from .decide import Host, Phase

REASON = f"{OURS}roll"
"""A node with this reason was drained by a roll, which returns it to service."""
CONTROL, ACCESS, COMPUTE = "control", "access", "compute"
"""Roles of hosts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """A roll that somebody may agree to."""

    due: Mapping[str, tuple[Lack, ...]]
    """Host → what it lacks."""
    left: tuple[str, ...]
    """Nodes that a roll drained, and that lack nothing any more."""
    silent: frozenset[str]
    """Hosts that do not answer."""
    members: Mapping[str, tuple[str, ...]]
    """Scope → its hosts."""
    roles: Mapping[str, str]
    """Host → its role."""
    limits: Mapping[str, int]
    written: Mapping[str, str]
    """Pool → its limit as the blueprint writes it."""

    @property
    def is_empty(self) -> bool:
        return not self.due and not self.left

    @property
    def order(self) -> list[list[str]]:
        """Give the scopes that roll together, first those that roll first: pools, login nodes, controllers."""
        of_role = {scope: self.roles[hosts[0]] for scope, hosts in self.members.items() if hosts}
        return [[scope for scope, role in of_role.items() if role == wanted] for wanted in (COMPUTE, ACCESS, CONTROL)]


def plan(cluster: ClusterSpec, known: Known, seen: Seen, states: Mapping[str, Node]) -> Plan:
    """Decide which hosts a roll is about.

    Args:
        cluster: as it should become.
        known: the hosts as they are recorded.
        seen: what an inspection saw of them.
        states: of the nodes, as Slurm sees them; empty: it did not answer.
    """
    roles = {host.name: host.role for host in known.hosts}
    # Pods leave a node as Kubernetes has them leave, not as Slurm does: this version rolls no hosts of Kubernetes.
    others = {one.name for one in cluster.kubernetes_groups}
    due = {
        host.name: lacking
        for host, facts in seen.facts.items()
        if host.name in roles and host.group not in others and (lacking := in_place.lacks(cluster, host.group, facts))
    }
    members = {group: tuple(host.name for host in _in_order(known, group)) for group in dict.fromkeys(host.group for host in known.hosts)}
    written = {node_set.hosts.name: node_set.rolling for node_set in cluster.node_sets}
    # Sessions end with a login node, and commands wait for a controller: one after the other.
    limits = {scope: rolling.at_once(written.get(scope, ""), len(hosts)) if roles[hosts[0]] == COMPUTE else 1 for scope, hosts in members.items()}
    left = tuple(name for name, node in states.items() if node.is_drained and node.reason == REASON and name in roles and name not in due)
    silent = frozenset(host.name for host in (*seen.unreachable, *seen.failed))
    return Plan(due, left, silent, members, roles, limits, {scope: text for scope, text in written.items() if text})


def nodes(answers: Mapping[str, Mapping[str, str]]) -> Mapping[str, Node]:
    """Give the nodes as an inspection's answers of Slurm show them; empty: it did not answer."""
    return slurm.parse_nodes(answers.get("nodes", {}).get("text", ""))


def _in_order(known: Known, group: str) -> Sequence[KnownHost]:
    """Give the hosts of a group in the order in which they roll: the first controller last, since it serves."""
    hosts = [host for host in known.hosts if host.group == group]
    return hosts[::-1] if hosts[0].role == CONTROL else hosts


def left_to_roll(decided: Plan, states: Mapping[str, Node]) -> tuple[str, ...]:
    """Name the nodes that are out of service and lack something, or that somebody keeps from the roll: acceptance runs before the roll, and would fail on them."""
    if not decided.due:
        return ()
    return tuple(name for name, node in states.items() if name in decided.roles and (node.is_drained or node.is_down) and (name in decided.due or node.is_kept))


def out_already(decided: Plan, states: Mapping[str, Node]) -> tuple[str, ...]:
    """Name the nodes that lack something and take no jobs, which are rolled whether a maintenance window is open or not."""
    nodes = {name: states[name] for name in decided.due if name in states}
    return tuple(name for name, node in nodes.items() if is_rolls(node) or ((node.is_down or node.is_drained) and not node.is_kept))


def is_rolls(node: Node) -> bool:
    """Say whether a roll drained a node. The start guard of a node that lacks something puts its own reason in the place of the roll's."""
    return node.is_drained and (node.reason == REASON or node.reason.startswith(GUARD))


def hosts(
    decided: Plan, states: Mapping[str, Node], *, busy: frozenset[str], begun: frozenset[str], done: frozenset[str], failed: frozenset[str]
) -> list[Host]:
    """Give the hosts as the next decision sees them.

    Args:
        states: of the nodes, as Slurm sees them now.
        busy: nodes that jobs run on.
        begun: hosts that this roll has taken out of service.
        done: hosts that are back.
        failed: hosts that are not.
    """
    found = []
    for scope, names in decided.members.items():
        for name in names:
            node = states.get(name)
            is_out = node is not None and (node.is_down or node.is_drained) and not is_rolls(node)
            phase = _phase(decided, name, node, is_busy=name in busy, begun=begun, done=done, failed=failed)
            found.append(Host(name, scope, phase, is_busy=name in busy, is_out=is_out and phase in (Phase.DUE, Phase.DONE)))
    return found


def _phase(decided: Plan, name: str, node: Node | None, *, is_busy: bool, begun: frozenset[str], done: frozenset[str], failed: frozenset[str]) -> Phase:
    if name in failed:
        return Phase.FAILED
    if name in decided.silent or (node is not None and node.is_kept and name not in begun):
        return Phase.KEPT
    if name in done or name not in decided.due:
        return Phase.DONE
    if name in begun or (node is not None and is_rolls(node)):
        return Phase.DRAINING if is_busy else Phase.EMPTY
    return Phase.DUE


def lines(decided: Plan) -> Iterator[str]:
    """Say what the roll does, hosts that lack the same in one line."""
    for scope, names in decided.members.items():
        by_lack: dict[tuple[Lack, ...], list[str]] = {}
        for name in names:
            if name in decided.due:
                by_lack.setdefault(decided.due[name], []).append(name)
        for lacking, same in by_lack.items():
            yield f"  {hostlist.compress(sorted(same, key=names.index))}: {', '.join(map(str, lacking))}"
        if by_lack:
            yield f"    {_how(decided, scope)}"
    if decided.left:
        yield f"  {hostlist.compress(decided.left)}: drained by a roll that was interrupted, and complete; it returns to service"


def _how(decided: Plan, scope: str) -> str:
    match decided.roles[decided.members[scope][0]]:
        case "control":
            return "controllers restart one after the other, after all others; running jobs go on"
        case "access":
            return "login nodes restart one after the other; sessions on them end"
    most, count = decided.limits[scope], len(decided.members[scope])
    written = f"rolling: {decided.written.get(scope, rolling.DEFAULT_LIMIT)}"
    return f"at most {most} of {count} nodes out of service at once ({written}); each is drained, installed and restarted, the first one alone"
