"""What the cluster should be, taken from the resolved spec (pure)."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from blueprints import hostlist

from .applicant import Applicant, choose

HOMES = "/home"
OBJECTS = "object"


@dataclasses.dataclass(frozen=True, slots=True)
class Rail:
    """An interface of a node's fabric, as the inventory has it."""

    name: str
    mac: str
    """Empty: the interface has the rail's name."""
    address: str
    """With the length of the prefix; empty: no address is expected."""
    mtu: int
    """0: any."""
    gbps: float = 0
    """0: the catalogue doesn't tell."""
    partition_key: str = ""
    """Of an InfiniBand partition, `0x8001`; empty: the rail is the port's own interface."""


@dataclasses.dataclass(frozen=True, slots=True)
class Collective:
    """What one collective of nccl-tests must deliver over some nodes, in GB/s of bus bandwidth."""

    collective: str
    """`all_reduce`, `all_gather` or `alltoall`."""
    size_bytes: int
    nodes: int
    typical_gbs: float | None
    warn_gbs: float | None
    floor_gbs: float
    provisional: bool
    """One measurement, or somebody else's demand: less than the floor warns."""
    source: str
    note: str = ""
    """What known shortfalls look like on this fabric."""
    measured_nodes: int | None = None
    """How many nodes the figures are extrapolated from; None: they are for `nodes` as they were measured, or nobody measured them."""
    lowered_from_gbs: float | None = None
    """The floor before the blueprint lowered it; None: it didn't."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fabric:
    """What carries the traffic of GPUs between nodes."""

    title: str
    nics: int
    log_line: str
    """In NCCL's log on every node; empty: no line shows it."""
    bad_log_lines: tuple[str, ...]
    direct: bool
    """Whether NICs reach the GPUs' memory by themselves, so that no connection goes without GPUDirect RDMA."""
    environment: Mapping[str, str]
    environment_script: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSet:
    """Nodes that are alike; one job runs over all of them."""

    partition: str
    nodes: tuple[str, ...]
    cpus: int
    gpu_type: str
    """Empty when the nodes have no GPU."""
    gpu_count: int
    """What Slurm gives out of a node: GPUs, or the MIG instances of all of them."""
    simulated: bool
    machines_exist: bool
    """False: nodes are declared larger than the machine they run on, so cores can't be confined."""
    applicant: Applicant | None
    """Whose view of the nodes is taken; None when the partition admits no user."""
    rails: Mapping[str, tuple[Rail, ...]] = dataclasses.field(default_factory=dict)
    """Node → its rails; nodes without any are left out."""
    fabric: Fabric | None = None
    collectives: tuple[Collective, ...] = ()
    """What is known for one node, two, and all of them."""
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Variables of the fabric that a job over several nodes has, unless its user set others."""
    instances: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """MIG instances of a node by profile; empty: its GPUs are whole."""
    diagnostics: int = 0
    """Level of DCGM's diagnostic; 0: the nodes have no DCGM, or their pool asks for no check."""

    @property
    def kinds(self) -> Mapping[str, int]:
        """Count what Slurm gives out of a node by its type of it."""
        return self.instances or ({self.gpu_type: self.gpu_count} if self.gpu_count else {})

    @property
    def hostlist(self) -> str:
        return hostlist.compress(self.nodes)


