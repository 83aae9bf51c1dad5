"""The report: what a cluster is, has, costs, needs and lacks, in the words of those who decide. Pure."""

from collections.abc import Iterator, Sequence

from blueprints import catalog
from blueprints.estimate import Estimate
from blueprints.finding import Finding
from blueprints.quotas import QuotaNeed
from blueprints.spec import ClusterSpec, FileSystem, Late, NodeSet, Window

from .. import formatting, words
from ..picture import pools, topology
from . import doubts, money
from .contents import Figure, Report, Section, table

_ON_DELETE = {"keep": "the data stays", "snapshot": "a last snapshot stays", "delete": "the data is deleted"}


def report(
    spec: ClusterSpec,
    *,
    audience: str,
    findings: Sequence[Finding],
    accepted: Sequence[Finding],
    estimate: Estimate,
    quotas: Sequence[QuotaNeed],
    uncounted: Sequence[str],
) -> Report:
    """Put a report together.

    Args:
        audience: for whom the blueprint is, in its own words; may be empty.
        accepted: findings that the blueprint accepts for a time.
        quotas: what the account must be allowed to have.
        uncounted: machines that no known quota counts.
    """
    sections = [
        _pools(spec),
        money.section(estimate),
        _bandwidth(spec),
        _storage(spec),
        _access(spec),
        _network(spec),
        _quotas(quotas, uncounted),
        doubts.findings(findings, accepted),
        doubts.reality(spec),
        _software(spec),
    ]
    target = catalog.target(spec.target)
    return Report(
        title=spec.name,
        subtitle=", ".join(word for word in (target.title, spec.network.region) if word),
        description=spec.description,
        audience=audience,
        figures=_figures(spec, estimate),
        sections=tuple(section for section in sections if section),
    )


def _figures(spec: ClusterSpec, estimate: Estimate) -> tuple[Figure, ...]:
    kinds = {
        f"{words.gpu(one.hosts.machine.gpus)}{', simulated' if one.hosts.machine.gpus.simulated else ''}" for one in spec.node_sets if one.hosts.machine.gpus
    }
    size = sum(entry.size_gib or 0 for entry in spec.storage)
    elastic = "at most" if any(one.is_elastic for one in spec.node_sets) else ""
    found = [
        Figure(words.count(pools.nodes(spec)), "nodes", elastic),
        Figure(words.count(pools.gpus(spec)), "GPUs", words.some(sorted(kinds), most=3)),
        money.figure(estimate),
        Figure(formatting.size(size), "shared storage", words.plural(len(spec.storage), "file system")) if size else None,
    ]
    return tuple(figure for figure in found if figure)


# --- Pools -----------------------------------------------------------------------------------------------------------------


def _pools(spec: ClusterSpec) -> Section:
    rows = [_pool_row(one) for one in spec.node_sets]
    columns = "Pool | #Nodes | Machine | GPUs of each | Bought | Between the GPUs | Scheduling"
    why = tuple(f"Why {one.hosts.name} is {one.hosts.machine.name}: {one.chosen}." for one in spec.node_sets if one.chosen)
    return Section("pools", "Pools", ("The compute nodes that jobs run on.",), (table("Pools", columns, rows),), points=why)


def _pool_row(one: NodeSet) -> tuple[str, ...]:
    machine = one.hosts.machine
    gpus = machine.gpus
    cards = f"{gpus.count} × {words.gpu(gpus)}{' (simulated)' if gpus.simulated else ''}" if gpus else "none"
    sliced = f", each cut into {words.mig(gpus)}" if gpus and gpus.mig else ""
    domain = f", NVLink domains of {machine.domain_nodes} nodes" if machine.domain_nodes else ""
    joined = one.fabric.title if one.fabric else "ordinary network"
    placed = words.placement(one)
    return (
        one.hosts.name,
        words.between(one.always, one.hosts.count),
        f"{machine.name}: {words.machine(machine)}",
        f"{cards}{sliced}{domain}",
        "owned" if one.capacity.kind == "owned" else words.capacity(one),
        f"{joined}, {placed}" if placed else joined,
        _scheduling(one),
    )


