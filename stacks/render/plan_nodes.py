"""The hosts, pools and fabric of a plan as tables. Pure."""

from collections.abc import Iterator

from blueprints import catalog
from blueprints.plan.estimate import CURRENCY, Estimate
from blueprints.spec import CapacityKind, ClusterSpec, Expectation, HostGroup, Machine, NodeSet

from . import cost, formatting
from .tables import Cell, Column, Shown, Table

MIB_PER_GIB = 1024
UNLIMITED = "UNLIMITED"  # as scontrol(1) writes it


_HOST_COLUMNS = (
    Column("hosts"),
    Column("nodes", right=True),
    Column("machine"),
    Column("CPUs", right=True),
    Column("memory", right=True),
    Column("GPUs each"),
    Column(f"{CURRENCY}/h", right=True),
)


def hosts(cluster: ClusterSpec, costs: Estimate) -> Table:
    """Write a row for every group of equal hosts."""
    sets = {node_set.hosts.name: node_set for node_set in cluster.node_sets}
    rows = [_host_row(group, sets.get(group.name) if group.role in ("compute", "worker") else None, costs) for group in cluster.host_groups]
    return Table(_HOST_COLUMNS, tuple(rows))


def _host_row(group: HostGroup, node_set: NodeSet | None, costs: Estimate) -> tuple[Shown, ...]:
    machine = group.machine
    part = costs.part("compute" if node_set else "access" if group.role == "access" else "control", group.name)
    nodes = f"{node_set.always}–{group.count}" if node_set and node_set.is_elastic else str(group.count)
    name = group.name if group.role == "worker" else group.hostlist  # a service's machines have names of its own
    return (name, nodes, machine.name, str(machine.cpus or ""), _memory(machine), _gpus(machine), cost.price(part))


def _memory(machine: Machine) -> str:
    return formatting.size(machine.memory_mib / MIB_PER_GIB) if machine.memory_mib else ""


def _gpus(machine: Machine) -> str:
    gpus = machine.gpus
    if gpus is None:
        return ""
    memory = f" {formatting.gpu_memory(gpus)}".rstrip()
    slices = f", each {', '.join(f'{cut.per_gpu} × {cut.profile}' for cut in gpus.mig)}" if gpus.mig else ""
    return f"{gpus.count} × {gpus.type}{memory}{slices}{' (simulated)' if gpus.simulated else ''}"


_POOL_COLUMNS = (
    Column("pool"),
    Column("scheduler"),
    Column("jobs"),
    Column("bought"),
    Column("placement"),
    Column("scratch"),
    Column("open to", detail=True),
    Column("NVLink domain", detail=True),
)


def pools(cluster: ClusterSpec) -> Table:
    """Write how nodes are used, bought and placed."""
    return Table(_POOL_COLUMNS, tuple((node_set.hosts.name, *_pool_row(node_set, cluster.schedulers)) for node_set in cluster.node_sets), merges=True)


def _pool_row(node_set: NodeSet, schedulers: tuple[str, ...]) -> tuple[Shown, ...]:
    machine, capacity, partition = node_set.hosts.machine, node_set.capacity, node_set.partition
    longest = "" if partition is None else "unlimited" if partition.max_time == UNLIMITED else f"up to {partition.max_time}"
    if partition is None and capacity.max_run:
        longest = f"up to {capacity.max_run}"  # no partition limits them, and the purchase does
    jobs = longest + (", default" if partition and partition.default else "")
    whose = "" if schedulers == ("slurm",) else node_set.scheduler.capitalize()  # where there is only Slurm, it is not named
    bought = "" if capacity.kind is CapacityKind.OWNED else f"{capacity.kind} {capacity.id or ''}".strip()
    size = f"{formatting.size(machine.scratch_gib)} at " if machine.scratch_gib else ""
    scratch = f"{size}{node_set.scratch_mount}" if node_set.scratch_mount else ""
    taints = [f"{taint.key}={taint.value}:{taint.effect}" for taint in node_set.taints]
    open_to = formatting.some(partition.accounts if partition else taints, most=5)
    domain = f"{machine.domain_nodes} nodes" if machine.domain_nodes else ""
    return (whose, jobs, bought, "" if node_set.placement == "none" else node_set.placement, scratch, open_to, domain)


