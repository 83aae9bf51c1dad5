"""Pools: the compute nodes that users ask for."""

from typing import Annotated, Literal

from pydantic import Field

from .section import (
    AccountReference,
    CatalogName,
    Identifier,
    LabelKey,
    LabelValue,
    Long,
    Memory,
    MigProfile,
    MountPoint,
    QosReference,
    Section,
    Short,
    ShortOrLong,
    Size,
    TimeLimit,
)

MOST_NODES = 50_000

CapacityKind = Literal["on-demand", "spot", "reserved", "block", "flex"]


class NodeRange(Section):
    """A pool that grows and shrinks with its queue."""

    min: int = Field(ge=0, le=MOST_NODES, description="Nodes that stand even when no job wants them.")
    max: int = Field(ge=1, le=MOST_NODES, description="Nodes that stand at most.")


class Capacity(Section):
    """How nodes are bought."""

    kind: CapacityKind = Field(
        description="`on-demand`; `spot` (cheap, taken back at short notice); `reserved` (a reservation of yours); `block` (bought for some days ahead); "
        "`flex` (given when the cloud has it, for a limited time)."
    )
    id: Identifier | None = Field(default=None, description="The reservation's or block's identifier, from the cloud's console.")
    max_run: TimeLimit | None = Field(default=None, description="The longest that `flex` nodes may run.")


class Partition(Section):
    """The Slurm partition that holds a pool's nodes; it has the pool's name."""

    default: bool | None = Field(
        default=None, description="Jobs that name no partition go here. If no pool says so, the first pool that doesn't say `false` is it."
    )
    max_time: TimeLimit = Field(default="UNLIMITED", description="The longest a job may run, in Slurm's words: `1-00:00:00` is one day, `60` an hour.")
    priority: int = Field(default=1, ge=1, le=65_533, description="Jobs of a partition with a higher number are considered first.")
    exclusive: bool = Field(default=False, description="A job gets whole nodes, whatever it asks for.")
    accounts: tuple[AccountReference, ...] = Field(
        default=(), strict=False, max_length=2_000, description="Accounts that may use it, with those that are part of them; with none, all may."
    )
    qos: tuple[QosReference, ...] = Field(
        default=(),
        strict=False,
        max_length=200,
        description="Qualities of service that jobs may have here, `normal` among them where it is meant; with none, all may.",
    )


class Scratch(Section):
    """The nodes' own fast disks as one file system, empty after every start."""

    mount: MountPoint = Field(default="/scratch", description="Where nodes mount it.")
    size: Size | None = Field(default=None, description="The least it must hold (`5 TiB`); left out, whatever the machine has.")


class Health(Section):
    """What is done about nodes that don't do their work."""

    check: Literal["none", "basic", "full"] = Field(
        default="basic",
        description="`basic`: when a node starts, its GPUs, EFA devices and mounts are counted before it takes jobs. `full`: the vendor's diagnostics too, also between jobs.",
    )
    on_failure: Literal["drain", "reboot", "replace"] = Field(default="drain", description="What happens to a node that fails; never while a job runs on it.")


class Taint(Section):
    """A Kubernetes taint: pods that don't tolerate it stay away."""

    key: LabelKey = Field(description="Its key.")
    value: LabelValue = Field(default="", description="Its value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(default="NoSchedule", description="What happens to other pods.")


class Pool(Section):
    """Compute nodes of one kind."""

    accelerator: str | None = Field(default=None, description="The GPU, by its name in the catalogue (`h100`). Left out, nodes have none.")
    gpus_per_node: int | None = Field(default=None, ge=1, le=16, description="GPUs in each node.")
    machine: CatalogName | None = Field(default=None, description="One machine of the target's catalogue (`p5.48xlarge`). Left out, the accelerator decides.")
    machines: tuple[CatalogName, ...] = Field(
        default=(), strict=False, max_length=8, description="Machines in order of preference; jobs go to the next when the cloud has none of the first."
    )
    nodes: Annotated[
        Annotated[int, Short, Field(ge=1, le=MOST_NODES)] | Annotated[NodeRange, Long],
        ShortOrLong,
    ] = Field(description="How many nodes: a number, or `{min, max}` for a pool that grows and shrinks.")
    capacity: Annotated[Annotated[CapacityKind, Short] | Annotated[Capacity, Long], ShortOrLong] = Field(
        default="on-demand", description="How nodes are bought: a word, or a mapping with the reservation's `id`."
    )
    fabric: Literal["required", "preferred", "none"] = Field(
        default="preferred",
        description="The fast network between GPUs of different nodes: without it the blueprint is refused (`required`) or warned about (`preferred`).",
    )
    placement: Literal["auto", "packed", "spread", "none"] = Field(
        default="auto", description="How near nodes stand: `packed` for low latency. `auto` packs where a fabric is used and the capacity brings no placement."
    )
    scratch: Scratch | None = Field(default=None, description="The nodes' own fast disks; left out, they aren't used.")
    scheduler: Literal["slurm", "kubernetes"] | None = Field(default=None, description="With `scheduler: both`, which of the two has these nodes.")
    partition: Partition = Field(default=Partition())
    mig: dict[MigProfile, Annotated[int, Field(ge=1, le=7)]] = Field(
        default={}, max_length=20, description="Slices that each GPU is cut into, by profile: `{1g.10gb: 7}`. Left out, GPUs stay whole."
    )
    health: Health = Field(default=Health())
    labels: dict[LabelKey, LabelValue] = Field(
        default={}, max_length=100, description="Labels of the nodes: Kubernetes labels, and Slurm features `key=value`."
    )
    taints: tuple[Taint, ...] = Field(default=(), strict=False, max_length=100, description="Kubernetes taints of the nodes.")
    image: Identifier | None = Field(default=None, description="An image of your own, by its identifier; left out, the software profile's image is built.")
    cpus_per_node: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Logical processors of each node: in a cloud the least that it must have, by which machines without GPUs are chosen; on bare metal what hosts have that the catalogue "
        "doesn't know; on the target `local` what they declare, to rehearse other machines.",
    )
    memory: Memory | None = Field(default=None, description="Memory of each node (`2 TiB`); where it counts is said at `cpus_per_node`.")

    @property
    def range(self) -> NodeRange:
        return self.nodes if isinstance(self.nodes, NodeRange) else NodeRange(min=self.nodes, max=self.nodes)

    @property
    def is_elastic(self) -> bool:
        return isinstance(self.nodes, NodeRange) and self.nodes.min != self.nodes.max

    @property
    def bought(self) -> Capacity:
        return self.capacity if isinstance(self.capacity, Capacity) else Capacity(kind=self.capacity)