def _scheduling(one: NodeSet) -> str:
    if one.partition is None:
        kept = words.some((f"{taint.key}={taint.value}:{taint.effect}" for taint in one.taints), most=3)
        return f"Kubernetes; {kept}" if kept else "Kubernetes"
    limit = "jobs of any length" if one.partition.max_time == "UNLIMITED" else f"jobs of at most {one.partition.max_time}"
    default = ", the default" if one.partition.default else ""
    accounts = f", only {words.some(one.partition.accounts, most=5)}" if one.partition.accounts else ""
    return f"partition {one.partition.name}{default}: {limit}{accounts}"


# --- Bandwidth, storage ------------------------------------------------------------------------------------------------------


def _bandwidth(spec: ClusterSpec) -> Section | None:
    rows = [row for one in spec.node_sets for row in _bandwidth_row(one)]
    if not rows:
        return None
    lead = "What a collective over the nodes must reach in acceptance, as nccl-tests counts it (bus bandwidth). Less than the floor is a failure."
    columns = "Pool | Network | #Per GPU | Collective | #Nodes | #Message | #Typical | #Floor"
    return Section("bandwidth", "Expected bandwidth", (lead,), (table("Expected bandwidth", columns, rows),))


def _bandwidth_row(one: NodeSet) -> Iterator[tuple[str, ...]]:
    if one.fabric is None:
        return
    head = (one.hosts.name, one.fabric.title, words.rate(one.fabric.gbps_per_gpu))
    expected = one.fabric.expected
    if expected is None:
        yield (*head, "nothing is known", "", "", "", "")
        return
    doubt = " (provisional)" if expected.provisional else ""
    typical = words.bandwidth(expected.typical_gbs) + words.measured(expected) if expected.typical_gbs is not None else "unknown"
    yield (
        *head,
        formatting.collective(expected.collective),
        words.count(expected.nodes),
        words.message(expected.size_bytes),
        typical,
        words.bandwidth(expected.floor_gbs) + doubt,
    )


def _storage(spec: ClusterSpec) -> Section | None:
    if not spec.storage:
        return None
    columns = "Mounted at | What | #Size | #Throughput | What protects it | When the stack is removed"
    rows = [_storage_row(entry) for entry in spec.storage]
    database = f"The accounting database is {spec.database.product or spec.database.placement}, "
    guarded = "and a change that would delete it is refused." if spec.database.protect else "and it goes with the stack."
    paragraphs = (database + guarded,) if spec.scheduler != "kubernetes" else ()
    return Section("storage", "Storage, and what protects it", paragraphs, (table("Storage", columns, rows),))


def _storage_row(entry: FileSystem) -> tuple[str, ...]:
    product = entry.product or ("exists already" if entry.source else entry.kind)
    what = f"{product}{f' {entry.source}' if entry.source else ''}{' (simulated)' if entry.simulated else ''}"
    guards = [
        "deleting it is refused" if entry.protect else "",
        words.plural(entry.backup_days, "daily backup") if entry.backup_days else "no backups",
        "encrypted" if entry.encrypted else "not encrypted",
        "files are lost with a server" if entry.durability == "scratch" else "",
        f"exchanged with {entry.exchange.bucket}" if entry.exchange else "",
    ]
    size = formatting.size(entry.size_gib) if entry.size_gib else "as much as is stored"
    speed = words.throughput(entry.throughput_mbs) if entry.throughput_mbs else "unknown"
    ending = "it stays, protected" if entry.protect else _ON_DELETE.get(entry.on_delete, entry.on_delete)
    return (entry.mount, what, size, speed, ", ".join(guard for guard in guards if guard), ending)


# --- Access, network, quotas ---------------------------------------------------------------------------------------------------


