"""Hosts that exist already: which of them each group of the cluster has, and how they are reached."""

import collections
from collections.abc import Iterable, Iterator, Sequence

from .. import hostlist, message_text, spec
from ..codes import Code
from ..document import Path
from . import inventory
from .context import SITE, Context

CONTROL, ACCESS = ("control", "hosts"), ("access", "hosts")
EXISTING = "existing"
CONTROLLERS = "control"
PAIR = 2
_ADD_SHARED = "mount a file system of the site, such as `storage.site: {kind: existing, mount: /site, source: '10.0.0.5:/export'}`, or name one controller"


def members(context: Context, *path: str) -> str:
    """Give the hosts that the blueprint names for a group, as a Slurm host list; empty where it names none, or where the target creates the hosts.

    Args:
        path: the key that names them.
    """
    if context.is_cloud:
        return ""
    given = context.blueprint.pools[path[1]].hosts if path[0] == "pools" else getattr(context.blueprint, path[0]).hosts
    return hostlist.in_order(hostlist.expand(given)) if given else ""


def check_counts(context: Context) -> None:
    """Find numbers of hosts that differ from the hosts named."""
    blueprint = context.blueprint
    for name, pool in blueprint.pools.items():
        if pool.hosts and pool.nodes is not None and not context.is_cloud:
            _check_count(context, ("pools", name, "nodes"), asked=pool.range.max, named=len(hostlist.expand(pool.hosts)))
    if context.is_cloud:
        return
    _check_repeated(context)
    if blueprint.access.hosts and "login_nodes" in blueprint.access.model_fields_set:
        _check_count(context, ("access", "login_nodes"), asked=blueprint.access.login_nodes, named=len(hostlist.expand(blueprint.access.hosts)))
    controllers = len(hostlist.expand(blueprint.control.hosts)) if blueprint.control.hosts else 0
    if blueprint.scheduler != "kubernetes" and controllers and controllers != (2 if blueprint.control.highly_available else 1):
        what = f"`control.hosts` names {controllers} host{'s' if controllers > 1 else ''}, and `control.highly_available` is {str(blueprint.control.highly_available).lower()}"
        why = "Slurm has one controller, or two of which the second takes over"
        remedy = "name one host, or two and write `highly_available: true`"
        context.error(Code.HOST_COUNT, *CONTROL, what=what, why=why, remedy=remedy)
    if blueprint.scheduler == "kubernetes" and controllers and controllers % 2 == 0:
        what = f"`control.hosts` names {controllers} hosts for the control plane of Kubernetes"
        why = f"etcd needs more than half of its members: with {controllers} it goes on after as many failures as with {controllers - 1}"
        context.error(Code.HOST_COUNT, *CONTROL, what=what, why=why, remedy=f"name {controllers - 1} or {controllers + 1} hosts")
    if blueprint.scheduler == "kubernetes" and controllers == 1 and blueprint.control.highly_available:
        what = "`control.hosts` names 1 host, and `control.highly_available` is true"
        why = "a control plane goes on after the loss of a host where it has three: etcd needs more than half of its members"
        context.error(Code.HOST_COUNT, *CONTROL, what=what, why=why, remedy="name three hosts, or remove `highly_available`")


def _check_repeated(context: Context) -> None:
    """Find a host that one list names twice."""
    blueprint = context.blueprint
    lists: dict[Path, str | None] = {
        CONTROL: blueprint.control.hosts,
        ACCESS: blueprint.access.hosts,
        **{("pools", name, "hosts"): pool.hosts for name, pool in blueprint.pools.items()},
    }
    for path, given in lists.items():
        names = hostlist.expand(given or "")
        if len(set(names)) < len(names):
            repeated = hostlist.compress(name for name, times in collections.Counter(names).items() if times > 1)
            context.error(Code.HOST_TWICE, *path, what=f"{_dotted(path)} names {repeated} twice", why="each host is one node", remedy="name it one time")


def _check_count(context: Context, path: Path, *, asked: int, named: int) -> None:
    if asked == named:
        return
    what = f"`{'.'.join(str(step) for step in path)}` is {asked}, and `hosts` names {named}"
    context.error(Code.HOST_COUNT, *path, what=what, why="each node is one of the named hosts", remedy=f"write {named}, or remove the key; or name other hosts")


def site(context: Context, cluster: spec.ClusterSpec) -> spec.Site | None:
    """Describe the cluster's hosts as the inventory has them; None on targets that create their hosts, and where the blueprint names no hosts."""
    if context.target.hosts != SITE:
        return None
    groups = [(path, group) for path, group in _groups(cluster) if group.count]
    unnamed = [(path, group) for path, group in groups if not group.members]
    if unnamed:
        _note_unnamed(context, unnamed)
    if len(unnamed) == len(groups):
        return None
    known = inventory.entries(context)
    wanted: dict[str, inventory.Entry] = {}
    owners: dict[str, Path] = {}
    for path, group in groups:
        unknown = []
        twice: dict[Path, list[str]] = {}
        for name in group.hostnames if group.members else ():
            if name in owners:
                twice.setdefault(owners[name], []).append(name)
            elif name in known:
                wanted[name] = known[name]
            else:
                unknown.append(name)
            owners.setdefault(name, path)
        if unknown:
            _blame_unknown(context, unknown, path, known)
        for first, names in twice.items():
            _blame_twice(context, names, first, path)
    asked = context.blueprint.inventory
    network = context.blueprint.network
    return spec.Site(
        asked.user,
        asked.port,
        inventory.hosts(context, wanted.values()),
        asked.identity,
        inventory.bmc(context),
        inventory.roce(context),
        asked.package_cache,
        nat=network.nat == CONTROLLERS,
        dns=network.dns == CONTROLLERS,
        address=context.blueprint.control.address or "",
    )


