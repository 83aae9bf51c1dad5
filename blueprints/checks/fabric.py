"""The network between GPUs, compared with the machines of a pool and the number of nodes."""

from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find machines with a fraction of a node's fabric, fabrics of pools with one node, and pools with incompatible fabrics."""
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        if pool.fabric == "required" and pool.range.max == 1:
            what = f"the pool {name} requires a fabric and has only one node"
            why = "a fabric connects GPUs of different nodes; NVLink or PCIe connects the GPUs of one node"
            where = source.where("pools", name, "fabric")
            yield finding.Finding(finding.Level.NOTE, Code.FABRIC_ONE_NODE, where, what, why, "remove the key, or write more nodes")
        yield from _partial(name, pool, node_sets, cluster, source)
        fabrics = dict.fromkeys(node_set.fabric.title for node_set in node_sets if node_set.fabric)
        if len(fabrics) > 1:
            what = f"the machines of the pool {name} have different fabrics: {message_text.listed(fabrics)}"
            why = "a job that runs on nodes of both types can use neither fabric"
            where = source.where_key("pools", name, "machines")
            remedy = "choose machines with one fabric, or write one pool for each"
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
        why = f"{machine.name} is a fraction of a node, with {machine.gpus} of {whole.gpus} GPUs; jobs over several of them also have no NVLink between them"
        remedy = f"for jobs over several nodes write `gpus_per_node: {whole.gpus}`; for other jobs write `fabric: none`"
        level = finding.Level.WARNING if pool.fabric == "required" else finding.Level.NOTE
        yield finding.Finding(level, Code.FABRIC_PARTIAL_NODE, source.where_key("pools", name), what, why, remedy)


def _whole(part: catalog.MachineType) -> catalog.MachineType | None:
    """Find the machine with the most GPUs of the same type: the whole node of a smaller machine."""
    larger = [one for one in catalog.machines(part.target).values() if one.accelerator == part.accelerator and one.gpus > part.gpus and one.fabric]
    return max(larger, key=lambda one: (one.gpus, _gbps_per_gpu(one)), default=None)


def _gbps_per_gpu(machine: catalog.MachineType) -> float:
    return machine.fabric_nics * machine.fabric_nic_gbps / machine.gpus
