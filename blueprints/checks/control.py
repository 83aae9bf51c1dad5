"""The scheduler's own hosts: their size for the number of nodes, and failover."""

from collections.abc import Iterator

from .. import catalog, finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING
_SLURM, _KUBERNETES, _TRAINING = "slurm", "kubernetes", "training"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find controllers too small for their nodes, keys without effect, and a database on the first of two controllers."""
    control = blueprint.control
    if blueprint.scheduler == _TRAINING:
        return  # it has no controllers, and each key of them is reported
    target = lookup.target_of(cluster)
    unread = _unread(blueprint, target)
    if unread is not None:
        what = f"`control.{unread}` has no effect: the cloud runs the scheduler"
        why = "the cloud chooses the size and number of its control-plane hosts"
        where = source.where("control", unread)
        yield finding.Finding(_WARNING, Code.CONTROL_IGNORED, where, what, why, "remove it")
    elif control.size != "auto" and control.machine is not None:
        what = "the controllers have a size and a machine"
        why = "a size selects a machine; the named machine overrides it"
        where = source.where("control", "size")
        yield finding.Finding(_WARNING, Code.CONTROL_IGNORED, where, what, why, "remove one of the two")
    if target is not None and cluster.slurm is not None:
        yield from _service_size(catalog.offering(cluster.slurm.run_by), blueprint.nodes_of(_SLURM), source)
        if cluster.slurm.control is not None:
            yield from _size(target, control, blueprint.nodes_of(_SLURM), cluster.slurm.control.machine.arch, source)
    if target is not None and lookup.is_bought(cluster):
        yield from _machines(cluster, blueprint, target, source)
    is_service = catalog.asks_for_service(control.managed, _SLURM)
    if control.highly_available and not is_service and blueprint.accounting.database == "embedded" and blueprint.scheduler != _KUBERNETES:
        what = "there are two controllers, and the accounting database runs on the first one only"
        why = (
            "while the first controller is down, the second one uses the last known accounts and limits and queues job records; "
            "sacct and changes of accounts fail"
        )
        where = source.where("control", "highly_available")
        yield finding.Finding(_WARNING, Code.DATABASE_ALONE, where, what, why, _database_remedy(target))


def _database_remedy(target: catalog.Target | None) -> str:
    if target is not None and target.hosts == "site":
        return (
            "nothing, if you can wait for the first controller: it dumps the database every six hours to the file system of Slurm's state, "
            "and `clusterwright-database restore` loads a dump; or remove `highly_available`"
        )
    if target is None or target.managed.database or target.hosts == "here":
        return "write `accounting: {database: managed}`"
    return "back up the database often: this target has no managed database"


def _unread(blueprint: language.Blueprint, target: catalog.Target | None) -> str | None:
    """Return the first key about control hosts if the cloud runs all schedulers."""
    control = blueprint.control
    is_service = target is not None and target.offerings[_KUBERNETES][0].is_managed
    is_kubernetes = blueprint.scheduler == _KUBERNETES
    if not (is_service if is_kubernetes else catalog.asks_for_service(control.managed, _SLURM)):
        return None
    said = {
        "machine": control.machine is not None,
        "size": control.size != "auto",
        # A managed Kubernetes service is always highly available.
        "highly_available": control.highly_available and not is_kubernetes,
    }
    return next((key for key, is_said in said.items() if is_said), None)


def _service_size(offering: catalog.Offering, nodes: int, source: Document) -> Iterator[finding.Finding]:
    """Compare the number of Slurm's nodes with the largest size of the service that runs it."""
    if offering.nodes_max and nodes > max(offering.nodes_max.values()):
        what = f"{nodes} nodes exceed the limit of {offering.label}"
        why = f"its largest size supports {max(offering.nodes_max.values())} nodes"
        remedy = "remove `managed` to run your own controllers, or write fewer nodes"
        yield finding.Finding(finding.Level.ERROR, Code.MANAGED_TOO_LARGE, source.where("control", "managed"), what, why, remedy)


def _size(target: catalog.Target, control: language.Control, nodes: int, architecture: str, source: Document) -> Iterator[finding.Finding]:
    """Compare the number of Slurm's nodes with the named size of its controllers."""
    where = source.where("control", "size")
    size = next((one for one in target.control_sizes if one.size == control.size), None)
    if size is not None and size.nodes_max is not None and nodes > size.nodes_max:
        fitting = target.control_size(nodes)
        what = f"controllers of the size `{size.size}` support {size.nodes_max} nodes, and the cluster can have {nodes}"
        why = "slurmctld keeps every node and job in memory and answers every node; a host that is too small answers late, and Slurm marks nodes DOWN"
        remedy = "write `size: auto`" + (f", which selects {fitting.machines[architecture]}" if fitting else "")
        yield finding.Finding(_WARNING, Code.CONTROL_SMALL, where, what, why, remedy)


def _machines(cluster: spec.ClusterSpec, blueprint: language.Blueprint, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """Compare the named machines of control and access hosts with the software profile, and controllers with the recommended size."""
    named = {"control": (blueprint.control.machine, cluster.controllers), "access": (blueprint.access.machine, cluster.access.count)}
    for section, (wanted, count) in named.items():
        machine = catalog.machines(target.name).get(wanted or "")
        if machine is None or not count:
            continue
        where = source.where(section, "machine")
        if cluster.software.arch not in ("any", machine.arch):
            what = f"{machine.name} has {machine.arch} processors, and the software profile `{cluster.software.profile}` requires {cluster.software.arch}"
            why = "all hosts of a cluster use images of one profile, which are built for one architecture"
            remedy = f"choose a machine with {cluster.software.arch} processors, or leave `machine` out"
            yield finding.Finding(finding.Level.ERROR, Code.ARCHITECTURES_MIXED, where, what, why, remedy)
        elif section == "control":
            yield from _small(machine, target, blueprint.nodes_of(_SLURM), where)


def _small(machine: catalog.MachineType, target: catalog.Target, nodes: int, where: finding.Position) -> Iterator[finding.Finding]:
    size = target.control_size(nodes)
    usual = catalog.machines(target.name).get(size.machines.get(machine.arch, "")) if size else None
    # The smallest size supports up to nodes_max nodes: fewer nodes need a share of it.
    share = nodes / size.nodes_max if size is target.control_sizes[0] and size.nodes_max else 1
    if usual is None or (machine.memory_gib >= usual.memory_gib * share and machine.vcpus >= usual.vcpus * share):
        return
    what = f"{machine.name} has {machine.vcpus} processors and {machine.memory_gib:g} GiB of memory, and the cluster can have {nodes} nodes"
    why = (
        "slurmctld keeps every node and job in memory and answers every node; a host that is too small answers late, and Slurm marks nodes DOWN; "
        f"the recommended machine is {usual.name} with {usual.vcpus} processors and {usual.memory_gib:g} GiB ({catalog.source(target.control_source).title})"
    )
    yield finding.Finding(_WARNING, Code.CONTROL_SMALL, where, what, why, f"write `machine: {usual.name}` or a larger one, or remove the key")
