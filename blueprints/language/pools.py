"""Pools: the compute nodes that users ask for."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from .. import hostlist
from ..capacity_kind import CapacityKind
from .section import (
    AccountReference,
    CatalogName,
    HostList,
    Identifier,
    LabelKey,
    LabelValue,
    Long,
    Memory,
    MigProfile,
    MountPoint,
    QosReference,
    Rolling,
    Section,
    Short,
    ShortOrLong,
    Size,
    TimeLimit,
)

MOST_NODES = 50_000

BoughtAs = Literal[CapacityKind.ON_DEMAND, CapacityKind.SPOT, CapacityKind.RESERVED, CapacityKind.BLOCK, CapacityKind.FLEX]
"""What a blueprint can ask for."""


class NodeRange(Section):
    """An elastic pool, which grows and shrinks with its queue."""

    min: int = Field(ge=0, le=MOST_NODES, description="Nodes that always run.")
    max: int = Field(ge=1, le=MOST_NODES, description="The maximum number of nodes.")


class Capacity(Section):
    """The purchase option of the nodes."""

    kind: BoughtAs = Field(
        description="`on-demand`; `spot` (cheap, reclaimed at short notice); `reserved` (your reservation); `block` (bought ahead for a number of days); "
        "`flex` (given when the cloud has it, for a limited time)."
    )
    id: Identifier | None = Field(default=None, description="The id of the reservation or block.")
    max_run: TimeLimit | None = Field(default=None, description="The maximum run time of `flex` nodes.")


class Partition(Section):
    """The Slurm partition that holds a pool's nodes; it has the pool's name."""

    default: bool | None = Field(
        default=None, description="Jobs that name no partition use this one. If no pool says `true`, the first pool that does not say `false` is the default."
    )
    max_time: TimeLimit = Field(default="UNLIMITED", description="The maximum run time of a job in Slurm's format: `1-00:00:00` is one day, `60` is an hour.")
    priority: int = Field(default=1, ge=1, le=65_533, description="Jobs of a partition with a higher number are scheduled first.")
    exclusive: bool = Field(default=False, description="A job always gets whole nodes.")
    accounts: tuple[AccountReference, ...] = Field(
        default=(), strict=False, max_length=2_000, description="Accounts that may use it, including their child accounts. Empty: all accounts."
    )
    qos: tuple[QosReference, ...] = Field(
        default=(),
        strict=False,
        max_length=200,
        description="QOS that jobs may use here. To allow jobs without a QOS, include `normal`. Empty: all QOS.",
    )


class Scratch(Section):
    """The nodes' local NVMe disks as one file system, empty after every boot."""

    mount: MountPoint = Field(default="/scratch", description="Where nodes mount it.")
    size: Size | None = Field(default=None, description="The minimum size (`5 TiB`). Default: whatever the machine has.")


class Health(Section):
    """Health checks of the nodes, and what happens when one fails."""

    check: Literal["none", "basic", "full"] = Field(
        default="basic",
        description="`basic`: a node counts its GPUs, EFA devices and mounts at boot, and when no job runs. `full`: it also asks the driver, the kernel's log and the ports.",
    )
    brake: Rolling = Field(
        default="25%",
        description="How many nodes of the partition may be drained by their checks at once: a number, or a share rounded down, one at least. What all nodes lack is no fault of each.",
    )
    on_failure: Literal["drain", "reboot", "repair", "replace", "report"] | None = Field(
        default=None,
        description="What happens to a node that fails a check, never while a job runs on it. Left out: servers drain, and nodes of clouds and elastic pools are replaced. `drain`: it stays out of service. `repair`: it resets a GPU or restarts the fabric manager where that ends it, else it reboots. `report`: as `repair`, and a host with a broken part is reported to the cloud.",
    )