def _access(spec: ClusterSpec) -> Section:
    login = f"{words.plural(spec.access.count, 'login node')}{' behind a load balancer' if spec.login.load_balancer else ''}"
    directory = f"; more come from {spec.login.ldap_uri}" if spec.login.ldap_uri else ""
    terms = [
        ("Way in", login if spec.access.count else f"no login nodes; the API of {spec.kubernetes.product}" if spec.kubernetes else "no login nodes"),
        ("Allowed from", topology.allowed(spec)),
        ("Users", f"{words.plural(len(spec.users), 'user')} in the blueprint{directory}"),
        ("Administrators", words.some((user.name for user in spec.users if user.admin), most=10) or "none"),
        ("Maintenance", "; ".join(_window(window) for window in spec.maintenance) or "no times set"),
        ("Monitoring", f"metrics kept for {words.plural(spec.monitoring.retention_days, 'day')}" if spec.monitoring.metrics else "no metrics are collected"),
    ]
    rows = [
        (one.name, one.description, words.some(one.users, most=6) or "none", str(one.share), _limits(one.most_gpus, one.most_nodes)) for one in spec.accounts
    ]
    tables = (table("Accounts", "Account | What for | Users | #Share | Limits", rows),) if rows else ()
    return Section("access", "Access", tables=tables, terms=tuple(terms))


def _window(window: Window) -> str:
    every = "every" if window.week == "every" else f"the {window.week}"
    return f"{every} {window.weekday} from {window.start} UTC for {words.plural(window.hours, 'hour')}"


def _limits(gpus: int | None, nodes: int | None) -> str:
    limits = [words.plural(gpus, "GPU") if gpus is not None else "", words.plural(nodes, "node") if nodes is not None else ""]
    return ", ".join(limit for limit in limits if limit) or "none"


def _network(spec: ClusterSpec) -> Section:
    network = spec.network
    terms = [
        ("Addresses", f"{network.cidr}{f', in the existing {network.existing}' if network.existing else ''}"),
        ("Names", f"hosts end in {network.domain}"),
        ("Way out", _way_out(spec)),
        ("Cloud services", "reached inside the network" if network.private_endpoints else ""),
    ]
    columns = "Subnet | Role | Addresses | Zone | #Needed | #Usable"
    rows = [
        (
            one.name,
            one.role,
            words.known(one.cidr),
            one.zone.what if isinstance(one.zone, Late) else one.zone,
            words.count(one.needed),
            words.count(one.usable) if one.usable is not None else "unknown",
        )
        for one in network.subnets
    ]
    tables = (table("Subnets", columns, rows),) if rows else ()
    return Section("network", "Network", tables=tables, terms=tuple(term for term in terms if term[1]))


def _way_out(spec: ClusterSpec) -> str:
    if catalog.target(spec.target).hosts == "site":
        return "the site's own"
    return "through address translation" if spec.network.egress == "nat" else "none"


def _quotas(quotas: Sequence[QuotaNeed], uncounted: Sequence[str]) -> Section | None:
    if not quotas and not uncounted:
        return None
    raised = {True: "yes", False: "no", None: "unknown"}
    columns = "Quota | =Code | #Needed | #A new account has | To ask for | Why"
    rows = [
        (
            one.name,
            one.code,
            formatting.counted(one.needed, one.unit),
            words.count(one.default) if one.default is not None else "unknown",
            raised[one.to_raise],
            words.some(one.takers, most=5),
        )
        for one in quotas
    ]
    lead = "What the account must be allowed to have. Ask early: an answer can take days."
    missing = (f"No known quota counts {words.some(uncounted, most=8)}; ask the cloud.",) if uncounted else ()
    return Section("quotas", "Quotas to ask for", (lead, *missing), (table("Quotas", columns, rows),) if rows else ())


def _software(spec: ClusterSpec) -> Section:
    software = spec.software
    named = [("Profile", software.profile), ("System", software.os), ("Slurm", software.slurm), ("Kubernetes", software.kubernetes), *software.versions]
    return Section("software", "Software", ("One set of versions that belong together.",), terms=tuple((name, value) for name, value in named if value))
