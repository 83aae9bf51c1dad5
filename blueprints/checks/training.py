"""What a service that runs training jobs has not: hosts of one's own, other capacity and GPUs than its own, and mounts wherever one wants them."""

from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from ..document import Document, Path
from . import features, lookup

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
_BUCKET = "object"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find keys that mean nothing to the service, machines and capacity that it doesn't have, and mounts that it can't make."""
    if cluster.training is None:
        return
    service = catalog.offering(cluster.training.run_by)
    yield from _ignored(service, blueprint, source)
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        yield from _between_jobs(service, name, pool, source)
        yield from _lacks(service, name, pool, node_sets, source)
        yield from _reserved(service, name, pool, source)
    yield from _flex(service, cluster, source)
    for name, entry in blueprint.storage.items():
        yield from _mount(service, name, entry, source)


def _ignored(service: catalog.Offering, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Report each key that describes hosts, schedulers or people once, at its first place."""
    places: dict[str, Path] = {}
    # The full name of a reservation has the zone that it is in; otherwise the service chooses the zone of each job.
    zones = ("network.zones",) if any(pool.bought.kind.is_bought_ahead for pool in blueprint.pools.values()) else ()
    for key, path in features.without_effect(blueprint, (*service.keys, *zones)):
        places.setdefault(key, path)
    for key, path in places.items():
        what = f"`{key}` means nothing to {service.title}"
        why = f"{service.title} runs jobs on machines that it starts for them: there are no hosts to configure and nobody logs in, and rights of the cloud say who submits jobs"
        yield finding.Finding(
            _WARNING, Code.TRAINING_IGNORES, source.where_key(*path), what, why, "remove the key, or choose `slurm` or `kubernetes` as the scheduler"
        )


def _between_jobs(service: catalog.Offering, name: str, pool: language.Pool, source: Document) -> Iterator[finding.Finding]:
    if pool.is_elastic and pool.range.min:
        what = f"the pool {name} has at least {pool.range.min} node{'s' if pool.range.min > 1 else ''}, and {service.title} keeps none between jobs"
        why = "the service starts machines when a job asks for them, and ends them with it"
        remedy = f"write `nodes: {{min: 0, max: {pool.range.max}}}`"
        yield finding.Finding(_WARNING, Code.TRAINING_IGNORES, source.where("pools", name, "nodes"), what, why, remedy)


def _lacks(service: catalog.Offering, name: str, pool: language.Pool, node_sets: tuple[spec.NodeSet, ...], source: Document) -> Iterator[finding.Finding]:
    if pool.bought.kind not in service.capacity:
        what = f"{service.title} runs no jobs on `{pool.bought.kind}` capacity"
        why = f"it takes {message_text.listed(f'`{kind}`' for kind in service.capacity)} ({catalog.source(service.source).title})"
        yield finding.Finding(_ERROR, Code.TRAINING_LACKS, source.where("pools", name, "capacity"), what, why, "choose one of these")
    unknown = dict.fromkeys(gpus.type for one in node_sets if (gpus := one.hosts.machine.gpus) and gpus.type not in service.accelerators)
    for accelerator in unknown:
        what = f"{service.title} has no {accelerator} GPUs"
        why = f"its jobs can ask for {message_text.listed(service.accelerators)} ({catalog.source(service.source).title})"
        yield finding.Finding(_ERROR, Code.TRAINING_LACKS, source.where_key("pools", name), what, why, "choose one of these, or a scheduler with hosts")
    if len(node_sets) > 1:
        what = f"the pool {name} has {len(node_sets)} machines to choose from"
        why = f"a job of {service.title} names one machine type for each of its worker pools, and waits for it"
        yield finding.Finding(_ERROR, Code.TRAINING_LACKS, source.where_key("pools", name, "machines"), what, why, "name one machine, or write a pool for each")


def _reserved(service: catalog.Offering, name: str, pool: language.Pool, source: Document) -> Iterator[finding.Finding]:
    if pool.bought.kind is CapacityKind.RESERVED and CapacityKind.RESERVED in service.capacity:
        which = message_text.quoted(pool.bought.id) if pool.bought.id else "the reservation"
        what = f"{which} must be shared with {service.title}"
        why = "its jobs use a reservation only if its policy shares it with the service, and if their machine is exactly the reserved one"
        remedy = "share it when you create it, and give it machines without disks that were attached by hand"
        yield finding.Finding(_NOTE, Code.TRAINING_RESERVATION, source.where("pools", name, "capacity"), what, why, remedy)


def _flex(service: catalog.Offering, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find pools with flex start whose machines differ: all worker pools of such a job are equal."""
    pools = [one for one in cluster.node_sets if one.capacity.kind is CapacityKind.FLEX]
    for other in pools[1:]:
        if other.hosts.machine.name != pools[0].hosts.machine.name and other.pool != pools[0].pool:
            what = f"no job can use {pools[0].pool} and {other.pool} together"
            why = f"all worker pools of a job of {service.title} with flex start have the same machine, and these have {pools[0].hosts.machine.name} and {other.hosts.machine.name}"
            remedy = "nothing, if each job uses one of them; else give both the same machine"
            yield finding.Finding(_NOTE, Code.TRAINING_POOLS_DIFFER, source.where("pools", other.pool, "capacity"), what, why, remedy)


def _mount(service: catalog.Offering, name: str, entry: language.Storage, source: Document) -> Iterator[finding.Finding]:
    root = service.mounts.get(entry.kind)
    if root is None:
        known = message_text.listed(f"`{kind}` below {where}" for kind, where in service.mounts.items())
        what = f"jobs of {service.title} can't mount {name}, which is `{entry.kind}`"
        why = f"they mount {known} ({catalog.source(service.source).title})"
        yield finding.Finding(_ERROR, Code.TRAINING_MOUNTS, source.where("storage", name, "kind"), what, why, "choose one of these kinds, or remove it")
    elif entry.kind == _BUCKET:
        what = f"`mount` of {name} means nothing to {service.title}: its jobs see the bucket at {root} and the bucket's name"
        why = f"they see each bucket that they may read there ({catalog.source(service.source).title}), and this one gets a name that nobody else has, when it is created"
        remedy = f"keep it: `mount` applies to schedulers with hosts; jobs use {root} and the name that the cloud shows"
        yield finding.Finding(_NOTE, Code.TRAINING_MOUNTS, source.where("storage", name, "mount"), what, why, remedy)
    elif not (entry.mount or "").startswith(f"{root}/"):
        what = f"jobs of {service.title} can't see {name} at {entry.mount}"
        why = f"they see `{entry.kind}` storage below {root} only ({catalog.source(service.source).title})"
        yield finding.Finding(_ERROR, Code.TRAINING_MOUNTS, source.where("storage", name, "mount"), what, why, f"write `mount: {root}/{name}`")
