"""What a picture of a cluster shows: its parts with their words, in groups, without sizes or places. Pure."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence

from blueprints import catalog
from blueprints.spec import ClusterSpec, FileSystem, HostGroup, Kubernetes, NodeSet

from .. import formatting, pool_sizes
from . import locations, pools
from .parts import Item, Role, Topology

MOST_POOLS = 16
MOST_STORES = 8
MOST_LISTED = 3
"""Of longer lists the first ones are shown and the rest counted, so that a picture stays one page."""
_ONE_CARD = ("load-balancer", "kubernetes", "database", "public-ipv4")
"""Services that are shown with what they serve."""
_PURPOSES = {"nat-gateway": "the hosts' way out to the Internet"}


def topology(spec: ClusterSpec) -> Topology:
    """Say what a picture of the cluster shows; as much for 7,500 nodes as for two."""
    hosts = _hosts(spec)
    edge = _edge(spec)
    keys = {item.key for item in (*edge, *hosts)}
    way_in: list[str] = [key for key in ("people", "balancer", "access", "control") if key == "people" or key in keys]
    if spec.training:
        way_in = ["people", "training"]
    elif spec.slurm is None and "access" not in keys:
        way_in = ["people", "kubernetes"]
    shown = Topology(
        title=f"{spec.name} on {catalog.target(spec.target).title}",
        subtitle=summary(spec),
        description=_description(spec),
        site=locations.site(spec),
        zone=locations.zone(spec),
        outside=(_people(spec),),
        edge=edge,
        hosts=hosts,
        pools=_bounded(pools.pools(spec), most=MOST_POOLS, more=lambda left: pools.more(spec, left)),
        storage=_bounded(_stores(spec), most=MOST_STORES, more=lambda left: Item("more-storage", Role.STORAGE, "Storage", f"{len(left)} more")),
        rails=pools.rails(spec),
        routes=tuple(itertools.pairwise(way_in)),
        notes=spec.simulated,
    )
    if spec.training is None:
        return shown
    return dataclasses.replace(shown, network_sign=f"network of {spec.training.product}, and what it reaches", elastic_sign="starts and ends with a job")


def summary(spec: ClusterSpec) -> str:
    """Count nodes and GPUs, with every pool at its largest, and name what schedules them."""
    most = "At most " if any(one.is_elastic for one in spec.node_sets) else ""
    versions = {"slurm": f"Slurm {spec.software.slurm}", "kubernetes": f"Kubernetes {spec.kubernetes.version if spec.kubernetes else ''}"}
    if spec.training:
        versions["training"] = f"jobs of {spec.training.product}"
    schedulers = " and ".join(versions[one] for one in spec.schedulers).strip()
    return most + ", ".join([formatting.plural(pool_sizes.nodes(spec), "node"), formatting.plural(pool_sizes.gpus(spec), "GPU"), schedulers])


# --- Around the cluster ------------------------------------------------------------------------------------------------


def _people(spec: ClusterSpec) -> Item:
    if spec.training:
        return Item("people", Role.OUTSIDE, "Outside", "Users", ("by rights of the cloud",))
    reach = "kubectl" if spec.slurm is None else "SSH"
    lines = [f"{reach} from {allowed(spec)}"]
    if spec.login.ldap_uri:
        lines.append(f"known to {spec.login.ldap_uri}")
    title = formatting.plural(len(spec.users), "user") if spec.users else "Users"
    return Item("people", Role.OUTSIDE, "Outside", title, tuple(lines))


def allowed(spec: ClusterSpec) -> str:
    """Say from where people may come."""
    cidrs = spec.login.allowed_cidrs
    if any(cidr in ("0.0.0.0/0", "::/0") for cidr in cidrs):
        return "anywhere in the world"
    return formatting.some(cidrs, most=MOST_LISTED) or "the cluster's own network only"


# --- Hosts and services --------------------------------------------------------------------------------------------------


def _edge(spec: ClusterSpec) -> tuple[Item, ...]:
    found = []
    products = {service.name: service.product for service in spec.services}
    if spec.access.count and spec.login.load_balancer:
        lines = [products.get("load-balancer", ""), spec.network.balancer_address]
        found.append(Item("balancer", Role.ACCESS, "Way in", "Load balancer", tuple(line for line in lines if line)))
    if spec.kubernetes and spec.kubernetes.control is None:
        lines = [f"Kubernetes {spec.kubernetes.version}", "control plane run by the cloud"]
        found.append(Item("kubernetes", Role.CONTROL, "Scheduler", spec.kubernetes.product, tuple(lines)))
    if spec.training:
        found.append(Item("training", Role.CONTROL, "Service", spec.training.product, ("runs training jobs", "on machines that it starts for them")))
    slurm = spec.slurm
    if slurm and slurm.control is None:
        lines = [f"Slurm {spec.software.slurm}".strip(), "controllers run by the cloud"]
        found.append(Item("slurm", Role.CONTROL, "Scheduler", slurm.product, tuple(lines)))
    if slurm and slurm.database.placement == "managed":
        lines = ["job accounting", "protected" if slurm.database.protect else "deleted with the stack"]
        found.append(Item("database", Role.CONTROL, "Database", slurm.database.product or "Managed database", tuple(lines)))
    shown = {item.title for item in found}
    for service in spec.services:
        if service.name not in _ONE_CARD and service.product not in shown:
            times = f"{service.count} × " if service.count > 1 else ""
            purpose = (_PURPOSES[service.name],) if service.name in _PURPOSES else ()
            found.append(Item(f"service-{service.name}", Role.SERVICE, "Service", f"{times}{formatting.titled(service.product)}", purpose))
    return tuple(found)


def _hosts(spec: ClusterSpec) -> tuple[Item, ...]:
    found = []
    if spec.access.count:
        found.append(_group("access", Role.ACCESS, "Login", spec.access, ()))
    if spec.slurm and spec.slurm.control:
        programs = ("slurmctld, slurmdbd", "MariaDB for job accounting" if spec.slurm.database.placement == "embedded" else "")
        found.append(_group("control", Role.CONTROL, "Scheduler", spec.slurm.control, programs))
    if spec.kubernetes and spec.kubernetes.control:
        found.append(_group("kubernetes", Role.CONTROL, "Scheduler", spec.kubernetes.control, _of_kubernetes(spec.kubernetes)))
    return tuple(found)


def _of_kubernetes(kubernetes: Kubernetes) -> tuple[str, ...]:
    """Write what a control plane runs, and the add-ons that users work with."""
    known = catalog.addons()
    addons = formatting.some([one.name for one in kubernetes.addons if known[one.name].installed_by is catalog.InstalledBy.API], most=MOST_LISTED)
    return (f"Kubernetes {kubernetes.version}, etcd", f"with {addons}" if addons else "")


def _group(key: str, role: Role, kind: str, group: HostGroup, more: Sequence[str]) -> Item:
    lines = [f"{group.count} × {group.machine.name}, {formatting.machine(group.machine)}", *more, group.first_address]
    return Item(key, role, kind, group.hostlist, tuple(line for line in lines if line))


# --- Storage -------------------------------------------------------------------------------------------------------------


def _stores(spec: ClusterSpec) -> tuple[Item, ...]:
    return tuple(_store(entry) for entry in spec.storage)


def _store(entry: FileSystem) -> Item:
    held = [formatting.size(entry.size_gib) if entry.size_gib else "", formatting.throughput(entry.throughput_mbs) if entry.throughput_mbs else ""]
    kept = ["protected" if entry.protect else "", formatting.plural(entry.backup_days, "daily backup") if entry.backup_days else ""]
    lines = [entry.product or entry.source or "", ", ".join(word for word in held if word), ", ".join(word for word in kept if word)]
    return Item(f"storage-{entry.name}", Role.STORAGE, entry.kind, entry.mount, tuple(line for line in lines if line), simulated=entry.simulated)


def _bounded(items: tuple[Item, ...], *, most: int, more: Callable[[tuple[Item, ...]], Item]) -> tuple[Item, ...]:
    """Keep a group to so many cards; the last one then represents all that are left."""
    if len(items) <= most:
        return items
    return (*items[: most - 1], more(items[most - 1 :]))


def _description(spec: ClusterSpec) -> str:
    parts = [f"{name}: {_nodes(sets)} of {sets[0].hosts.machine.name}" for name, sets in pool_sizes.by_pool(spec).items()]
    mounts = formatting.some((entry.mount for entry in spec.storage), most=MOST_STORES)
    return f"{summary(spec)}. Pools: {formatting.some(parts, most=MOST_POOLS)}." + (f" Shared storage: {mounts}." if mounts else "")


def _nodes(sets: Sequence[NodeSet]) -> str:
    most = formatting.plural(sets[0].hosts.count, "node")
    return f"at most {most}" if any(one.is_elastic for one in sets) else most
