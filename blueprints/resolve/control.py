"""The cluster's own hosts and services: controllers, login nodes, Kubernetes control plane, accounting database, services of the cloud."""

import ipaddress
from collections.abc import Sequence

from .. import addresses, catalog, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from . import capacity, counts, fabric, machines, people, rehearsal, site
from . import kubernetes as kubernetes_parts
from .context import Context

LOAD_BALANCER, NAT_GATEWAY, PUBLIC_ADDRESS = "load-balancer", "nat-gateway", "public-ipv4"
CONTROL_PLANE, MANAGED_SLURM, DATABASE = "kubernetes", "managed-slurm", "database"
"""Names of services in the catalogue's price lists."""

_OWN_HOSTS = spec.Capacity(CapacityKind.ON_DEMAND)


def slurm(context: Context, node_sets: Sequence[spec.NodeSet]) -> spec.Slurm | None:
    """Resolve Slurm with its nodes; None for clusters without it.

    Args:
        node_sets: the node sets of all schedulers.
    """
    _check_managed(context)
    if counts.SLURM not in counts.schedulers(context):
        return None
    offering, count = counts.slurm_offering(context), counts.controllers(context)
    return spec.Slurm(
        run_by=offering.name,
        product=offering.title,
        control=spec.HostGroup("control", "control", "control", count, "", _control_machine(context, counts.SLURM), site.members(context, *site.CONTROL))
        if count
        else None,
        database=_database(context),
        qos=people.qualities(context.blueprint),
        node_sets=tuple(one for one in node_sets if one.partition is not None),
        state_on=site.state_on(context, controllers=count),
    )


def access(context: Context) -> spec.HostGroup:
    """Resolve the login nodes."""
    wanted = context.blueprint.access.machine
    machine = _own_machine(context, wanted, context.target.login_machines.get(context.architecture, ""), ("access", "machine"))
    return spec.HostGroup("access", "access", "login", counts.login_nodes(context), "", machine, site.members(context, *site.ACCESS))


def kubernetes(context: Context, node_sets: Sequence[spec.NodeSet], software: spec.Software) -> spec.Kubernetes | None:
    """Resolve Kubernetes with its nodes; None for clusters without it."""
    if counts.KUBERNETES not in counts.schedulers(context):
        return None
    count = counts.kubernetes_hosts(context)
    # With two schedulers, `control.hosts` names Slurm's controllers.
    named = site.members(context, *site.CONTROL) if context.blueprint.scheduler == counts.KUBERNETES else ""
    hosts = spec.HostGroup("kubernetes", "kubernetes", "kubernetes", count, "", _control_machine(context, counts.KUBERNETES), named) if count else None
    offering = counts.kubernetes_offering(context)
    own = tuple(one for one in node_sets if one.partition is None)
    pods, services_range = kubernetes_parts.ranges(context)
    asked = context.blueprint.kubernetes
    return spec.Kubernetes(
        run_by=offering.name,
        product=offering.title or counts.HOSTS,
        version=kubernetes_parts.version(context, software),
        control=hosts,
        node_sets=own,
        pod_cidr=pods,
        service_cidr=services_range,
        pod_network="" if offering.is_managed else asked.pod_network,
        registry=asked.registry or "",
        addons=kubernetes_parts.chosen_addons(context, own),
        kwok_nodes=kubernetes_parts.kwok_nodes(context, own),
        load_balancer_cidr=kubernetes_parts.load_balancer_cidr(context),
        secondary_networks=kubernetes_parts.secondary_networks(context),
        qos=people.qualities(context.blueprint),
    )


def _database(context: Context) -> spec.Database:
    """Resolve the accounting database; a rehearsal always runs it on the controller."""
    asked = context.blueprint.accounting
    if asked.database != "managed" or context.is_rehearsal:
        return spec.Database("embedded", asked.protect)
    product = context.target.managed.database
    if not product:
        what = f"{context.target.title} has no managed database"
        why = "only clouds have managed databases"
        context.error(Code.MANAGED_MISSING, "accounting", "database", what=what, why=why, remedy="write `database: embedded`: it runs on the controller")
        return spec.Database("embedded", asked.protect)
    return spec.Database("managed", asked.protect, product)


