"""The scheduler's own hosts: their size against the number of nodes, and what takes over when one is lost."""

from collections.abc import Iterator

from .. import catalog, finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find controllers too small for their nodes, sizes that nothing reads, and a database that is lost with the first of two controllers."""
    control = blueprint.control
    target = lookup.target_of(cluster)
    nodes = sum(pool.range.max for pool in blueprint.pools.values())
    if control.size != "auto" and control.machine is not None:
        what = "the controllers have a size and a machine"
        why = "a size stands for a machine; the one that is named counts"
        where = source.where("control", "size")
        yield finding.Finding(_WARNING, Code.CONTROL_IGNORED, where, what, why, "keep one of them")
    elif control.managed and (control.machine is not None or control.highly_available):
        key = "machine" if control.machine is not None else "highly_available"
        what = f"`control.{key}` means nothing where the cloud runs the scheduler"
        why = "its hosts are the cloud's, and so is their number"
        where = source.where("control", key)
        yield finding.Finding(_WARNING, Code.CONTROL_IGNORED, where, what, why, "take it out")
    if target is not None:
        yield from _sizes(target, control, nodes, source)
    if control.highly_available and not control.managed and blueprint.accounting.database == "embedded" and blueprint.scheduler != "kubernetes":
        what = "there are two controllers, and the accounting database is on the first of them"
        why = "when that is lost, the second takes over without accounts, limits and the record of jobs"
        where = source.where("control", "highly_available")
        has_service = target is None or target.managed.database or target.hosts == "here"
        remedy = "write `accounting: {database: managed}`" if has_service else "copy the database to another place often, as nothing here runs one for you"
        yield finding.Finding(_WARNING, Code.DATABASE_ALONE, where, what, why, remedy)


def _sizes(target: catalog.Target, control: language.Control, nodes: int, source: Document) -> Iterator[finding.Finding]:
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
        remedy = "write `size: auto`" + (f", which takes {fitting.machine} here" if fitting else "")
        yield finding.Finding(_WARNING, Code.CONTROL_SMALL, where, what, why, remedy)
