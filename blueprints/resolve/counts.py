"""Number of hosts of each role, before their machines are known."""

from .. import catalog, hostlist, language
from .context import Context

SLURM, KUBERNETES, BOTH, TRAINING = "slurm", "kubernetes", "both", "training"
HOSTS = "hosts"
"""The spec's name of a Kubernetes control plane on the stack's own hosts."""


def schedulers(context: Context) -> tuple[str, ...]:
    """Name the schedulers that the blueprint asks for."""
    return (SLURM, KUBERNETES) if context.blueprint.scheduler == BOTH else (context.blueprint.scheduler,)


def controllers(context: Context) -> int:
    """Count Slurm's controllers: 0 if Slurm is managed or absent."""
    if SLURM not in schedulers(context) or slurm_offering(context).is_managed:
        return 0
    if context.blueprint.control.hosts and not context.is_cloud:
        return len(hostlist.expand(context.blueprint.control.hosts))
    return 2 if context.blueprint.control.highly_available else 1


def login_nodes(context: Context) -> int:
    """Count the login nodes; users of Kubernetes work with kubectl and need none, as do those of a service."""
    if SLURM not in schedulers(context):
        return 0
    access = context.blueprint.access
    return len(hostlist.expand(access.hosts)) if access.hosts and not context.is_cloud else access.login_nodes


def slurm_offering(context: Context) -> catalog.Offering:
    """Choose Slurm's offering."""
    return _offering(context, SLURM)


def kubernetes_offering(context: Context) -> catalog.Offering:
    """Choose Kubernetes' offering."""
    return _offering(context, KUBERNETES)


def training_offering(context: Context) -> catalog.Offering | None:
    """Choose the service that runs training jobs; None: the target has none."""
    return _offering(context, TRAINING) if context.target.offerings.get(TRAINING) else None


def _offering(context: Context, scheduler: str) -> catalog.Offering:
    """Choose the service that the blueprint names or, where it asks for any, the target's first one; else the target's default."""
    asked, offered = context.blueprint.control.managed, context.target.offerings[scheduler]
    services = [one for one in offered if one.is_managed and asked in (True, one.name)]
    return (*services, *offered)[0]


def kubernetes_hosts(context: Context) -> int:
    """Count the hosts of a self-managed Kubernetes control plane; etcd needs an odd number for its quorum."""
    if KUBERNETES not in schedulers(context) or kubernetes_offering(context).is_managed:
        return 0
    if context.blueprint.control.hosts and context.blueprint.scheduler == KUBERNETES and not context.is_cloud:
        return len(hostlist.expand(context.blueprint.control.hosts))
    return 3 if context.blueprint.control.highly_available else 1


def nodes(blueprint: language.Blueprint, *, scheduler: str = "") -> int:
    """Count the compute nodes that can exist: for each machine of a pool, the pool's maximum.

    Args:
        scheduler: count its nodes only.
    """
    pools = [pool for pool in blueprint.pools.values() if not scheduler or blueprint.scheduler_of(pool) == scheduler]
    return sum(pool.range.max * max(1, len(dict.fromkeys(pool.machines)) if pool.machine is None else 1) for pool in pools)


def hosts(context: Context) -> int:
    return sum(by_role(context).values())


def by_role(context: Context) -> dict[str, int]:
    """Count the hosts of each role, as `host_memory_mib` of the catalogue's targets names them."""
    of_kubernetes = nodes(context.blueprint, scheduler=KUBERNETES)  # training jobs run on no hosts of the cluster
    return {
        "control": controllers(context),
        "access": login_nodes(context),
        "compute": nodes(context.blueprint, scheduler=SLURM),
        "kubernetes": kubernetes_hosts(context),
        "kubernetes_node": of_kubernetes,
    }
