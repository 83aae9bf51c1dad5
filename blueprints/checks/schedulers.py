"""Pools, compared with the scheduler that runs them."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
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


def _without_pool(owners: set[str], source: Document) -> Iterator[finding.Finding]:
    for scheduler in (_SLURM, _KUBERNETES):
        if scheduler not in owners:
            what = f"{_TITLES[scheduler]} has no pool"
            why = "with `scheduler: both` each pool names its scheduler; the default is Slurm"
            remedy = f"write `scheduler: {scheduler}` in a pool, or set the cluster's `scheduler` to the one that has pools"
            yield finding.Finding(_ERROR, Code.SCHEDULER_WITHOUT_POOL, source.where("scheduler"), what, why, remedy)


def _owner(blueprint: language.Blueprint, pool: language.Pool) -> str:
    return pool.scheduler or (_KUBERNETES if blueprint.scheduler == _KUBERNETES else _SLURM)


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