def state_on(context: Context, *, controllers: int) -> str:
    """Name the file system where two controllers keep Slurm's state; empty where one controller has it on its own disk, or the target has a place for it."""
    asked, existing = context.blueprint.control.state, [name for name, one in context.blueprint.storage.items() if one.kind == EXISTING]
    control = context.blueprint.control
    # Another number of hosts, and hosts without names, are findings of their own.
    is_pair = bool(control.hosts) and control.highly_available and controllers == PAIR
    if context.target.hosts != SITE or (asked is None and not is_pair):
        return ""
    if controllers < 2:
        what = "`control.state` has no effect: there is one controller"
        why = "one controller keeps Slurm's state on its own disk"
        context.warning(Code.CONTROL_IGNORED, "control", "state", what=what, why=why, remedy="remove it, or name two hosts in `control.hosts`")
        return ""
    if asked in existing or (asked is None and len(existing) == 1):
        return asked or existing[0]
    why = "both controllers read and write Slurm's state: the second one can't take over what lies on the first one's disk"
    choices = " or ".join(f"`state: {name}`" for name in existing)
    if asked is not None:
        what = f"`control.state` is `{asked}`, which is no existing file system of the blueprint"
        remedy = f"write {choices}" if choices else _ADD_SHARED
    elif existing:
        what = f"two controllers share Slurm's state, and there are {len(existing)} file systems that could keep it"
        remedy = f"write {choices} under `control`"
    else:
        what = "two controllers share Slurm's state, and no file system could keep it"
        remedy = _ADD_SHARED
    context.error(Code.STATE_UNSHARED, *(("control", "state") if asked else CONTROL), what=what, why=why, remedy=remedy)
    return ""


def balancer(context: Context, cluster: spec.ClusterSpec, site: spec.Site | None) -> str:
    """Give the address of the load balancer: the asked one, else the first login node's own."""
    if context.blueprint.access.address:
        return context.blueprint.access.address
    first = cluster.access.hostname(0) if site and cluster.access.count else ""
    return next((host.address for host in site.hosts if host.name == first), "") if site else ""


def _groups(cluster: spec.ClusterSpec) -> Iterator[tuple[Path, spec.HostGroup]]:
    if cluster.slurm and cluster.slurm.control:
        yield CONTROL, cluster.slurm.control
    if cluster.kubernetes and cluster.kubernetes.control:
        yield CONTROL, cluster.kubernetes.control
    yield ACCESS, cluster.access
    for node_set in cluster.node_sets:
        yield ("pools", node_set.pool, "hosts"), node_set.hosts


def _note_unnamed(context: Context, unnamed: list[tuple[Path, spec.HostGroup]]) -> None:
    keys = message_text.listed(dict.fromkeys(f"`{'.'.join(str(step) for step in path)}`" for path, _ in unnamed))
    what = f"the blueprint doesn't name the hosts of {keys}: you can only plan the cluster"
    why = f"the hosts of {context.target.title} exist already, and clusterwright adopts those that the blueprint names"
    remedy = "describe the hosts in `inventory`, and name them there (`clusterwright lookup hosts` reads their SSH host keys)"
    context.note(Code.HOSTS_UNNAMED, *unnamed[0][0][:-1], what=what, why=why, remedy=remedy)


def _blame_twice(context: Context, names: Sequence[str], first: Path, second: Path) -> None:
    what = f"{_dotted(first)} and {_dotted(second)} both name {hostlist.compress(names)}"
    why = "a host has one role, and belongs to one pool"
    context.error(Code.HOST_TWICE, *second, what=what, why=why, remedy=f"name {'it' if len(names) == 1 else 'each of them'} in one place")


def _blame_unknown(context: Context, unknown: Sequence[str], path: Path, known: Iterable[str]) -> None:
    names = [*known, *context.outside.names]
    what = f"the inventory has no host {hostlist.compress(unknown)}"
    meant = message_text.near(unknown[0], names) if len(unknown) == 1 else None
    why = f"it has {hostlist.compress(names)}" if names else "it has no hosts"
    remedy = f"did you mean {message_text.quoted(meant)}?" if meant else "correct the name, or add the host to `inventory.hosts`"
    context.error(Code.HOST_UNKNOWN, *path, what=what, why=why, remedy=remedy)


def _dotted(path: Path) -> str:
    return ".".join(str(step) for step in path)
