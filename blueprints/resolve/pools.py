"""Resolve pools to node sets: one for each machine type of a pool, all in the partition with the pool's name."""

import dataclasses

from .. import catalog, language, message_text, spec
from .. import rolling as limits
from ..codes import Code
from ..language import values
from . import capacity, counts, fabric, machines, rehearsal, selection, site
from .context import Context

COMPUTE = "compute"


def resolve(context: Context) -> tuple[spec.NodeSet, ...]:
    """Resolve each pool to its node sets, in the blueprint's order. Their hosts have no addresses yet."""
    default = default_partition(context.blueprint)
    _note_standing(context)
    return tuple(node_set for name, pool in context.blueprint.pools.items() for node_set in _pool(context, name, pool, is_default=name == default))


def default_partition(blueprint: language.Blueprint) -> str | None:
    """Return the pool whose partition is the default: the first with `default: true`, else the first without `default: false`."""
    pools = {name: pool for name, pool in blueprint.pools.items() if blueprint.scheduler_of(pool) == counts.SLURM}
    asking = [name for name, pool in pools.items() if pool.partition.default]
    silent = [name for name, pool in pools.items() if pool.partition.default is None]
    return next(iter([*asking, *silent]), None)


def _pool(context: Context, name: str, pool: language.Pool, *, is_default: bool) -> tuple[spec.NodeSet, ...]:
    _check_scheduler(context, name, pool)
    bought = capacity.bought(context, name, pool)
    base = _whole_pool(context, name, pool, is_default=is_default, bought=bought)
    candidates = _candidates(context, name, pool, bought, base)
    if len(candidates) > 1 and (not pool.is_elastic or (pool.hosts and not context.is_cloud)):
        what = f"pools.{name} has {len(candidates)} machines and a fixed number of nodes"
        why = "the cloud's available capacity would decide the machine of each node, and the scheduler must know it in advance"
        remedy = f"write `nodes: {{min: 0, max: {pool.range.max}}}`, or name one machine"
        context.error(Code.MACHINES_NEED_RANGE, "pools", name, "machines", what=what, why=why, remedy=remedy)
    if len(candidates) == 1:
        return candidates
    return tuple(_one_of_several(node_set, number) for number, node_set in enumerate(candidates))


def _whole_pool(context: Context, name: str, pool: language.Pool, *, is_default: bool, bought: spec.Capacity) -> spec.NodeSet:
    """Build the part of a node set that all machines of a pool share, with a placeholder machine."""
    is_rehearsed = not pool.hosts and context.is_rehearsal  # owned machines always run
    minimum = pool.range.min if pool.is_elastic and (context.is_cloud or is_rehearsed) else None
    return spec.NodeSet(
        pool=name,
        partition=_partition(name, pool, is_default=is_default) if context.blueprint.scheduler_of(pool) == counts.SLURM else None,
        hosts=spec.HostGroup(name, COMPUTE, name, pool.range.max, "", _site_host(context, pool), site.members(context, "pools", name, "hosts")),
        features=(),
        minimum=minimum,
        reachable_min=pool.range.min if pool.is_elastic and pool.hosts and not context.is_cloud else None,
        capacity=bought,
        placement=capacity.placement(context, name, pool, capacity=bought),
        scratch_mount=pool.scratch.mount if pool.scratch else None,
        health_check=pool.health.check,
        on_failure=_on_failure(pool, is_replaced=context.is_cloud or minimum is not None),
        health_brake="" if pool.health.brake == limits.HEALTH_BRAKE else pool.health.brake,
        rolling=pool.rolling or "",
        labels=tuple(pool.labels.items()),
        taints=tuple(spec.Taint(taint.key, taint.value, taint.effect) for taint in pool.taints),
        image=pool.image,
        chosen="the site's own hosts",
    )


def _on_failure(pool: language.Pool, *, is_replaced: bool) -> str:
    """Give what a node of the pool does when it fails a check; one that is replaced where nobody says anything stays where somebody says `drain`."""
    said = pool.health.on_failure or "drain"
    return "keep" if pool.health.on_failure == "drain" and is_replaced else said


def _candidates(context: Context, name: str, pool: language.Pool, bought: spec.Capacity, base: spec.NodeSet) -> tuple[spec.NodeSet, ...]:
    if context.is_rehearsal:
        return tuple(
            _featured(dataclasses.replace(base, hosts=_with(base.hosts, machine), chosen=why), pool) for machine, why in rehearsal.nodes(context, name, pool)
        )
    chosen = selection.choose(context, name, pool, bought=bought)
    if not chosen:
        declared = "as the blueprint declares them" if pool.accelerator and machines.is_declared(pool) else base.chosen
        return (_featured(dataclasses.replace(base, chosen=declared), pool),)
    return tuple(_chosen(context, name, pool, base, choice) for choice in chosen)


