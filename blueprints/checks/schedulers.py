"""Pools, compared with the scheduler that runs them."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document, Path
from . import lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_TITLES = {"slurm": "Slurm", "kubernetes": "Kubernetes"}
_SLURM, _KUBERNETES = "slurm", "kubernetes"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find schedulers without a pool, and keys that don't apply to a pool's scheduler."""
    owners: set[str] = set()
    for name, pool in blueprint.pools.items():
        owner = _owner(blueprint, pool)
        owners.add(owner)
        if owner == _SLURM and pool.taints:
            what = f"the pool {name} has taints, and it is a Slurm pool"
            why = "taints apply to Kubernetes pods only; in Slurm, `partition` controls who may use the nodes"
            where = source.where_key("pools", name, "taints")
            yield finding.Finding(_WARNING, Code.KUBERNETES_ONLY, where, what, why, "remove them, or write `scheduler: kubernetes` for the pool")
        elif owner == _KUBERNETES:
            yield from _taints(name, pool, source)
        if owner == _KUBERNETES and pool.partition != language.Partition():
            what = f"the pool {name} has settings of a partition, and it is a Kubernetes pool"
            why = "partitions exist in Slurm only, so these settings have no effect"
            where = source.where_key("pools", name, "partition")
            yield finding.Finding(_WARNING, Code.SLURM_ONLY, where, what, why, "remove them, or write `scheduler: slurm` for the pool")
    if blueprint.scheduler == _KUBERNETES:
        yield from _of_slurm(blueprint, source)
    if blueprint.scheduler == "both" and len(lookup.written_names(source, "pools")) == len(blueprint.pools):
        yield from _without_pool(owners, source)


def _of_slurm(blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find what only Slurm has in a blueprint that only Kubernetes schedules, beside the pools."""
    if source.at("accounting") is not None and blueprint.accounting != language.Accounting():
        what, why = "the blueprint describes Slurm's accounting, and the cluster has no Slurm", "Kueue keeps the quotas of accounts, and records no past jobs"
        yield finding.Finding(_WARNING, Code.SLURM_ONLY, source.where_key("accounting"), what, why, "remove `accounting`")
    if source.at("acceptance", "gate") is not None and "accounting" in blueprint.acceptance.gate:
        what, why = "acceptance can't test `accounting`: the cluster has no Slurm", "accounting is Slurm's record of jobs"
        where = source.where("acceptance", "gate", blueprint.acceptance.gate.index("accounting"))
        yield finding.Finding(_WARNING, Code.SLURM_ONLY, where, what, why, "remove `accounting` from the list")
    if _has_login_nodes(blueprint.access):
        what = "the blueprint describes login nodes, and a cluster that only Kubernetes schedules has none"
        why = "users reach the API server with `clusterwright kubectl` and `clusterwright submit`; `access` has no effect"
        yield finding.Finding(_WARNING, Code.SLURM_ONLY, source.where_key("access"), what, why, "remove `access`, or write only `login_nodes: 0` there")
    if blueprint.control.state is not None:
        what, why = (
            "`control.state` is for Slurm's state, and the cluster has no Slurm",
            "Kubernetes keeps its state in etcd, on the disks of the control plane",
        )
        yield finding.Finding(_WARNING, Code.SLURM_ONLY, source.where_key("control", "state"), what, why, "remove it")
    yield from _limits_of_slurm(blueprint, source)


def _has_login_nodes(access: language.Access) -> bool:
    asked = access.model_fields_set - ({"login_nodes"} if access.login_nodes == 0 else set())
    return any(name == "login_nodes" or getattr(access, name) != language.Access.model_fields[name].default for name in asked)


def _limits_of_slurm(blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find limits that Kueue doesn't have: it counts what pods ask for, by account, and knows neither users nor numbers of jobs."""
    asked: list[tuple[Path, int | None]] = [
        *((("accounts", name, "limits", "jobs"), account.limits.jobs) for name, account in blueprint.accounts.items()),
        *((("qos", name, key), getattr(one, key)) for name, one in blueprint.qos.items() for key in ("gpus_per_user", "jobs_per_user")),
    ]
    for path, value in asked:
        if value is not None:
            what = f"`{'.'.join(map(str, path))}` is a limit of Slurm, and Kubernetes schedules all pools"
            why = "Kueue limits what the jobs of an account use together; it counts neither jobs nor what each user has"
            remedy = "remove it; `accounts.NAME.limits` has `gpus` and `nodes`, which Kueue keeps"
            yield finding.Finding(_WARNING, Code.SLURM_ONLY, source.where_key(*path), what, why, remedy)


def _without_pool(owners: set[str], source: Document) -> Iterator[finding.Finding]:
    for scheduler in (_SLURM, _KUBERNETES):
        if scheduler not in owners:
            what = f"{_TITLES[scheduler]} has no pool"
            why = "with `scheduler: both` each pool names its scheduler; the default is Slurm"
            remedy = f"write `scheduler: {scheduler}` in a pool, or set the cluster's `scheduler` to the one that has pools"
            yield finding.Finding(_ERROR, Code.SCHEDULER_WITHOUT_POOL, source.where("scheduler"), what, why, remedy)


def _owner(blueprint: language.Blueprint, pool: language.Pool) -> str:
    return pool.scheduler or blueprint.scheduler_of(pool)


def _taints(name: str, pool: language.Pool, source: Document) -> Iterator[finding.Finding]:
    """Find taints that the API server refuses. Source: Kubernetes v1.34, validation.ValidateTaintsInNodeAddition ("taints must be unique by key and effect pair")."""
    seen: set[tuple[str, str]] = set()
    for number, taint in enumerate(pool.taints):
        if (taint.key, taint.effect) in seen:
            what = f"the pool {name} has two taints with the key {taint.key} and the effect {taint.effect}"
            why = "Kubernetes knows the taints of a node by key and effect, whatever their values are"
            where = source.where("pools", name, "taints", number)
            yield finding.Finding(_ERROR, Code.TAINT_DUPLICATE, where, what, why, "remove one of the two, or write another key or effect")
        seen.add((taint.key, taint.effect))
