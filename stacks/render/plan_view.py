"""All that a plan shows of a cluster, described once for every renderer: terminal, page and JSON. Pure.

Its length grows with the pools, not with the nodes.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from blueprints import catalog, message_text
from blueprints.plan import estimate, quotas
from blueprints.plan.estimate import Estimate
from blueprints.plan.quotas import QuotaNeed
from blueprints.spec import Account, ClusterSpec, Kubernetes, Late, Slurm, Software

from . import cost, formatting, plan_nodes, plan_storage, pool_sizes
from .tables import Cell, Column, Facts, Section, Shown, Table

SITE = "site"
"""Where hosts and their network exist before the stack (`catalog.Target.hosts`)."""
ANY = "any"
"""Of an architecture: whichever the machine has."""


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """One of the few numbers at the top of a page."""

    value: str
    label: str
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class PlanView:
    """What a plan shows. Sections without content are shown by no renderer."""

    title: str
    place: str
    description: str
    figures: tuple[Figure, ...]
    about: Section
    hosts: Section
    pools: Section
    fabric: Section
    network: Section
    storage: Section
    people: Section
    quotas: Section
    cost: Section
    late: Section
    simulated: Section
    cluster: ClusterSpec
    estimate: Estimate
    needs: tuple[QuotaNeed, ...]
    uncounted: tuple[str, ...]
    """Machines that no known quota counts."""
    known_later: tuple[str, ...]
    """What only the account or the running cluster knows."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections in the order in which they are read."""
        return (
            self.about, self.hosts, self.pools, self.fabric, self.network, self.storage, self.people, self.quotas, self.cost, self.late, self.simulated,
        )  # fmt: skip


def view(cluster: ClusterSpec) -> PlanView:
    """Describe the plan of a cluster."""
    costs = estimate.estimate(cluster)
    known_later = tuple(dict.fromkeys(_late_in(dataclasses.replace(cluster, site=None))))  # thousands of hosts, and nothing of them is known later
    needs, uncounted = quotas.needed(cluster), quotas.unknown(cluster)
    return PlanView(
        title=cluster.name,
        place=catalog.target(cluster.target).title + (f" in {cluster.network.region}" if cluster.network.region else ""),
        description=cluster.description,
        figures=tuple(_figures(cluster, costs)),
        about=Section(_title(cluster), (Facts(tuple(_about(cluster))),)),
        hosts=Section("Hosts", (plan_nodes.hosts(cluster, costs),)),
        pools=Section("Pools", (plan_nodes.pools(cluster), Facts(tuple(plan_nodes.chosen(cluster))))),
        fabric=Section("Interfaces and fabric", (plan_nodes.fabric(cluster), Facts(tuple(plan_nodes.extrapolations(cluster)))), lead=_bandwidth(cluster)),
        network=Section("Network", (Facts(tuple(_network(cluster))), _subnets(cluster))),
        storage=Section("Storage", (plan_storage.table(cluster, costs),)),
        people=Section("People", (Facts(tuple(_people(cluster))), _accounts(cluster))),
        quotas=Section("Quotas needed", (quota_table(needs), Facts(tuple(("unknown", f"no known quota counts {name}") for name in uncounted))), lead=_QUOTAS),
        cost=Section(cost.title(costs), (cost.sums(costs), cost.parts(costs), Facts(tuple(cost.remarks(costs))), cost.sources(costs))),
        late=Section("Known later", (Facts(tuple(("", what) for what in known_later)),)),
        simulated=Section("Simulated", (Facts(tuple(("", sentence) for sentence in cluster.simulated)),)),
        cluster=cluster,
        estimate=costs,
        needs=needs,
        uncounted=uncounted,
        known_later=known_later,
    )


_BANDWIDTH = "Acceptance measures the bus bandwidth of each collective as nccl-tests count it, and fails below the floor."
_NOT_ON_KUBERNETES = "On Kubernetes, this version does not measure it: the figures are what to expect."
_QUOTAS = "The account needs these quotas. Ask for them early: an answer can take days."


