"""Values for the tests of this folder, small and by hand."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from components.elastic.memory import Launch
from components.elastic.model import Cloud, Instance, Job, Life, Node, Slurm
from components.elastic.table import NodeSet, Table

NOW = 1_000_000.0
OLD = NOW - 3600
BOOT_TIMEOUT_S = 600.0

OFF = frozenset({"cloud", "powered_down"})
STARTING = frozenset({"cloud", "powering_up", "not_responding"})
UP = frozenset({"cloud"})
STOPPING = frozenset({"cloud", "powering_down"})


def node_set(name: str = "train", *, count: int = 4, minimum: int = 0, kind: str = "on-demand", capacity: str | None = None, **more: Any) -> NodeSet:
    values: dict[str, Any] = {
        "name": name,
        "pool": name.partition("-")[0],
        "prefix": name,
        "count": count,
        "minimum": minimum,
        "partition": "train",
        "machine": "p5.48xlarge",
        "capacity_kind": kind,
        "capacity_id": capacity,
        "boot_timeout_s": BOOT_TIMEOUT_S,
        "pool_most": None,
        "template": "3",
        "start": {"launch_template": "lt-1", "subnets": ["subnet-1"], "placement_group": None},
    }
    return NodeSet(**{**values, **more})


def table(*node_sets: NodeSet) -> Table:
    return Table("aws", "starter", "prod", "starter.internal", node_sets or (node_set(),), cloud={"region": "us-east-1"})


def node(name: str = "train-0", flags: frozenset[str] = UP, *, base: str = "idle", reason: str = "", address: str = "", by: str = "") -> Node:
    return Node(name, base, flags, reason, address, by)


def slurm(*nodes: Node, jobs: Mapping[int, Iterable[str]] | None = None, also: Table | None = None, bound: Collection[int] = ()) -> Slurm:
    """Nodes as given; those of `also` that are not are switched off.

    Args:
        bound: jobs that can't go back to the queue.
    """
    known = {name: node(name, OFF) for name in (also.owners() if also else ())}
    return Slurm(
        {**known, **{one.name: one for one in nodes}}, tuple(Job(number, "running", tuple(on), number not in bound) for number, on in (jobs or {}).items())
    )


def instance(name: str = "train-0", *, life: Life = Life.LIVE, at: float = OLD, identity: str = "", **more: Any) -> Instance:
    return Instance(identity or f"i-{name}", name, life, at, **{"address": "10.0.0.1", "launch": "t", **more})


def cloud(*instances: Instance) -> Cloud:
    return Cloud(instances)


def launch(*nodes: str, at: float = NOW - 60, launched: float | None = NOW - 60, token: str = "t", jobs: tuple[int, ...] = (), **more: Any) -> Launch:
    names = nodes or ("train-0",)
    instances = {name: f"i-{name}" for name in names} if launched is not None else {}
    values: dict[str, Any] = {"node_set": "train", "group": "g", "is_whole": len(names) > 1, "instances": instances}
    return Launch(token=token, nodes=names, jobs=jobs, requested_at=at, launched_at=launched, **{**values, **more})
