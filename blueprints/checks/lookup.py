"""What the catalogue says of a resolved cluster's target, machines and accelerators; nothing where it says nothing."""

from collections.abc import Iterator

from .. import catalog, language, spec
from ..document import Document


def target_of(cluster: spec.ClusterSpec) -> catalog.Target | None:
    """Give the catalogue's entry of the target; None for one that nobody knows."""
    return catalog.target(cluster.target) if cluster.target in catalog.target_names() else None


def is_bought(cluster: spec.ClusterSpec) -> bool:
    """Say whether hosts are bought of a cloud."""
    target = target_of(cluster)
    return target is not None and target.hosts == "cloud"


def machine_of(cluster: spec.ClusterSpec, name: str) -> catalog.Machine | None:
    """Give the catalogue's entry of a machine on the cluster's target."""
    return catalog.machines(cluster.target).get(name)


def named_machine(cluster: spec.ClusterSpec, name: str) -> catalog.Machine | None:
    """Do as `machine_of`; on a target without machines of its own, which rehearses others, look in all of them."""
    targets = catalog.target_names() if not catalog.machines(cluster.target) else (cluster.target,)
    return next((machine for target in targets if (machine := catalog.machines(target).get(name))), None)


def storage_class_of(cluster: spec.ClusterSpec, name: str) -> catalog.StorageClass | None:
    """Give the class of a file system by its name; None for one that exists already, and for folders of this machine."""
    resolved = next((one for one in cluster.storage if one.name == name), None)
    known = catalog.storage_classes(cluster.target) if target_of(cluster) else {}
    return known.get(resolved.storage_class) if resolved else None


def accelerator_of(node_set: spec.NodeSet) -> catalog.Accelerator | None:
    gpus = node_set.hosts.machine.gpus
    return catalog.accelerators().get(gpus.type) if gpus else None


def pools_of(cluster: spec.ClusterSpec, blueprint: language.Blueprint) -> Iterator[tuple[str, language.Pool, tuple[spec.NodeSet, ...]]]:
    """Give each pool with its node sets; pools that could not be resolved are left out."""
    by_pool: dict[str, list[spec.NodeSet]] = {}
    for node_set in cluster.node_sets:
        by_pool.setdefault(node_set.pool, []).append(node_set)
    for name, pool in blueprint.pools.items():
        if name in by_pool:
            yield name, pool, tuple(by_pool[name])


def written_names(source: Document, section: str) -> dict[str, None]:
    """List names as written, those of refused entries included, about which something else is said already. Ordered, and quick to look in."""
    written = source.at(section)
    return dict.fromkeys(str(name) for name in written) if isinstance(written, dict) else {}
