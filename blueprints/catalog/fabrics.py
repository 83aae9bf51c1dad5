"""Fabrics: what carries GPU traffic, NCCL's settings for it, and the bus bandwidth that it must deliver."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from . import files
from .machines import MachineType, machine, machines

BUSBW_GBS_PER_GBIT = 0.125
"""A NIC's Gb/s in the GB/s that nccl-tests prints (nccl-tests doc/PERFORMANCE.md)."""
_UNITS = {"M": 1 << 20, "G": 1 << 30}
_BYTES_PER_GB, _US = 1e9, 1e-6
_PAIR = 2
"""Nodes of the smallest job over a fabric, on which most figures were measured."""
RDMA_PREFIX = "rdma/"
"""Of the resources of the RDMA shared device plugin, as it names them by default."""
_NODE, _DOMAIN = "nvlink", "nvlink-domain"


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    """What one collective delivers at one message size, in GB/s of bus bandwidth."""

    fabric: str
    machines: tuple[str, ...]
    nodes_min: int
    nodes_max: int | None
    """None: any number from `nodes_min` on."""
    collective: str
    """`all_reduce`, `all_gather` or `alltoall`."""
    size_bytes: int
    measured_nodes: int | None
    """How many nodes the typical rate was measured on; None: no measurement is published."""
    typical_gbs: float | None
    """The measured rate; None: no measurement is published."""
    warn_gbs: float | None
    floor_gbs: float
    """Less is a failure."""
    provisional: bool
    """One measurement, or only what somebody else demands: less than the floor is no proof."""
    source: str

    def fits(self, machine_name: str, nodes: int) -> bool:
        return machine_name in self.machines and self.nodes_min <= nodes and (self.nodes_max is None or nodes <= self.nodes_max)


@dataclasses.dataclass(frozen=True, slots=True)
class Fabric:
    name: str
    title: str
    plugin: str
    """NCCL's network plugin; empty: NCCL's own transport."""
    environment: Mapping[str, str]
    machine_environment: Mapping[str, Mapping[str, str]]
    device_interfaces: tuple[str, ...]
    """Kinds of interfaces that bring a device of this fabric; empty: nodes don't count their devices."""
    environment_script: str
    """A file that jobs source before the variables are set; empty: none."""
    daemon: str
    """A program that nodes run for each job over several nodes; empty: none."""
    daemon_arguments: str
    """Of the daemon, where a machine has none of its own."""
    machine_daemon_arguments: Mapping[str, str]
    log_line: str
    """Appears in NCCL's log (NCCL_DEBUG=INFO) when the fabric is used; empty: no line of the log shows it."""
    bad_log_lines: tuple[str, ...]
    """Appear when it isn't."""
    pod_link: str
    """The kind of link (`infiniband`, `ether`) by which NICs are found whose devices pods get; empty: pods get none."""
    direct: bool
    """Whether every connection shows GPUDirect RDMA in NCCL's log (`via NET/…/GDRDMA`)."""
    expected: tuple[Expectation, ...]
    source: str
    as_of: str
    note: str

    @property
    def pod_resource(self) -> str:
        """Name the resource by which a pod asks for the devices of this fabric (`rdma/ib_ndr`); empty: none. The plugin takes letters, digits and underscores."""
        return f"{RDMA_PREFIX}{self.name.replace('-', '_')}" if self.pod_link else ""

    def environment_for(self, machine_name: str) -> Mapping[str, str]:
        """Give the variables for jobs on nodes of one machine."""
        return {**self.environment, **self.machine_environment.get(machine_name, {})}

    def daemon_arguments_for(self, machine_name: str) -> str:
        """Give the daemon's arguments on nodes of one machine."""
        return self.machine_daemon_arguments.get(machine_name, self.daemon_arguments)


@dataclasses.dataclass(frozen=True, slots=True)
class Extrapolation:
    """How a figure is carried over to more nodes than it was measured on."""

    step_us: float
    """Of a ring, beside the time that a part of the message takes."""
    least_share: float
    """Of the measured figure: where the model leaves less, the rate is unknown."""
    source: str
    as_of: str

    def share(self, gbs: float, size_bytes: int, *, measured_gpus: int, gpus: int) -> float:
        """Say how much of a figure measured over some GPUs is left over more of them.

        The model is that of a ring: (n - 1) steps, each of a fixed time and the time of an n-th of the message.
        """
        step = self.step_us * _US * gbs * _BYTES_PER_GB / size_bytes
        return (1 + measured_gpus * step) / (1 + gpus * step)


@functools.cache
def extrapolation() -> Extrapolation:
    return Extrapolation(**files.mapping("fabrics")["extrapolation"])


@functools.cache
def fabrics() -> Mapping[str, Fabric]:
    """Give every fabric by name, NVLink included."""
    return {name: _fabric(name, entry) for name, entry in files.mapping("fabrics")["fabrics"].items()}