def chosen(cluster: ClusterSpec) -> Iterator[tuple[str, Shown]]:
    """Say why each machine was chosen, once for all node sets with the same reason; a target that is the machine left no choice."""
    names: dict[str, list[str]] = {}
    for one in cluster.node_sets:
        if one.chosen and one.hosts.machine.name != cluster.target:
            names.setdefault(one.chosen, []).append(one.hosts.name)
    for reason, several in names.items():
        yield formatting.named(several), Cell(reason, "soft")


_FABRIC_COLUMNS = (
    Column("group"),
    Column("interfaces each"),
    Column("IPs", right=True),
    Column("fabric"),
    Column("Gb/s per GPU", right=True),
    Column("expected busbw"),
    Column("warns below", right=True),
    Column("fails below", right=True),
)


def fabric(cluster: ClusterSpec) -> Table:
    """Write the interfaces of nodes, their fabric, and the bandwidth that acceptance requires."""
    shown = (node_set for node_set in cluster.node_sets if node_set.fabric or node_set.hosts.machine.nics)
    return Table(_FABRIC_COLUMNS, tuple((node_set.hosts.name, *_fabric_row(node_set, cluster.target)) for node_set in shown), merges=True)


def extrapolations(cluster: ClusterSpec) -> Iterator[tuple[str, Shown]]:
    """Say which measurements figures for more nodes come from, and by which formula."""
    found: dict[tuple[int, str], list[str]] = {}
    for node_set in cluster.node_sets:
        expected = node_set.fabric.expected if node_set.fabric else None
        if expected and (base := expected.extrapolated_from):
            found.setdefault((base, expected.source), []).append(node_set.hosts.name)
    for (base, source), groups in found.items():
        title = known.title if (known := catalog.sources().get(source)) else source  # a record can name a source that the catalogue has dropped
        yield formatting.named(groups), Cell(f"extrapolated from a measurement on {formatting.plural(base, 'node')}: {title}", "soft")
    if found:
        rule = catalog.extrapolation()
        formula = f"(1 + m·s) / (1 + n·s) of itself over n, s = {rule.step_us:g} µs × rate / message size"
        yield "formula", Cell(f"a rate measured over m GPUs comes to {formula} ({catalog.source(rule.source).title})", "soft")


def _unknown(node_set: NodeSet, target: str) -> str:
    is_too_large = catalog.is_known_for_fewer(target, node_set.hosts.machine.name, node_set.hosts.count)
    return "unknown at this size" if is_too_large else "no figure is known"


def _fabric_row(node_set: NodeSet, target: str) -> tuple[Shown, ...]:
    nics, fabric = node_set.hosts.machine.nics, node_set.fabric
    kinds = {nic.kind: sum(other.kind == nic.kind for other in nics) for nic in nics}
    interfaces = " + ".join(f"{count} × {kind}" for kind, count in kinds.items())
    addresses = str(sum(nic.addresses for nic in nics)) if nics else ""
    if fabric is None:
        return (interfaces, addresses, "none", "", "", "", "")
    expected = _expected(fabric.expected) if fabric.expected else (_unknown(node_set, target), "", "")
    title = f"{fabric.title}, {'required' if fabric.required else 'preferred'}, {formatting.counted(fabric.nics, 'interfaces')}"
    return (interfaces, addresses, title, f"{fabric.gbps_per_gpu:g}", *expected)


def _expected(expected: Expectation) -> tuple[Shown, ...]:
    what = f"{formatting.collective(expected.collective)} of {formatting.size(expected.size_bytes / 2**30)}, {expected.nodes} nodes"
    typical = f": {expected.typical_gbs:g} GB/s" if expected.typical_gbs is not None else ""
    warn = f"{expected.warn_gbs:g} GB/s" if expected.warn_gbs is not None else ""
    measured = formatting.measurement(expected)
    marks = ", ".join(mark for mark in ("provisional" if expected.provisional else "", measured) if mark)
    return (f"{what}{typical}{f' ({marks})' if marks else ''}", warn, f"{expected.floor_gbs:g} GB/s{formatting.lowered(expected)}")
