"""How many hosts of each role there are, before anything is known of their machines."""

from .. import catalog, language
from .case import Case

SLURM, KUBERNETES, BOTH = "slurm", "kubernetes", "both"
HOSTS = "hosts"
"""A scheduler that the stack's own hosts run (`catalog.Target.schedulers`)."""


def controllers(case: Case) -> int:
    """Count Slurm's controllers: none where the cloud runs it or nothing does."""
    if case.blueprint.scheduler == KUBERNETES or managed_scheduler(case):
        return 0
    return 2 if case.blueprint.control.highly_available else 1


def managed_scheduler(case: Case) -> str | None:
    """Name the target's own Slurm service where the blueprint asks for it; None: controllers are hosts."""
    wanted = case.blueprint.control.managed and case.blueprint.scheduler != KUBERNETES
    return next(iter(case.target.managed.slurm), None) if wanted else None


def kubernetes_product(case: Case) -> str:
    """Name what runs the Kubernetes control plane: a service, or hosts."""
    return case.target.schedulers.get(KUBERNETES, HOSTS)


def kubernetes_hosts(case: Case) -> int:
    """Count the hosts of a Kubernetes control plane that no service runs; an odd number agrees when one is lost."""
    if case.blueprint.scheduler == SLURM or kubernetes_product(case) != HOSTS:
        return 0
    return 3 if case.blueprint.control.highly_available else 1


def nodes(blueprint: language.Blueprint) -> int:
    """Count the compute nodes that there can be: for each machine of a pool as many as the pool may have."""
    return sum(pool.range.max * max(1, len(dict.fromkeys(pool.machines)) if pool.machine is None else 1) for pool in blueprint.pools.values())


def hosts(case: Case) -> int:
    return controllers(case) + case.blueprint.access.login_nodes + kubernetes_hosts(case) + nodes(case.blueprint)


def memory_mib(target: catalog.Target, *, control: int, access: int, compute: int) -> int:
    """Add up what hosts take of this machine's memory."""
    each = target.host_memory_mib
    return control * each.get("control", 0) + access * each.get("access", 0) + compute * each.get("compute", 0)
