"""Pools against the scheduler that has them."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_TITLES = {"slurm": "Slurm", "kubernetes": "Kubernetes"}
_SLURM, _KUBERNETES = "slurm", "kubernetes"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find schedulers without a pool, and keys that a pool's scheduler doesn't know."""
    owners: set[str] = set()
    for name, pool in blueprint.pools.items():
        owner = _owner(blueprint, pool)
        owners.add(owner)
        if owner == _SLURM and pool.taints:
            what = f"the pool {name} has taints, and Slurm has its nodes"
            why = "taints keep pods away, and Slurm knows no pods; `partition` says who may use its nodes"
            where = source.where_key("pools", name, "taints")
            yield finding.Finding(_WARNING, Code.KUBERNETES_ONLY, where, what, why, "take them out, or write `scheduler: kubernetes` for the pool")
        elif owner == _KUBERNETES and pool.partition != language.Partition():
            what = f"the pool {name} has settings of a partition, and Kubernetes has its nodes"
            why = "partitions are Slurm's, so nothing reads them"
            where = source.where_key("pools", name, "partition")
            yield finding.Finding(_WARNING, Code.SLURM_ONLY, where, what, why, "take them out, or write `scheduler: slurm` for the pool")
    if blueprint.scheduler == "both" and len(lookup.written_names(source, "pools")) == len(blueprint.pools):
        yield from _without_pool(owners, source)


def _without_pool(owners: set[str], source: Document) -> Iterator[finding.Finding]:
    for scheduler in (_SLURM, _KUBERNETES):
        if scheduler not in owners:
            what = f"no pool is for {_TITLES[scheduler]}"
            why = "with `scheduler: both` each pool says which of the two has it, and those that don't say belong to Slurm"
            remedy = f"write `scheduler: {scheduler}` in a pool, or for the cluster the one scheduler that has pools"
            yield finding.Finding(_ERROR, Code.SCHEDULER_WITHOUT_POOL, source.where("scheduler"), what, why, remedy)


def _owner(blueprint: language.Blueprint, pool: language.Pool) -> str:
    return pool.scheduler or (_KUBERNETES if blueprint.scheduler == _KUBERNETES else _SLURM)