def services(context: Context, cluster: spec.ClusterSpec, network: spec.Network) -> tuple[spec.Service, ...]:
    """List the services that the cloud bills by the hour."""
    if not context.is_cloud:
        return ()
    managed, access = context.target.managed, context.blueprint.access
    has_nat = network.egress == "nat" and network.existing is None
    has_tunnel = access.tunnel and context.target.tunnel is not None
    has_balancer = access.load_balancer and access.login_nodes > 0 and not has_tunnel
    public_subnets = context.target.networks.public_subnets if context.target.networks else 0
    # Private networks need no public address, and clusterwright creates no public subnets in an existing network.
    is_public = any(not addresses.is_private(ipaddress.IPv4Network(cidr)) for cidr in access.allowed_cidrs) and not (public_subnets and network.existing)
    public_addresses = has_nat + (is_public and not has_tunnel) * (max(1, public_subnets) if has_balancer else access.login_nodes)
    slurm, kubernetes = cluster.slurm, cluster.kubernetes
    has_managed_database = slurm is not None and slurm.database.placement == "managed"
    found = [
        spec.Service(LOAD_BALANCER, managed.load_balancer, int(has_balancer)),
        spec.Service(NAT_GATEWAY, "address translation", int(has_nat)),
        spec.Service(PUBLIC_ADDRESS, "public IPv4 address", public_addresses),
        spec.Service(CONTROL_PLANE, kubernetes.product if kubernetes else "", int(kubernetes is not None and kubernetes.control is None)),
        spec.Service(MANAGED_SLURM, slurm.product if slurm else "", int(slurm is not None and slurm.control is None)),
        spec.Service(DATABASE, slurm.database.product if slurm else "", int(has_managed_database)),
    ]
    return tuple(service for service in found if service.count)


def _check_managed(context: Context) -> None:
    """Find a service that the target doesn't have, or that runs another scheduler than the blueprint's."""
    asked, title, scheduler = context.blueprint.control.managed, context.target.title, context.blueprint.scheduler
    if not asked or context.is_rehearsal:
        return
    services = [one for name in counts.schedulers(context) for one in context.target.offerings.get(name, ()) if one.is_managed]
    if any(asked in (True, one.name) for one in services):
        return
    what, why = f"{title} has no managed scheduler", "the scheduler runs on your own hosts there"
    if isinstance(asked, str):
        named = catalog.offering(asked)
        is_here = named in context.target.offerings.get(named.scheduler, ())
        work = {counts.TRAINING: "training jobs", counts.BOTH: "Slurm or Kubernetes"}
        what = f"{named.title} does not run {work.get(scheduler, scheduler.capitalize())}" if is_here else f"{title} has no {named.title}"
        why = (
            f"it is a service for {work.get(named.scheduler, named.scheduler.capitalize())}"
            if is_here
            else f"{named.title} is a service of another cloud"
            if services
            else why
        )
    remedy = "remove `managed`, or write it under `targets` for a cloud with a managed scheduler"
    if services:
        remedy = f"write {' or '.join(f'`managed: {one.name}`' for one in services)}, or remove `managed`"
    context.error(Code.MANAGED_MISSING, "control", "managed", what=what, why=why, remedy=remedy)


def _control_machine(context: Context, scheduler: str) -> spec.Machine:
    """Choose the machine of a scheduler's own hosts by the number of its nodes."""
    asked = context.blueprint.control
    usual = next((size for size in context.target.control_sizes if size.size == asked.size), None)
    usual = usual or context.target.control_size(context.blueprint.nodes_of(scheduler))
    return _own_machine(context, asked.machine, usual.machines[context.architecture] if usual else "", ("control", "machine"))


def _own_machine(context: Context, wanted: str | None, usual: str, path: tuple[str, ...]) -> spec.Machine:
    """Return the named machine or the target's default; on targets without a default, a host that reports its own hardware."""
    if context.is_rehearsal:
        return rehearsal.machine(context)
    machine = machines.look_up(context, wanted, path, targets=[context.target.name]) if wanted else None
    if machine is None and usual:
        machine = catalog.machine(context.target.name, usual)
    if machine is None:
        return machines.site_host(context)
    capacity.check_sold(context, machine, _OWN_HOSTS, *path)
    return machines.as_spec(machine, nics=fabric.interfaces(machine, uses_fabric=False))
