"""How many hosts of each role there are, before anything is known of their machines."""

from .. import catalog, language
from .context import Context

SLURM, KUBERNETES, BOTH = "slurm", "kubernetes", "both"
HOSTS = "hosts"
"""What the spec calls a Kubernetes control plane on the stack's own hosts."""


def controllers(context: Context) -> int:
    """Count Slurm's controllers: none where the cloud runs it or nothing does."""
    if context.blueprint.scheduler == KUBERNETES or slurm_offering(context).is_managed:
        return 0
    return 2 if context.blueprint.control.highly_available else 1


def slurm_offering(context: Context) -> catalog.Offering:
    """Choose how Slurm runs: as a service of the cloud where the blueprint asks for it and there is one, else on hosts of the stack."""
    offered = context.target.offerings[SLURM]
    services = [one for one in offered if one.is_managed] if context.blueprint.control.managed else []
    return (*services, *offered)[0]


def kubernetes_offering(context: Context) -> catalog.Offering:
    """Choose how Kubernetes runs: the target's usual way."""
    return context.target.offerings[KUBERNETES][0]


def kubernetes_hosts(context: Context) -> int:
    """Count the hosts of a Kubernetes control plane that no service runs; an odd number agrees when one is lost."""
    if context.blueprint.scheduler == SLURM or kubernetes_offering(context).is_managed:
        return 0
    return 3 if context.blueprint.control.highly_available else 1


def nodes(blueprint: language.Blueprint) -> int:
    """Count the compute nodes that there can be: for each machine of a pool as many as the pool may have."""
    return sum(pool.range.max * max(1, len(dict.fromkeys(pool.machines)) if pool.machine is None else 1) for pool in blueprint.pools.values())


def hosts(context: Context) -> int:
    return controllers(context) + context.blueprint.access.login_nodes + kubernetes_hosts(context) + nodes(context.blueprint)


def memory_mib(target: catalog.Target, *, control: int, access: int, compute: int) -> int:
    """Add up what hosts take of this machine's memory."""
    each = target.host_memory_mib
    return control * each.get("control", 0) + access * each.get("access", 0) + compute * each.get("compute", 0)