def expected_busbw(target: str, machine_name: str, nodes: int, *, collective: str | None = None) -> Expectation | None:
    """Say what a job over so many nodes must deliver, at the largest message that is known; None: the nodes have no fabric, or nothing is known of it.

    Without a measurement it is a share of the NICs' total rate per node, and provisional. Over more nodes than it was measured on, a figure is
    extrapolated as far as the model is near enough; beyond, nothing is known.

    Raises:
        KeyError: there is no such target or machine.
    """
    known = machine(target, machine_name)
    fabric = _fabric_between(known, nodes)
    if fabric is None:
        return None
    fitting = [entry for entry in fabrics()[fabric].expected if entry.fits(machine_name, nodes) and collective in (None, entry.collective)]
    largest = max(fitting, key=lambda entry: entry.size_bytes, default=None if fabric == _NODE else _share_of_nics(known, collective))
    return None if largest is None else _extrapolated(largest, known.gpus, nodes)


def is_known_for_fewer(target: str, machine_name: str, nodes: int) -> bool:
    """Say whether a rate is known for two nodes of a machine, and none for so many."""
    if nodes < _PAIR or machine_name not in machines(target):
        return False
    return expected_busbw(target, machine_name, nodes) is None and expected_busbw(target, machine_name, _PAIR) is not None


def _extrapolated(entry: Expectation, gpus: int, nodes: int) -> Expectation | None:
    """Give what a figure comes to over more nodes than it is of; None where the model leaves too little of it to be near."""
    rule = extrapolation()
    base = entry.measured_nodes or entry.nodes_min
    if nodes <= base:
        return entry
    share = rule.share(entry.typical_gbs or entry.floor_gbs, entry.size_bytes, measured_gpus=base * gpus, gpus=nodes * gpus)
    if share < rule.least_share:
        return None
    scaled = {name: round(value * share, 1) for name in ("typical_gbs", "warn_gbs", "floor_gbs") if (value := getattr(entry, name)) is not None}
    return dataclasses.replace(entry, **scaled)


def _fabric_between(known: MachineType, nodes: int) -> str | None:
    """Name what carries the traffic of GPUs on so many nodes."""
    if known.gpus == 0:
        return None
    if nodes == 1:
        return _NODE
    if known.domain_nodes is not None and nodes <= known.domain_nodes:
        return _DOMAIN
    return known.fabric


def _share_of_nics(known: MachineType, collective: str | None) -> Expectation | None:
    rule = files.mapping("fabrics")["fallback"]
    if collective not in (None, rule["collective"]) or known.fabric is None or not known.fabric_nics:
        return None
    return Expectation(
        fabric=known.fabric,
        machines=(known.name,),
        nodes_min=2,
        nodes_max=None,
        collective=rule["collective"],
        size_bytes=_bytes(rule["size"]),
        measured_nodes=None,
        typical_gbs=None,
        warn_gbs=None,
        floor_gbs=rule["floor_share"] * known.fabric_nics * known.fabric_nic_gbps * BUSBW_GBS_PER_GBIT,
        provisional=True,
        source=rule["source"],
    )


def _fabric(name: str, entry: Mapping[str, Any]) -> Fabric:
    read: dict[str, Any] = {
        "bad_log_lines": tuple(entry["bad_log_lines"]),
        "expected": tuple(_expectation(name, expected) for expected in entry["expected"]),
        "machine_environment": entry.get("machine_environment", {}),
        "device_interfaces": tuple(entry.get("device_interfaces", ())),
        "environment_script": entry.get("environment_script", ""),
        "daemon": entry.get("daemon", ""),
        "daemon_arguments": entry.get("daemon_arguments", ""),
        "machine_daemon_arguments": entry.get("machine_daemon_arguments", {}),
        "pod_link": entry.get("pod_link", ""),
        "direct": entry.get("direct", False),
    }
    return Fabric(name=name, **{**entry, **read})


def _expectation(fabric: str, entry: Mapping[str, Any]) -> Expectation:
    nodes_min, nodes_max = _nodes(entry["nodes"])
    return Expectation(
        fabric=fabric,
        machines=tuple(entry["machines"]),
        nodes_min=nodes_min,
        nodes_max=nodes_max,
        collective=entry["collective"],
        size_bytes=_bytes(entry["size"]),
        measured_nodes=entry.get("measured_on"),
        typical_gbs=entry.get("typical"),
        warn_gbs=entry.get("warn"),
        floor_gbs=entry["floor"],
        provisional=entry.get("provisional", False),
        source=entry["source"],
    )


def _nodes(given: int | list[int]) -> tuple[int, int | None]:
    """Read `2` (exactly), `[2]` (or more) and `[2, 18]`."""
    if isinstance(given, int):
        return given, given
    return given[0], given[1] if len(given) > 1 else None


def _bytes(text: str) -> int:
    """Read nccl-tests' sizes: `512M`, `16G`."""
    return int(text[:-1]) * _UNITS[text[-1]]