class Taint(Section):
    """A Kubernetes taint: pods that do not tolerate it are not scheduled on the node."""

    key: LabelKey = Field(description="Its key.")
    value: LabelValue = Field(default="", description="Its value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(default="NoSchedule", description="What happens to pods that do not tolerate it.")


class Pool(Section):
    """Compute nodes of one kind."""

    accelerator: str | None = Field(default=None, description="The GPU, by its name in the catalogue (`h100`). Default: no GPUs.")
    gpus_per_node: int | None = Field(default=None, ge=1, le=16, description="GPUs in each node.")
    machine: CatalogName | None = Field(
        default=None, description="A machine type of the target's catalogue (`p5.48xlarge`). Default: chosen by the accelerator."
    )
    machines: tuple[CatalogName, ...] = Field(
        default=(),
        strict=False,
        max_length=8,
        description="Machine types in order of preference. Jobs use the next one when the cloud has no capacity for the first.",
    )
    hosts: HostList | None = Field(
        default=None,
        description="Hosts of the inventory: the pool's nodes (`gpu-[001-016]`). With `nodes: {min}`, `up` continues while that many of them answer.",
    )
    nodes: (
        Annotated[
            Annotated[int, Short, Field(ge=1, le=MOST_NODES)] | Annotated[NodeRange, Long],
            ShortOrLong,
        ]
        | None
    ) = Field(default=None, validate_default=True, description="Number of nodes, or `{min, max}` for an elastic pool. Required, unless `hosts` names them.")
    capacity: Annotated[Annotated[BoughtAs, Short] | Annotated[Capacity, Long], ShortOrLong] = Field(
        default=CapacityKind.ON_DEMAND, description="The purchase option: a word, or a mapping with the `id` of the reservation."
    )
    fabric: Literal["required", "preferred", "none"] = Field(
        default="preferred",
        description="The fast network between GPUs of different nodes. If the machine has none, the blueprint is refused (`required`) or gets a warning (`preferred`).",
    )
    busbw_percent: int = Field(
        default=100,
        ge=1,
        le=100,
        description="What collectives of the pool must reach, as a percentage of the known floor (`fails below` of a plan). Every plan and report says so where it is below 100.",
    )
    placement: Literal["auto", "packed", "spread", "none"] = Field(
        default="auto",
        description="Placement of the nodes: `packed` for low latency, `spread` for fault tolerance. `auto` packs nodes that use a fabric unless the reservation has its own placement.",
    )
    scratch: Scratch | None = Field(default=None, description="The nodes' local NVMe disks. Default: not used.")
    scheduler: Literal["slurm", "kubernetes"] | None = Field(default=None, description="With `scheduler: both`: the scheduler of these nodes.")
    partition: Partition = Field(default=Partition())
    mig: dict[MigProfile, Annotated[int, Field(ge=1, le=7)]] = Field(
        default={}, max_length=20, description="MIG instances of each GPU, by profile: `{1g.10gb: 7}`. Default: whole GPUs."
    )
    health: Health = Field(default=Health())
    rolling: Rolling | None = Field(
        default=None,
        description="How many nodes may be out of service at once while kernel or drivers are installed in place, or Kubernetes is upgraded: a number, or a share of the pool (`10%`, the default), "
        "rounded down, one at least.",
    )
    labels: dict[LabelKey, LabelValue] = Field(
        default={}, max_length=100, description="Labels of the nodes: Kubernetes labels, and Slurm features `key=value`."
    )
    taints: tuple[Taint, ...] = Field(default=(), strict=False, max_length=100, description="Kubernetes taints of the nodes.")
    image: Identifier | None = Field(default=None, description="The id of your own image. Default: the image of the software profile.")
    cpus_per_node: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Logical processors of each node. In a cloud: the minimum, by which machines without GPUs are chosen. On bare metal: what hosts have that the catalogue "
        "does not know. On the target `local`: what nodes declare, to rehearse other machines.",
    )
    memory: Memory | None = Field(default=None, description="Memory of each node (`2 TiB`); used like `cpus_per_node`.")

    @field_validator("nodes", mode="before")
    @classmethod
    def _required_without_hosts(cls, given: Any, info: ValidationInfo) -> Any:
        if given is None and not info.data.get("hosts", True):
            raise PydanticCustomError("missing", "Field required")
        return given

    @property
    def range(self) -> NodeRange:
        if isinstance(self.nodes, NodeRange):
            return self.nodes
        count = self.nodes or len(hostlist.expand(self.hosts or ""))
        return NodeRange.model_construct(min=count, max=count)

    @property
    def is_elastic(self) -> bool:
        return isinstance(self.nodes, NodeRange) and self.nodes.min != self.nodes.max

    @property
    def bought(self) -> Capacity:
        return self.capacity if isinstance(self.capacity, Capacity) else Capacity(kind=self.capacity)