def _bandwidth(cluster: ClusterSpec) -> str:
    """Say who judges the bandwidth."""
    schedulers = {one.scheduler for one in cluster.node_sets if one.fabric}
    return " ".join([*([_BANDWIDTH] if "slurm" in schedulers else []), *([_NOT_ON_KUBERNETES] if "kubernetes" in schedulers else [])])


def _figures(cluster: ClusterSpec, costs: Estimate) -> Iterator[Figure]:
    kinds = {f"{formatting.gpu(gpus)}{', simulated' if gpus.simulated else ''}" for one in cluster.node_sets if (gpus := one.hosts.machine.gpus)}
    yield Figure(formatting.count(pool_sizes.nodes(cluster)), "nodes", "at most" if any(one.is_elastic for one in cluster.node_sets) else "")
    yield Figure(formatting.count(pool_sizes.gpus(cluster)), "GPUs", formatting.some(sorted(kinds), most=3))
    if figure := cost.figure(costs):
        yield Figure(*figure)
    if size := sum(entry.size_gib or 0 for entry in cluster.storage):
        yield Figure(formatting.size(size), "shared storage", formatting.plural(len(cluster.storage), "file system"))


def _late_in(value: Any) -> Iterator[str]:
    if isinstance(value, Late):
        yield value.what
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _late_in(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from _late_in(part)


def _title(cluster: ClusterSpec) -> str:
    place = cluster.network.region and f" in {cluster.network.region}"
    return f"{cluster.name} on {catalog.target(cluster.target).title}{place}" + (f": {cluster.description}" if cluster.description else "")


def _about(cluster: ClusterSpec) -> Iterator[tuple[str, Shown]]:
    software = cluster.software
    if planned := planned_only(cluster):
        yield "", Cell(planned, "care")
    versions = [f"{catalog.part_name(name)} {version}" for name, version in software.versions if name not in ("slurm", "kubernetes")]
    if cluster.training:
        yield "training", f"jobs of {cluster.training.product}, in container images of their own; it starts machines for a job and ends them with it"
    else:
        yield "software", ", ".join([" ".join([software.profile, *_beside(software)]), *_schedulers(cluster), *versions])
        yield "", _tested(software.tested_on)
    if cluster.slurm:
        yield "control", _control(cluster.slurm)
    if cluster.kubernetes:
        yield from _kubernetes(cluster.kubernetes)
    if cluster.slurm or cluster.access.count:
        yield "access", _access(cluster)
    if cluster.services:
        yield "services", ", ".join(service.product if service.count == 1 else f"{service.count} × {service.product}" for service in cluster.services)
    if cluster.maintenance:
        windows = [f"{window.week} {window.weekday} from {window.start} UTC for {window.hours} h" for window in cluster.maintenance]
        # Only servers get kernel and drivers in place; instances get them with their image.
        rolls = ["rolls of kernel and drivers wait for a window, or for `up --roll-now`"] if cluster.site else []
        yield "maintenance", "; ".join([*windows, *rolls])
    if cluster.monitoring.metrics:
        shown = ", with dashboards" if cluster.monitoring.dashboards else ""
        told = f"; alerts to {cluster.monitoring.alert_webhook}" if cluster.monitoring.alert_webhook else ""
        yield "monitoring", f"metrics for {cluster.monitoring.retention_days} days{shown}{told}"


def _offered(offering: catalog.Offering) -> str:
    return offering.title or f"{offering.scheduler.capitalize()} (on hosts of the stack)"


def planned_only(cluster: ClusterSpec) -> str:
    """Name what this version provisions when it can't provision this cluster: other schedulers or profiles on its target; else empty."""
    known = catalog.target(cluster.target)
    if set(cluster.offerings) <= known.built.keys():
        built_here = known.built_for(cluster.offerings)
        provisioned, most = built_here.software, built_here.kubernetes_control_max
        members = cluster.kubernetes.control if cluster.kubernetes else None
        if members and members.count > most:
            return f"planned only: this version provisions a Kubernetes control plane of {'one host' if most == 1 else f'{most} hosts'}, not of {members.count}"
        if cluster.software.profile in provisioned:
            return ""
        profiles = message_text.listed(f"`{name}`" for name in provisioned)
        kinds = "software profiles" if len(provisioned) > 1 else "the software profile"
        return f"planned only: this version provisions {kinds} {profiles} on {known.title}"
    offered = message_text.listed(dict.fromkeys(_offered(catalog.offering(name)) for name in known.built))
    return f"planned only: this version provisions {offered} on {known.title}"


def _beside(software: Software) -> Iterator[str]:
    """Say of a profile what its name doesn't."""
    beside = [word for word in (software.os, "" if software.arch == ANY else software.arch) if word and word not in software.profile]
    if beside:
        yield f"({', '.join(beside)})"


def _tested(tested_on: str) -> Shown:
    if not tested_on:
        return Cell("untested: this set of versions has never run", "care")
    return Cell("has run on simulated hosts" if tested_on == "simulated" else f"has run on {tested_on}", "soft")


def _schedulers(cluster: ClusterSpec) -> Iterator[str]:
    if cluster.slurm and cluster.software.slurm:
        yield f"Slurm {cluster.software.slurm}"
    if cluster.kubernetes and cluster.kubernetes.version:
        yield f"Kubernetes {cluster.kubernetes.version}"


def _kubernetes(kubernetes: Kubernetes) -> Iterator[tuple[str, Shown]]:
    """Write the control plane, its addresses, and what is installed in the cluster."""
    hosts, version = kubernetes.control, catalog.kubernetes_versions().get(kubernetes.version)
    supported = f", supported until {version.end_of_support}" if version else ""
    if hosts is None:
        yield "kubernetes", f"{kubernetes.product} {kubernetes.version}".strip()
    else:
        members = "one host" if hosts.count == 1 else f"{hosts.count} hosts with etcd on each"
        yield "kubernetes", f"Kubernetes {kubernetes.version} on {hosts.hostlist} ({members}){supported}"
    if kubernetes.endpoint:
        yield "API server", f"https://{kubernetes.endpoint}"
    if kubernetes.pod_cidr:
        yield "pods", f"{kubernetes.pod_cidr} by {kubernetes.pod_network}, services {kubernetes.service_cidr}"
        yield "network policies", formatting.policy_enforcement(kubernetes)
    if kubernetes.load_balancer_cidr:
        yield "load balancers", f"{kubernetes.load_balancer_cidr}, for services of type LoadBalancer"
    if kubernetes.secondary_networks:
        yield "secondary networks", formatting.secondary_networks(kubernetes)
    if kubernetes.addons:
        yield "add-ons", ", ".join(f"{one.name} {one.version}" for one in kubernetes.addons)
    if kubernetes.kwok_nodes:
        yield "kwok nodes", formatting.kwok_nodes(kubernetes)
    if kubernetes.registry:
        yield "images", f"from {kubernetes.registry}"


def _control(slurm: Slurm) -> str:
    kind = f"{'protected ' if slurm.database.protect else ''}{slurm.database.placement}"
    database = f"accounting in {'an' if kind.startswith('e') else 'a'} {kind} database"
    product = f" ({slurm.database.product})" if slurm.database.product else ""
    who = f"Slurm on {slurm.control.hostlist}" if slurm.control else slurm.product
    return f"{who}, {database}{product}"


def _access(cluster: ClusterSpec) -> str:
    if not cluster.access.count:
        return "no login nodes"
    nodes = f"{cluster.access.count} login node{'' if cluster.access.count == 1 else 's'}"
    address = f" at {cluster.network.balancer_address}" if cluster.network.balancer_address else ""
    front = f" behind a load balancer{address}" if cluster.login.load_balancer else ""
    if cluster.login.tunnel and (tunnel := catalog.target(cluster.target).tunnel):
        front = f" through {tunnel.service}"
    allowed = (
        f"from {formatting.named(cluster.login.allowed_cidrs)}"
        if cluster.login.allowed_cidrs
        else "by the rights of who connects"
        if cluster.login.tunnel
        else "from the cluster's own network only"
    )
    known = catalog.target(cluster.target).os_login
    front += f", {known} decides who logs in" if cluster.login.os_login else ""
    directory = f"; users of {cluster.login.ldap_uri} too" if cluster.login.ldap_uri else ""
    return f"{nodes}{front}, {allowed}{directory}"


def _network(cluster: ClusterSpec) -> Iterator[tuple[str, Shown]]:
    network = cluster.network
    if cluster.training:
        reached = " They reach the file systems in the network below." if network.subnets else ""
        yield "workers", f"in a network of {cluster.training.product}, in a zone of {network.region} that it chooses for each job.{reached}"
        if not network.cidr and not network.existing:
            return
    zones = f", {'zone' if len(network.zones) == 1 else 'zones'} {formatting.named(network.zones)}" if network.zones else ""
    if not network.cidr and not network.existing:
        yield "hosts", f"in the site's own network{zones}, names in {network.domain}"
        return
    if catalog.target(cluster.target).hosts == SITE:
        yield network.cidr, f"the site's own network, names in {network.domain}"
        return
    kind = f"existing {network.existing}" if network.existing else "created by the stack"
    if network.existing:
        is_divided = all(isinstance(one.cidr, str) for one in network.subnets)
        kind += f", {'new subnets of it' if is_divided else 'the subnets below'}, no router or gateway created{', no firewall rules either' if network.host_project else ''}"
    out = {"nat": "out through address translation", "none": "no way out"}.get(network.egress, network.egress)
    endpoints = ", private endpoints" if network.private_endpoints else ""
    yield network.cidr or "hosts", f"{kind}{zones}, {out}{endpoints}, names in {network.domain}"
    if given := [f"{group.prefix} {group.first_address}" for group in cluster.host_groups if group.first_address]:
        yield "first addresses", formatting.named(given)


def _subnets(cluster: ClusterSpec) -> Table:
    columns = (Column("subnet"), Column("for"), Column("addresses"), Column("zone"), Column("needed", right=True), Column("usable", right=True))
    rows = [
        (
            subnet.name,
            f"{subnet.role} ({subnet.interface})" if subnet.interface else subnet.role,
            _or_late(subnet.cidr),
            _or_late(subnet.zone),
            f"{subnet.needed:,}",
            "unknown" if subnet.usable is None else f"{subnet.usable:,}",
        )
        for subnet in cluster.network.subnets
    ]
    return Table(columns, tuple(rows))


def _people(cluster: ClusterSpec) -> Iterator[tuple[str, Shown]]:
    if cluster.accounts:
        yield (
            "accounts",
            formatting.named([f"{account.name} ({len(account.users)} user{'' if len(account.users) == 1 else 's'})" for account in cluster.accounts]),
        )
    if cluster.users:
        yield "users", formatting.named([f"{user.name}{' (administrator)' if user.admin else ''}" for user in cluster.users])
    if qualities := next((one.qos for one in (cluster.slurm, cluster.kubernetes) if one), ()):
        yield "qos", formatting.named([f"{qos.name} (priority {qos.priority})" for qos in qualities])


def _accounts(cluster: ClusterSpec) -> Table:
    columns = (Column("account"), Column("purpose"), Column("users"), Column("share", right=True), Column("limits"))
    return Table(columns, tuple(_account_row(one) for one in cluster.accounts), caption="Accounts", detail=True)


def _account_row(account: Account) -> tuple[Shown, ...]:
    limits = [
        formatting.plural(account.most_gpus, "GPU") if account.most_gpus is not None else "",
        formatting.plural(account.most_nodes, "node") if account.most_nodes is not None else "",
    ]
    return (account.name, account.description, formatting.some(account.users, most=6), str(account.share), ", ".join(filter(None, limits)) or "none")


_QUOTA_COLUMNS = (
    Column("quota"),
    Column("code"),
    Column("needed", right=True),
    Column("new accounts have", right=True),
    Column("to ask for", detail=True),
    Column("for"),
)


def quota_table(needs: Sequence[QuotaNeed]) -> Table:
    return Table(_QUOTA_COLUMNS, tuple(_quota_row(need) for need in needs))


def _quota_row(need: QuotaNeed) -> tuple[Shown, ...]:
    needed = Cell(formatting.counted(need.needed, need.unit), "care" if need.to_raise else "")
    default = "unknown" if need.default is None else f"{need.default:,}"
    return (need.name, need.code, needed, default, {True: "yes", False: "no", None: "unknown"}[need.to_raise], formatting.named(need.takers))


def _or_late(value: str | Late) -> str:
    return "known later" if isinstance(value, Late) else value