def _chosen(context: Context, name: str, pool: language.Pool, base: spec.NodeSet, choice: selection.Choice) -> spec.NodeSet:
    carried = fabric.resolve(context, name, pool, choice.machine, path=choice.path)
    _check_scratch(context, name, pool, choice.machine)
    nics = fabric.interfaces(choice.machine, uses_fabric=carried is not None)
    machine = machines.as_spec(choice.machine, nics=nics, mig=machines.mig(pool))
    placed = capacity.placement(context, name, pool, capacity=base.capacity, fabric_of=choice.machine.name) if carried else base.placement
    shares_domains = context.target.places_domains and machine.domain_nodes is not None and base.hosts.count > 1 and base.partition is not None
    node_set = dataclasses.replace(
        base,
        hosts=_with(base.hosts, machine),
        fabric=carried,
        # A collective needs whole GPUs.
        collectives=() if pool.mig else fabric.collectives(context, pool, choice.machine, uses_fabric=carried is not None),
        placement=spec.IN_DOMAINS if shares_domains else placed,
        image=base.image or _late_image(context),
        chosen=choice.chosen,
    )
    return _featured(node_set, pool, machine=choice.machine.name)


def _featured(node_set: spec.NodeSet, pool: language.Pool, *, machine: str = "") -> spec.NodeSet:
    """Add the features that jobs can request: GPU type, machine, labels."""
    gpus = node_set.hosts.machine.gpus
    labels = (f"{key}={value}" if value else key for key, value in pool.labels.items())
    features = [gpus.type if gpus else "", machine, *labels]
    return dataclasses.replace(node_set, features=tuple(dict.fromkeys(feature for feature in features if feature)))


def _one_of_several(node_set: spec.NodeSet, number: int) -> spec.NodeSet:
    """Number one of a pool's node sets: later ones weigh more; the nodes that always run belong to the first."""
    name = f"{node_set.pool}-{_letters(number)}"
    hosts = dataclasses.replace(node_set.hosts, name=name, prefix=name)
    minimum = node_set.minimum if number == 0 or node_set.minimum is None else 0
    return dataclasses.replace(node_set, hosts=hosts, weight=number + 1, minimum=minimum, pool_most=node_set.hosts.count)


def _letters(number: int) -> str:
    """Count a, b, …, z, aa, ab, …"""
    more, last = divmod(number, 26)
    return (_letters(more - 1) if more else "") + chr(ord("a") + last)


def _partition(name: str, pool: language.Pool, *, is_default: bool) -> spec.Partition:
    asked = pool.partition
    return spec.Partition(
        name=name,
        default=asked.default is True or is_default,
        max_time=asked.max_time,
        priority=asked.priority,
        exclusive=asked.exclusive,
        accounts=asked.accounts,
        qos=asked.qos,
    )


def _site_host(context: Context, pool: language.Pool) -> spec.Machine:
    """Describe a host that is not in the catalogue, as the blueprint declares it."""
    gpus = None
    if pool.accelerator in catalog.accelerators() and pool.accelerator and pool.gpus_per_node:
        gpus = spec.Gpus(pool.accelerator, pool.gpus_per_node, simulated=False, mig=machines.mig(pool))
    memory_mib = values.memory_mib(pool.memory) if pool.memory else 0
    return machines.site_host(context, cpus=pool.cpus_per_node or 0, memory_mib=memory_mib, gpus=gpus)


def _with(hosts: spec.HostGroup, machine: spec.Machine) -> spec.HostGroup:
    return dataclasses.replace(hosts, machine=machine)


def _late_image(context: Context) -> spec.Late | None:
    return spec.Late("the image of the software profile, which is built when it is first needed") if context.is_cloud else None


def _note_standing(context: Context) -> None:
    """Note elastic pools on a target that can't scale, in one finding; a rehearsal reports them as simulated."""
    names = [name for name, pool in context.blueprint.pools.items() if pool.is_elastic and not pool.hosts]
    if not names or context.is_cloud or context.is_rehearsal:
        return
    what = f"all nodes of {message_text.listed(names)} always run"
    why = f"the target `{context.target.name}` has no elastic nodes: its hosts are your own"
    context.note(Code.ELASTIC_IGNORED, "pools", names[0], "nodes", what=what, why=why, remedy="keep it; it applies to cloud targets")


def _check_scheduler(context: Context, name: str, pool: language.Pool) -> None:
    if pool.scheduler in (None, context.blueprint.scheduler_of(pool)):
        return
    what = f"pools.{name} is for {pool.scheduler}, and the cluster's scheduler is {context.blueprint.scheduler}"
    why, remedy = "a cluster has one scheduler, or two with `scheduler: both`", "write `scheduler: both` at the top, or remove this key"
    if context.blueprint.scheduler == counts.TRAINING:
        why, remedy = "a service that runs training jobs runs those of all pools", "remove this key"
    context.error(Code.POOL_SCHEDULER, "pools", name, "scheduler", what=what, why=why, remedy=remedy)


def _check_scratch(context: Context, name: str, pool: language.Pool, machine: catalog.MachineType) -> None:
    if pool.scratch is None or not context.is_cloud:  # at a site the hosts' own disks count, not the catalogue
        return
    least_gib = values.size_gib(pool.scratch.size) if pool.scratch.size else 0
    if machine.scratch_gib > 0 and machine.scratch_gib >= least_gib:
        return
    what = f"{machine.name} has too little local scratch for {name}" if machine.scratch_gib else f"{machine.name} has no local scratch for {name}"
    why = f"its own disks hold {machine.scratch_gib:g} GiB, and the pool requests {pool.scratch.size or 'some'}"
    context.error(
        Code.SCRATCH_UNAVAILABLE, "pools", name, "scratch", what=what, why=why, remedy="choose another machine, write a smaller size, or remove `scratch`"
    )
