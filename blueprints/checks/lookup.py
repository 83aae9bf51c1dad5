"""Catalogue entries of a resolved cluster's target, machines, accelerators and storage; None if the catalogue has no entry."""

from collections.abc import Iterator

from .. import catalog, language, spec
from ..document import Document

_ANY = "any"
"""Architecture of a profile that supports every processor."""


def target_of(cluster: spec.ClusterSpec) -> catalog.Target | None:
    """Return the catalogue entry of the target; None for an unknown target."""
    return catalog.target(cluster.target) if cluster.target in catalog.target_names() else None


def is_bought(cluster: spec.ClusterSpec) -> bool:
    """Whether a cloud provisions the hosts."""
    target = target_of(cluster)
    return target is not None and target.hosts == "cloud"


def has_own_image(cluster: spec.ClusterSpec, node_set: spec.NodeSet) -> bool:
    """Whether the nodes start from an image of the cluster's owner, which the software profile then says nothing about."""
    target = target_of(cluster)
    return target is not None and target.has_images and isinstance(node_set.image, str)


def machine_of(cluster: spec.ClusterSpec, name: str) -> catalog.MachineType | None:
    """Return the catalogue entry of a machine on the cluster's target."""
    return catalog.machines(cluster.target).get(name)


def named_machine(cluster: spec.ClusterSpec, name: str) -> catalog.MachineType | None:
    """Return the catalogue entry of a machine; on a target without machines of its own, which rehearses others, search all targets."""
    targets = catalog.target_names() if not catalog.machines(cluster.target) else (cluster.target,)
    return next((machine for target in targets if (machine := catalog.machines(target).get(name))), None)


def storage_class_of(cluster: spec.ClusterSpec, name: str) -> catalog.StorageClass | None:
    """Return the storage class of a file system by its name; None for existing file systems and for folders of this machine."""
    resolved = next((one for one in cluster.storage if one.name == name), None)
    known = catalog.storage_classes(cluster.target) if target_of(cluster) else {}
    return known.get(resolved.storage_class) if resolved else None


def accelerator_of(node_set: spec.NodeSet) -> catalog.Accelerator | None:
    gpus = node_set.hosts.machine.gpus
    return catalog.accelerators().get(gpus.type) if gpus else None


def addons_of(cluster: spec.ClusterSpec, node_set: spec.NodeSet) -> tuple[str, ...]:
    """Name the add-ons of Kubernetes on nodes; empty on those of Slurm."""
    return tuple(one.name for one in cluster.kubernetes.addons) if cluster.kubernetes and node_set.scheduler == "kubernetes" else ()


def supporting_profiles(
    cluster: spec.ClusterSpec, arch: str, accelerator: catalog.Accelerator | None, fabric: str | None, *, addons: tuple[str, ...]
) -> list[str]:
    """List the target's software profiles that support nodes with these processors, GPUs, this fabric and these add-ons of Kubernetes."""
    profiles = [catalog.profile(name) for name in catalog.software_names(cluster.target)]
    alike = [profile for profile in profiles if profile.arch in (_ANY, arch)]
    if accelerator is None:
        return [profile.profile for profile in alike]
    return [profile.profile for profile in alike if not catalog.faults(profile, accelerator.architecture, fabric, nvlink=accelerator.nvlink, addons=addons)]


def profiles_of(cluster: spec.ClusterSpec, node_set: spec.NodeSet) -> list[str]:
    """List the target's software profiles that have what these nodes need."""
    fabric = node_set.fabric.name if node_set.fabric else None
    return supporting_profiles(cluster, node_set.hosts.machine.arch, accelerator_of(node_set), fabric, addons=addons_of(cluster, node_set))


def pools_of(cluster: spec.ClusterSpec, blueprint: language.Blueprint) -> Iterator[tuple[str, language.Pool, tuple[spec.NodeSet, ...]]]:
    """List each pool with its node sets, without pools that resolve refused."""
    by_pool: dict[str, list[spec.NodeSet]] = {}
    for node_set in cluster.node_sets:
        by_pool.setdefault(node_set.pool, []).append(node_set)
    for name, pool in blueprint.pools.items():
        if name in by_pool:
            yield name, pool, tuple(by_pool[name])


def written_names(source: Document, section: str) -> dict[str, None]:
    """List the names of a section in order, including entries that other findings refuse."""
    written = source.at(section)
    return dict.fromkeys(str(name) for name in written) if isinstance(written, dict) else {}
