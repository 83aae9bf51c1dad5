"""Add-ons of Kubernetes: those that exclude or need each other, that this version can't install, or that have nothing to do, and GPUs that none offers."""

import itertools
from collections.abc import Iterator

from .. import catalog, finding, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_KWOK, _GPUS, _RDMA = "kwok", "nvidia-device-plugin", "rdma-shared-device-plugin"


def check(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    """Find add-ons that can't work in a Kubernetes cluster, and add-ons that its nodes lack."""
    yield from _conflicts(kubernetes, source)
    yield from _not_built(cluster, kubernetes, source)
    yield from _without_kwok(kubernetes, source)
    if kubernetes.control is not None:  # a service of a cloud has device plugins of its own
        yield from _gpus_not_offered(kubernetes, source)
        yield from _without_rdma(kubernetes, source)


def _conflicts(kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    known, names = catalog.addons(), [one.name for one in kubernetes.addons]
    for first, second in itertools.combinations(names, 2):
        if second in known[first].excludes or first in known[second].excludes:
            what = f"the add-ons {first} and {second} can't run in one cluster"
            why = f"both offer the GPUs of the nodes to pods: {known[first].title}; {known[second].title}"
            chosen = [name for name in (second, first) if source.at("kubernetes", "addons", name) is not None]
            remedy = f"remove `{chosen[0]}` from `addons`" if chosen else "keep one of the two"
            yield finding.Finding(_ERROR, Code.ADDONS_EXCLUDE, source.where("kubernetes", "addons", *chosen[:1]), what, why, remedy)
    for name in names:
        for needed in known[name].needs:
            if needed not in names:
                what = f"the add-on {name} needs {needed}, which is left out"
                why = f"{known[name].title} creates objects that {needed} carries out"
                remedy = f"remove `{needed}: false`, or leave out {name} too"
                yield finding.Finding(_ERROR, Code.ADDON_NEEDED, source.where("kubernetes", "addons", name), what, why, remedy)


def _not_built(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    """Find add-ons that can only be planned, in clusters that `up` provisions: the release of Kubernetes has no manifests of them."""
    target = lookup.target_of(cluster)
    built = target.built.get(kubernetes.run_by) if target else None
    if built is None or cluster.software.profile not in built.software:
        return
    names = {one.name for one in kubernetes.addons}
    for one in kubernetes.addons:
        known = catalog.addons()[one.name]
        if not known.is_built and not names.intersection(known.excludes):  # that two exclude each other is said already
            what = f"this version can't install the add-on {one.name}"
            why = f"it can be planned only, and the release of Kubernetes does not have it ({known.title})"
            where = source.where_key("kubernetes", "addons", one.name)
            instead = [name for name in known.excludes if catalog.addons()[name].can_be_chosen]
            left_out = f", write {message_text.listed(f'`{name}: false`' for name in instead)}," if instead else ","
            yield finding.Finding(
                _ERROR, Code.ADDON_NOT_BUILT, where, what, why, f"remove `{one.name}`{left_out} and install it yourself when the cluster is up"
            )


def _without_kwok(kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    if kubernetes.kwok_nodes and not any(one.name == _KWOK for one in kubernetes.addons):
        what = "`kwok_nodes` needs the add-on kwok, which is left out"
        why = "without it nothing says that the nodes are ready, and pods wait there for ever"
        yield finding.Finding(_ERROR, Code.ADDON_NEEDED, source.where("kubernetes", "addons", _KWOK), what, why, "remove `kwok: false`, or remove `kwok_nodes`")


def _gpus_not_offered(kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    """Find pools whose GPUs no pod gets."""
    pools = dict.fromkeys(one.pool for one in kubernetes.node_sets if one.hosts.machine.gpus and not one.hosts.machine.gpus.simulated)
    offering = {_GPUS, *catalog.addons()[_GPUS].excludes}
    if pools and not any(one.name in offering for one in kubernetes.addons):
        what = f"pods get no GPUs of {message_text.listed([*pools][:5])}: {_GPUS} is left out"
        why = "nothing that clusterwright installs offers them instead; until something does, pods that ask for GPUs wait, and acceptance fails"
        remedy = f"remove `{_GPUS}: false`, or install a device plugin yourself after `up`, and run `up` again"
        yield finding.Finding(_WARNING, Code.GPUS_NOT_OFFERED, source.where("kubernetes", "addons", _GPUS), what, why, remedy)


def _without_rdma(kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    """Find a plugin for devices that no node has."""
    has_devices = any(one.fabric is not None and catalog.fabrics()[one.fabric.name].pod_link for one in kubernetes.node_sets)
    if not has_devices and any(one.name == _RDMA for one in kubernetes.addons):
        what = f"the add-on {_RDMA} has no devices to offer"
        why = f"it gives pods the devices of a fabric ({message_text.listed(_pod_fabrics())}), and no pool of Kubernetes has one"
        where = source.where_key("kubernetes", "addons", _RDMA)
        yield finding.Finding(
            _WARNING, Code.RDMA_WITHOUT_FABRIC, where, what, why, f"choose machines with such NICs for a pool, remove its `fabric: none`, or remove `{_RDMA}`"
        )


def _pod_fabrics() -> list[str]:
    return [f"`{one.name}`" for one in catalog.fabrics().values() if one.pod_link]
