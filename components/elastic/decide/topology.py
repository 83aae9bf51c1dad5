"""Where running nodes are in the cloud's network, as switches of Slurm's plugin topology/tree (topology.conf(5)), so that a job gets nodes near to each other.

Every node has a switch: Slurm 24.11 refuses a job for a node without one ("Requested topology configuration is not available"; 22.05 and 23.11 never start it), and a node that is off may start
anywhere. The same nodes at the same places give the same text.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping

from blueprints import hostlist

from ..memory import Memory
from ..model import Cloud, Slurm
from ..table import Table
from .cases import by_node
from .steps import Arrange

ROOT = "all"
LEVELS = ("cluster", "block", "subblock")
"""What the parts of a place are, as the names of switches say it; the last one has nodes."""
UNPLACED = "unplaced"
SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
HEAD = "# Written by clusterwright-elastic from where the cloud says that instances run.\n"
EVERY_S = 300.0
"""Slurm reads the switches again at most so often: all daemons fetch their configuration then."""
WAITS_S = 1800.0
"""While nodes start, their places follow one by one; Slurm reads switches so long after it last did, even if some start all the time."""

Switches = Mapping[str, frozenset[str]]
"""Switch → what is connected to it: nodes, or other switches."""


def arrange(*, table: Table, slurm: Slurm, cloud: Cloud, memory: Memory, now: float) -> Arrange | None:
    """Return the step that tells Slurm where nodes are; None: it knows, or it was told only a while ago, or it places jobs in another way."""
    if not table.topology or not slurm.switches:
        return None
    wanted = switches(table, slurm.nodes, _places(slurm, cloud, memory))
    if wanted == slurm.switches or now - memory.arranged_at < (WAITS_S if memory.launches else EVERY_S):
        return None
    return Arrange(written(wanted), "instances run elsewhere than Slurm knows")


def unplaced(table: Table) -> str:
    """Write the switches of nodes of which nothing is known."""
    return written(switches(table, table.owners(), {}))


def names_all(text: str, table: Table) -> bool:
    """Say whether each node has a switch in a text as `written` writes it."""
    there = {node for found in re.finditer(r" Nodes=(\S+)", text) for node in hostlist.expand(found[1])}
    return there.issuperset(table.owners())


def switches(table: Table, nodes: Iterable[str], places: Mapping[str, tuple[str, ...]]) -> Switches:
    """Lay out the switches: a leaf for each sub-block, and one for the nodes of each node set that are nowhere yet."""
    owners = table.owners()
    found: dict[str, set[str]] = {ROOT: set()}
    for node in nodes:
        path = [f"{level}-{_name(part)}" for level, part in zip(LEVELS, places.get(node, ()), strict=False)]
        if len(path) < len(LEVELS):  # nodes and switches never are connected to the same one
            path = [f"{UNPLACED}-{owners[node].name if node in owners else 'others'}"]
        above = ROOT
        for switch in path:
            found[above].add(switch)
            found.setdefault(switch, set())
            above = switch
        found[above].add(node)
    return {name: frozenset(members) for name, members in found.items() if members}


def written(found: Switches) -> str:
    """Write topology.conf."""
    lines = []
    for name in sorted(found, key=lambda one: (one == ROOT, one)):
        is_leaf = not found[name] & found.keys()
        lines.append(
            f"SwitchName={name} {'Nodes' if is_leaf else 'Switches'}={hostlist.compress(sorted(found[name])) if is_leaf else ','.join(sorted(found[name]))}\n"
        )
    return HEAD + "".join(lines)


def _places(slurm: Slurm, cloud: Cloud, memory: Memory) -> dict[str, tuple[str, ...]]:
    live, _ = by_node(cloud, memory)
    on = {name for name, node in slurm.nodes.items() if node.is_up or node.is_starting}
    return {node: instance.place for node, instance in live.items() if node in on and instance.place}


def _name(part: str) -> str:
    """Write what the cloud calls a part of its network as Slurm can read it."""
    return part if SAFE.fullmatch(part) else hashlib.sha256(part.encode()).hexdigest()[:16]
