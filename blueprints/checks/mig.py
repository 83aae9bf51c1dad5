"""Slices of GPUs (MIG): profiles, counts and exclusions."""

from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR = finding.Level.ERROR
_COMPUTE_SLICES = 7
"""Compute slices of one GPU (NVIDIA MIG User Guide, "Partitioning"): a `3g` profile uses three."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find GPUs without MIG, unknown profiles, more slices than a GPU has, and slices with a fabric."""
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        if not pool.mig:
            continue
        where = source.where_key("pools", name, "mig")
        if any(node_set.partition is None for node_set in node_sets) and _is_heeded(cluster):
            what = f"nothing divides the GPUs of the pool {name}: it belongs to Kubernetes"
            why = "this version divides GPUs on nodes of Slurm only; on Kubernetes, NVIDIA's GPU operator does it, and the operator is not installed here"
            remedy = "let the GPU operator's MIG manager divide them, move the pool to Slurm, or remove `mig`"
            yield finding.Finding(finding.Level.WARNING, Code.MIG_NOT_DIVIDED, where, what, why, remedy)
        # Machines of a pool can have different GPUs; equal GPUs give equal findings, reported one time.
        yield from dict.fromkeys(found for node_set in node_sets for found in _machine(name, pool, node_set, source, is_one_of_several=len(node_sets) > 1))
        if any(node_set.fabric for node_set in node_sets):
            what = f"the pool {name} uses MIG slices, and a fabric connects its nodes"
            why = "a MIG slice can't reach other GPUs over NVLink or the fabric, so a job can't use more than one slice"
            level = _ERROR if pool.fabric == "required" else finding.Level.WARNING
            yield finding.Finding(level, Code.MIG_WITH_FABRIC, where, what, why, "write `fabric: none` for this pool, or remove `mig`")


def _is_heeded(cluster: spec.ClusterSpec) -> bool:
    """Whether another scheduler of the cluster heeds `mig`: without one, the key itself is said to have no effect."""
    target = lookup.target_of(cluster)
    offerings = set(cluster.offerings)
    return target is not None and offerings <= target.built.keys() and "pools.mig" in target.built_for(offerings).keys


def _machine(name: str, pool: language.Pool, node_set: spec.NodeSet, source: Document, *, is_one_of_several: bool) -> Iterator[finding.Finding]:
    """Compare the slices with the GPUs of one of a pool's machines."""
    gpus = node_set.hosts.machine.gpus
    accelerator = lookup.accelerator_of(node_set)
    if gpus is None or (accelerator is not None and not accelerator.mig):
        whose = f"its nodes of {node_set.hosts.machine.name}" if is_one_of_several else "its nodes"
        has = f"{accelerator.name} GPUs, which have no MIG profiles in the catalogue" if accelerator else "no GPUs"
        what = f"the pool {name} has `mig`, and {whose} have {has}"
        why = "only some GPUs support slices (MIG)"
        known = [one.name for one in catalog.accelerators().values() if one.mig]
        remedy = f"remove `mig`, or choose one of {', '.join(known)}"
        yield finding.Finding(_ERROR, Code.MIG_WITHOUT_GPU, source.where_key("pools", name, "mig"), what, why, remedy)
    elif accelerator is not None:
        yield from _profiles(name, pool, accelerator, gpus, source)


def _profiles(name: str, pool: language.Pool, accelerator: catalog.Accelerator, gpus: spec.Gpus, source: Document) -> Iterator[finding.Finding]:
    memory = gpus.memory_gib
    sizes = {profile.gpu_memory_gb for profile in accelerator.mig}
    nearest = min(sizes, key=lambda size: abs(size - memory)) if memory is not None else None
    known = {profile.name: profile for profile in accelerator.mig if nearest in (None, profile.gpu_memory_gb)}
    for wanted, count in pool.mig.items():
        where = source.where_key("pools", name, "mig", wanted)
        profile = known.get(wanted)
        if profile is None:
            what = f"{accelerator.name} has no MIG profile {message_text.quoted(wanted)}"
            why = f"each GPU model has a fixed list of profiles{f', and these GPUs have {nearest} GB' if len(sizes) > 1 and nearest else ''}"
            remedy = message_text.did_you_mean(wanted, known, allowed="profiles")
            yield finding.Finding(_ERROR, Code.MIG_UNKNOWN, where, what, why, remedy)
        elif count > profile.per_gpu:
            what = f"one {accelerator.name} does not have {count} slices of {wanted}"
            yield finding.Finding(_ERROR, Code.MIG_TOO_MANY, where, what, f"at most {profile.per_gpu} of them fit on a GPU", f"write at most {profile.per_gpu}")
    taken = sum(_compute_slices(wanted) * count for wanted, count in pool.mig.items())
    memory_gb = sum(known[wanted].memory_gb * count for wanted, count in pool.mig.items() if wanted in known)
    whole_gb = max((profile.memory_gb for profile in known.values()), default=0)
    if len(pool.mig) > 1 and (taken > _COMPUTE_SLICES or memory_gb > whole_gb):
        what = f"these slices need {taken} of a GPU's {_COMPUTE_SLICES} compute slices, and {memory_gb} of its {whole_gb} GB"
        why = "all slices together must fit on one GPU: every GPU of the pool has the same slices"
        remedy = "write fewer or smaller slices"
        yield finding.Finding(_ERROR, Code.MIG_TOO_MANY, source.where_key("pools", name, "mig"), what, why, remedy)


def _compute_slices(profile: str) -> int:
    return int(profile.partition("g")[0])
