"""A service of the cloud that runs training jobs: what its workers are, and the network in which they reach the stack's file systems."""

import dataclasses
from collections.abc import Sequence

from .. import catalog, message_text, spec
from ..codes import Code
from . import counts, network, subnets
from .context import Context

WORKER = "worker"
"""The role of machines that the service starts for a job and ends with it."""
BUCKET = "object"
BUCKET_NAME = "<bucket, known later>"
"""A bucket's name is unique among all customers of the cloud: the stack makes one up, so no blueprint can name it."""


def resolve(context: Context, node_sets: Sequence[spec.NodeSet]) -> spec.Training | None:
    """Resolve the service with what jobs run on; None for clusters with schedulers of their own, and where the target has no such service."""
    if context.blueprint.scheduler != counts.TRAINING:
        return None
    offering = counts.training_offering(context)
    if offering is None:
        _missing(context)
        return None
    return spec.Training(run_by=offering.name, product=offering.title, node_sets=tuple(_workers(one) for one in node_sets))


def mounted(service: spec.Training | None, file_systems: Sequence[spec.FileSystem]) -> tuple[spec.FileSystem, ...]:
    """Give buckets the folders at which jobs of the service see them: each below the service's own, by the bucket's name, which the cloud's provisioning makes."""
    if service is None:
        return tuple(file_systems)
    root = catalog.offering(service.run_by).mounts.get(BUCKET)
    return tuple(dataclasses.replace(one, mount=f"{root}/{BUCKET_NAME}") if root and one.kind == BUCKET else one for one in file_systems)


def check_built(context: Context) -> None:
    """Note a service that this version can only plan."""
    offering = counts.training_offering(context)
    if offering is None or offering.name in context.target.built:
        return
    what = f"this version can't provision {offering.title}: you can plan what jobs would run on, and not submit any"
    why = f"it can provision {message_text.listed(f'`{one}`' for one in context.target.built_schedulers)} on {context.target.title}"
    also = " and remove `control.managed`" if context.blueprint.control.managed else ""
    remedy = f"write `scheduler: {context.target.built_schedulers[0]}`{also} to provision a cluster for the same jobs"
    context.note(Code.SCHEDULER_NOT_BUILT, "scheduler", what=what, why=why, remedy=remedy)


def placed(context: Context, cluster: spec.ClusterSpec) -> spec.ClusterSpec:
    """Add the network. The service's machines have addresses of its own network; the stack makes one only for file systems that have addresses there."""
    if not any(one.source is None and one.kind in ("nfs", "lustre") for one in cluster.storage):
        bare = dataclasses.replace(network.unaddressed(context), region=context.region, zones=context.blueprint.network.zones, existing=None, host_project="")
        return dataclasses.replace(cluster, network=bare)
    chosen = subnets.divided(context, dataclasses.replace(cluster, training=None), own_hosts=0)
    return dataclasses.replace(cluster, network=dataclasses.replace(chosen, egress="none"))


def _workers(node_set: spec.NodeSet) -> spec.NodeSet:
    """Give what a job of the service runs on: machines without a place, interfaces or disks that this project could lay out, none of them between jobs."""
    hosts = dataclasses.replace(node_set.hosts, role=WORKER, machine=dataclasses.replace(node_set.hosts.machine, nics=()))
    return spec.NodeSet(
        pool=node_set.pool,
        partition=None,
        hosts=hosts,
        features=(),
        minimum=0,
        capacity=node_set.capacity,
        weight=node_set.weight,
        pool_most=node_set.pool_most,
        health_check="none",
        chosen=node_set.chosen,
    )


def _missing(context: Context) -> None:
    """Refuse a target without a service that runs training jobs."""
    others = [one for one in map(catalog.target, catalog.target_names()) if one.offerings.get(counts.TRAINING)]
    what = f"{context.target.title} has no service that runs training jobs"
    there = message_text.listed(f"{service.title} on {one.title}" for one in others for service in one.offerings[counts.TRAINING])
    why = f"`scheduler: training` means a service of a cloud: {there}; this version simulates none of them"
    targets = " or ".join(f"`--target {one.name}`" for one in others)
    remedy = f"plan it with {targets}, or write `targets.{context.target.name}.scheduler: slurm` for hosts of the cluster"
    context.error(Code.MANAGED_MISSING, "scheduler", what=what, why=why, remedy=remedy)