@dataclasses.dataclass(frozen=True, slots=True)
class Folder:
    """A shared file system at whose top users may write."""

    path: str
    writers: str
    """`users`, `administrators` or `root`; empty: nobody in particular was asked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Storage:
    """A shared file system that nodes write to and read from."""

    path: str
    throughput_mbs: float | None = None
    """Of all of it, MB/s, as its product states; None: no figure is known."""
    why_not: str = ""
    """Why nothing is written there; empty: it is tried."""
    is_demanded: bool = False
    """Whether users must be able to write there. A file system of the site, of which the blueprint does not say that, may be for some folders of its own."""

    @property
    def tried(self) -> bool:
        return not self.why_not


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    cluster: str
    node_sets: tuple[NodeSet, ...]
    """With the nodes that always run."""
    on_demand: tuple[str, ...] = ()
    """Nodes of pools of which none always runs, a host list each."""
    users: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """User → number, equal on every host."""
    folders: tuple[Folder, ...] = ()
    storage: tuple[Storage, ...] = ()
    gate: tuple[str, ...] | None = None
    """Kinds of checks whose failure fails `up`; None: all."""
    left_to_roll: frozenset[str] = frozenset()
    """Nodes that were out of service before, and with which the roll deals that follows."""

    @property
    def node_count(self) -> int:
        return sum(len(node_set.nodes) for node_set in self.node_sets)


def expect(spec: Mapping[str, Any]) -> Expectation:
    standing = [node_set for node_set in spec["slurm"]["node_sets"] if _standing(node_set) > 0]
    return Expectation(
        cluster=spec["name"],
        node_sets=tuple(_node_set(node_set, choose(spec, node_set["partition"]), spec) for node_set in standing),
        on_demand=tuple(
            hostlist.compress(_names(node_set, node_set["hosts"]["count"]))
            for node_set in spec["slurm"]["node_sets"]
            if _standing(node_set) == 0 < node_set["hosts"]["count"]
        ),
        users={user["name"]: int(user["uid"]) for user in spec["users"]},
        folders=tuple(Folder(one["mount"], one.get("writable_by", "")) for one in spec["storage"] if one["mount"] != HOMES),
        storage=tuple(_storage(one, (spec.get("file_systems") or {}).get(one["mount"]) or {}) for one in spec["storage"]),
        gate=tuple(spec["gate"]) if "gate" in spec else None,
        left_to_roll=frozenset(spec.get("left_to_roll") or ()),
    )


def _storage(one: Mapping[str, Any], known: Mapping[str, Any]) -> Storage:
    writers = one.get("writable_by") or "users"
    is_free = one["mount"] == HOMES or writers == "users"
    why_not = "an object store" if known.get("kind") == OBJECTS else "" if is_free else f"{writers} alone may write"
    return Storage(one["mount"], known.get("throughput_mbs"), why_not, is_demanded=one["mount"] == HOMES or "writable_by" in one)


def from_record(record: Mapping[str, Any]) -> NodeSet:
    """Read a node set as `dataclasses.asdict` writes it."""
    read: dict[str, Any] = {
        "nodes": tuple(record["nodes"]),
        "applicant": Applicant(**record["applicant"]) if record["applicant"] else None,
        "rails": {name: tuple(Rail(**rail) for rail in rails) for name, rails in record["rails"].items()},
        "fabric": Fabric(**{**record["fabric"], "bad_log_lines": tuple(record["fabric"]["bad_log_lines"])}) if record["fabric"] else None,
        "collectives": tuple(Collective(**one) for one in record["collectives"]),
    }
    return NodeSet(**{**record, **read})


def _standing(node_set: Mapping[str, Any]) -> int:
    """Count the nodes that always run. Those beyond come when a job wants them: trying them would cost money that nobody asked to spend."""
    count, minimum = node_set["hosts"]["count"], node_set.get("minimum")
    return int(count if minimum is None else min(minimum, count))


def _names(node_set: Mapping[str, Any], count: int) -> tuple[str, ...]:
    hosts = node_set["hosts"]
    return hostlist.of_group(hosts["prefix"], count, hosts.get("members") or "")[:count]


def _node_set(node_set: Mapping[str, Any], applicant: Applicant | None, spec: Mapping[str, Any]) -> NodeSet:
    rails, fabric = spec.get("rails") or {}, (spec.get("fabrics") or {}).get(node_set["hosts"]["name"]) or {}
    hosts = node_set["hosts"]
    machine = hosts["machine"]
    gpus = machine["gpus"]
    names = _names(node_set, _standing(node_set))
    instances = {one["profile"]: one["per_gpu"] * gpus["count"] for one in (gpus or {}).get("mig") or ()}
    return NodeSet(
        partition=node_set["partition"]["name"],
        nodes=names,
        cpus=machine["sockets"] * machine["cores_per_socket"] * machine["threads_per_core"],
        gpu_type=gpus["type"] if gpus else "",
        gpu_count=sum(instances.values()) or (gpus["count"] if gpus else 0),
        simulated=bool(gpus and gpus["simulated"]),
        machines_exist=machine["exists"],
        applicant=applicant,
        rails={name: tuple(Rail(**rail) for rail in rails[name]) for name in names if name in rails},
        fabric=Fabric(**{**fabric["fabric"], "bad_log_lines": tuple(fabric["fabric"]["bad_log_lines"])}) if fabric.get("fabric") else None,
        collectives=tuple(Collective(**one) for one in fabric.get("collectives") or ()),
        environment=node_set.get("environment") or {},
        instances=instances,
        diagnostics=(spec.get("diagnostics") or {}).get(hosts["name"], 0),
    )
