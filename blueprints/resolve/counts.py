"""Number of hosts of each role, before their machines are known."""

from .. import catalog, hostlist, language
from .context import Context

SLURM, KUBERNETES, BOTH = "slurm", "kubernetes", "both"
HOSTS = "hosts"
"""The spec's name of a Kubernetes control plane on the stack's own hosts."""


def controllers(context: Context) -> int:
    """Count Slurm's controllers: 0 if Slurm is managed or absent."""
    if context.blueprint.scheduler == KUBERNETES or slurm_offering(context).is_managed:
        return 0
    if context.blueprint.control.hosts and not context.is_cloud:
        return len(hostlist.expand(context.blueprint.control.hosts))
    return 2 if context.blueprint.control.highly_available else 1


def login_nodes(context: Context) -> int:
    """Count the login nodes."""
    access = context.blueprint.access
    return len(hostlist.expand(access.hosts)) if access.hosts and not context.is_cloud else access.login_nodes


def slurm_offering(context: Context) -> catalog.Offering:
    """Choose Slurm's offering: the managed one if the blueprint requests it and the target has one, else hosts of the stack."""
    offered = context.target.offerings[SLURM]
    services = [one for one in offered if one.is_managed] if context.blueprint.control.managed else []
    return (*services, *offered)[0]


def kubernetes_offering(context: Context) -> catalog.Offering:
    """Choose Kubernetes' offering: the target's default."""
    return context.target.offerings[KUBERNETES][0]


def kubernetes_hosts(context: Context) -> int:
    """Count the hosts of a self-managed Kubernetes control plane; etcd needs an odd number for its quorum."""
    if context.blueprint.scheduler == SLURM or kubernetes_offering(context).is_managed:
        return 0
    return 3 if context.blueprint.control.highly_available else 1


def nodes(blueprint: language.Blueprint) -> int:
    """Count the compute nodes that can exist: for each machine of a pool, the pool's maximum."""
    return sum(pool.range.max * max(1, len(dict.fromkeys(pool.machines)) if pool.machine is None else 1) for pool in blueprint.pools.values())


def hosts(context: Context) -> int:
    return controllers(context) + login_nodes(context) + kubernetes_hosts(context) + nodes(context.blueprint)


def memory_mib(target: catalog.Target, *, control: int, access: int, compute: int) -> int:
    """Add up the memory that hosts use on this machine."""
    each = target.host_memory_mib
    return control * each.get("control", 0) + access * each.get("access", 0) + compute * each.get("compute", 0)
