"""The scheduler's own hosts: their size against the number of nodes, and what takes over when one is lost."""

from collections.abc import Iterator

from .. import catalog, finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING
_SLURM, _KUBERNETES = "slurm", "kubernetes"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find controllers too small for their nodes, sizes that nothing reads, and a database that is lost with the first of two controllers."""
    control = blueprint.control
    target = lookup.target_of(cluster)
    unread = _unread(blueprint, target)
    if unread is not None:
        what = f"`control.{unread}` means nothing where the cloud runs the scheduler"
        why = "its hosts are the cloud's, and so are their size and number"
        where = source.where("control", unread)
        yield finding.Finding(_WARNING, Code.CONTROL_IGNORED, where, what, why, "take it out")
    elif control.size != "auto" and control.machine is not None:
        what = "the controllers have a size and a machine"
        why = "a size means a machine; the named machine counts"
        where = source.where("control", "size")
        yield finding.Finding(_WARNING, Code.CONTROL_IGNORED, where, what, why, "keep one of them")
    controllers = cluster.slurm.control if cluster.slurm else None
    architecture = (controllers or cluster.access).machine.arch
    if target is not None and blueprint.scheduler != _KUBERNETES:
        yield from _sizes(target, control, blueprint.nodes_of(_SLURM), architecture, source)
    if target is not None and lookup.is_bought(cluster):
        yield from _machines(cluster, blueprint, target, source)
    if control.highly_available and not control.managed and blueprint.accounting.database == "embedded" and blueprint.scheduler != _KUBERNETES:
        what = "there are two controllers, and the accounting database is on the first of them"
        why = (
            "while that is lost, the second serves by the accounts and limits that it knew; records of jobs wait for the first to come back, "
            "and nobody can ask for them or change accounts"
        )
        where = source.where("control", "highly_available")
        has_service = target is None or target.managed.database or target.hosts == "here"
        remedy = "write `accounting: {database: managed}`" if has_service else "copy the database to another place often, as nothing here runs one for you"
        yield finding.Finding(_WARNING, Code.DATABASE_ALONE, where, what, why, remedy)


def _unread(blueprint: language.Blueprint, target: catalog.Target | None) -> str | None:
    """Name the first key that is about hosts of the site's own, where the cloud runs all schedulers."""
    control = blueprint.control
    is_service = target is not None and target.offerings[_KUBERNETES][0].is_managed
    is_kubernetes = blueprint.scheduler == _KUBERNETES
    if not (is_service if is_kubernetes else control.managed):
        return None
    said = {
        "machine": control.machine is not None,
        "size": control.size != "auto",
        # A Kubernetes service is highly available by itself, so that what is asked for is there.
        "highly_available": control.highly_available and not is_kubernetes,
    }
    return next((key for key, is_said in said.items() if is_said), None)


def _sizes(target: catalog.Target, control: language.Control, nodes: int, architecture: str, source: Document) -> Iterator[finding.Finding]:
    """Compare the number of Slurm's nodes with the size of what runs it."""
    where = source.where("control", "size")
    if control.managed and target.managed_slurm_nodes and nodes > max(target.managed_slurm_nodes.values()):
        most = max(target.managed_slurm_nodes.values())
        what = f"{nodes} nodes are more than the cloud's own scheduler takes"
        why = f"its largest size is for {most} nodes"
        remedy = "take `managed` out, so that controllers are hosts of yours, or ask for fewer nodes"
        yield finding.Finding(finding.Level.ERROR, Code.MANAGED_TOO_LARGE, source.where("control", "managed"), what, why, remedy)
    size = next((one for one in target.control_sizes if one.size == control.size), None)
    if size is not None and not control.managed and size.nodes_max is not None and nodes > size.nodes_max:
        fitting = target.control_size(nodes)
        what = f"controllers of the size `{size.size}` are for {size.nodes_max} nodes, and there can be {nodes}"
        why = "the scheduler holds every node and job in memory and answers all of them; on too small a host it answers late, and nodes are taken for lost"
        remedy = "write `size: auto`" + (f", which takes {fitting.machines[architecture]} here" if fitting else "")
        yield finding.Finding(_WARNING, Code.CONTROL_SMALL, where, what, why, remedy)


def _machines(cluster: spec.ClusterSpec, blueprint: language.Blueprint, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """Compare the machines that the blueprint names for hosts of its own with the software profile, and that of controllers with the usual one for as many nodes."""
    named = {"control": (blueprint.control.machine, cluster.controllers), "access": (blueprint.access.machine, cluster.access.count)}
    for section, (wanted, count) in named.items():
        machine = catalog.machines(target.name).get(wanted or "")
        if machine is None or not count:
            continue
        where = source.where(section, "machine")
        if cluster.software.arch not in ("any", machine.arch):
            what = f"{machine.name} has {machine.arch} processors, and the software profile `{cluster.software.profile}` is for {cluster.software.arch}"
            why = "all hosts of a cluster start from images of one profile, whose programs run on one kind of processor"
            remedy = f"choose a machine with {cluster.software.arch} processors, or leave `machine` out"
            yield finding.Finding(finding.Level.ERROR, Code.ARCHITECTURES_MIXED, where, what, why, remedy)
        elif section == "control":
            yield from _small(machine, target, blueprint.nodes_of(_SLURM), where)


def _small(machine: catalog.Machine, target: catalog.Target, nodes: int, where: finding.Position) -> Iterator[finding.Finding]:
    size = target.control_size(nodes)
    usual = catalog.machines(target.name).get(size.machines.get(machine.arch, "")) if size else None
    # The smallest size is for so many nodes: a part of it does for fewer.
    share = nodes / size.nodes_max if size is target.control_sizes[0] and size.nodes_max else 1
    if usual is None or (machine.memory_gib >= usual.memory_gib * share and machine.vcpus >= usual.vcpus * share):
        return
    what = f"{machine.name} has {machine.vcpus} processors and {machine.memory_gib:g} GiB of memory, and there can be {nodes} nodes"
    why = (
        "the scheduler holds every node and job in memory and answers all of them; on too small a host it answers late, and nodes are taken for lost; "
        f"the usual machine for so many is {usual.name} with {usual.vcpus} processors and {usual.memory_gib:g} GiB ({catalog.source(target.control_source).title})"
    )
    yield finding.Finding(_WARNING, Code.CONTROL_SMALL, where, what, why, f"write `machine: {usual.name}` or a larger one, or leave it out")
