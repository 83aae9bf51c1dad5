"""What `status` shows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import act
from .decide import holds, leases, pools
from .memory import Memory
from .model import Cloud, Life, Slurm
from .table import NodeSet, Table

FORMAT = 1
COLUMNS = (("node_set", "NODE SET"), ("machine", "MACHINE"), ("up", "UP"), ("starting", "STARTING"), ("stopping", "STOPPING"), ("off", "OFF"), ("down", "DOWN"), ("kept", "KEPT"), ("instances", "INSTANCES"))  # fmt: skip


def status(table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory, now: float) -> dict[str, Any]:
    """Describe every node set, and what the next `sync` would do."""
    full = pools.full(table, slurm=slurm, cloud=cloud, memory=memory)
    unprotected = leases.unprotected(table, slurm, cloud, now)
    return {
        "format": FORMAT,
        "cluster": table.cluster,
        "stack": table.stack,
        "node_sets": [
            _node_set(node_set, slurm, cloud, memory, now) | {"full": full.get(node_set.pool), "unprotected": node_set.name in unprotected}
            for node_set in table.node_sets
        ],
        "unknown": list(cloud.unknown),
        "next": act.plan(table, slurm=slurm, cloud=cloud, memory=memory, now=now)["steps"],
    }


def _node_set(node_set: NodeSet, slurm: Slurm, cloud: Cloud, memory: Memory, now: float) -> dict[str, Any]:
    nodes = [slurm.nodes[name] for name in node_set.nodes if name in slurm.nodes]
    hold = holds.standing(memory, node_set, now)
    names = set(node_set.nodes)
    return {
        "node_set": node_set.name,
        "machine": node_set.machine,
        "count": node_set.count,
        "minimum": node_set.minimum,
        "up": sum(node.is_up and not node.is_down for node in nodes),
        "starting": sum(node.is_starting for node in nodes),
        "stopping": sum(node.is_stopping for node in nodes),
        "off": sum(node.is_off for node in nodes),
        "down": sum(node.is_down for node in nodes),
        "kept": sorted(node.name for node in nodes if node.is_kept),
        "instances": sum(instance.life is Life.LIVE and instance.node in names for instance in cloud.instances),
        "failed_boots": memory.failed_boots.get(node_set.name, 0),
        "last_failure": memory.last_failures.get(node_set.name),
        "held": {"reason": hold.reason, "until": hold.until} if hold else None,
    }


def text(document: Mapping[str, Any]) -> str:
    """Write the document for people."""
    rows = [[title for _, title in COLUMNS], *([_cell(node_set[key]) for key, _ in COLUMNS] for node_set in document["node_sets"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for node_set in document["node_sets"]:
        if node_set["held"]:
            lines.append(f"held: {node_set['held']['reason']}")
        if node_set["failed_boots"]:
            last = f"; the last one, {node_set['last_failure']}" if node_set["last_failure"] else ""
            lines.append(f"{node_set['node_set']}: {node_set['failed_boots']} nodes in a row did not boot{last}")
        if node_set["unprotected"]:
            lines.append(f"{node_set['node_set']}: no reservation stops jobs from outliving its capacity; the journal shows why none was created")
        if node_set["kept"]:
            lines.append(f"taken out of service by an operator, so left alone: {', '.join(node_set['kept'])}")
    lines += dict.fromkeys(f"full: {node_set['full']}" for node_set in document["node_sets"] if node_set["full"])
    lines += [f"unknown: {what}" for what in document["unknown"]]
    lines += ["", *(["next:", *(f"  {step}" for step in document["next"])] if document["next"] else ["nothing to do"])]
    return "\n".join(lines)


def _cell(value: int | str | Sequence[str]) -> str:
    return str(value) if isinstance(value, int | str) else str(len(value))
