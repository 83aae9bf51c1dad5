"""The network between GPUs: against the machines of a pool and their number."""

from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find parts of nodes that get less of the fabric than whole ones, fabrics between nothing, and machines whose fabrics don't join."""
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        if pool.fabric == "required" and pool.range.max == 1:
            what = f"the pool {name} requires a fabric, and has one node"
            why = "a fabric joins the GPUs of different nodes; inside one they are joined by NVLink or PCIe"
            where = source.where("pools", name, "fabric")
            yield finding.Finding(finding.Level.NOTE, Code.FABRIC_ONE_NODE, where, what, why, "leave the key out, or ask for more nodes")
        yield from _partial(name, pool, node_sets, cluster, source)
        fabrics = dict.fromkeys(node_set.fabric.title for node_set in node_sets if node_set.fabric)
        if len(fabrics) > 1:
            what = f"the machines of the pool {name} have different fabrics: {message_text.listed(fabrics)}"
            why = "a job whose nodes are of two of these machines can use neither"
            where = source.where_key("pools", name, "machines")
            remedy = "choose machines of one fabric, or make a pool of each"
            yield finding.Finding(finding.Level.WARNING, Code.FABRIC_MIXED, where, what, why, remedy)


def _partial(name: str, pool: language.Pool, node_sets: tuple[spec.NodeSet, ...], cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    for node_set in node_sets:
        machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
        if node_set.fabric is None or machine is None or not machine.gpus:
            continue
        whole = _whole(machine)
        if whole is None or _gbps_per_gpu(whole) <= _gbps_per_gpu(machine):
            continue
        what = f"each GPU of {machine.name} gets {_gbps_per_gpu(machine):g} Gb/s of the fabric, one of {whole.name} {_gbps_per_gpu(whole):g} Gb/s"
        why = f"{machine.name} is a part of a node, with {machine.gpus} of {whole.gpus} GPUs, and jobs over several parts lose NVLink between them too"
        remedy = f"for jobs over several nodes write `gpus_per_node: {whole.gpus}`; for others `fabric: none`"
        level = finding.Level.WARNING if pool.fabric == "required" else finding.Level.NOTE
        yield finding.Finding(level, Code.FABRIC_PARTIAL_NODE, source.where_key("pools", name), what, why, remedy)


def _whole(part: catalog.Machine) -> catalog.Machine | None:
    """Find the machine with the most of the same GPUs, of which a smaller machine is a part."""
    larger = [one for one in catalog.machines(part.target).values() if one.accelerator == part.accelerator and one.gpus > part.gpus and one.fabric]
    return max(larger, key=lambda one: (one.gpus, _gbps_per_gpu(one)), default=None)


def _gbps_per_gpu(machine: catalog.Machine) -> float:
    return machine.fabric_nics * machine.fabric_nic_gbps / machine.gpus
