"""Availability of the region, zones and machines for the account."""

from collections.abc import Iterator, Sequence

from .. import catalog, finding, message_text, spec
from ..codes import Code
from ..document import Document
from .account import Answers, given_subnets, hosts_zone, profile

_ERROR = finding.Level.ERROR


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find a region or zones that the account can't use, and machines that are not available to it in the hosts' zone."""
    if answers.region_state == "unasked":
        return
    if answers.region_state != "enabled":
        is_unknown = answers.region_state == "unknown"
        what = f"{cluster.network.region} is " + ("not a region of this account" if is_unknown else "not enabled for this account")
        why = "the account can't create resources there" if is_unknown else "an account must enable some regions before the first use"
        remedy = (
            "write another region as `network.region`"
            if is_unknown
            else "enable it in the account's settings, which takes minutes to hours, or write another region"
        )
        yield finding.Finding(_ERROR, Code.REGION_UNUSABLE, source.where("network", "region"), what, why, remedy)
        return
    yield from _zones(cluster, source, answers)
    yield from _offered(cluster, source, answers)
    yield from _described(cluster, source, answers)
    yield from _fabric(cluster, source, answers)
    yield from _storage(cluster, source, answers)


def _described(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Compare the catalogue's machines with the cloud's descriptions: network interfaces and Slurm nodes follow the catalogue."""
    known = catalog.machines(cluster.target)
    reported: set[str] = set()
    for group in cluster.host_groups if answers.knows("machines") else ():
        name = group.machine.name
        described = answers.machines.get(name)
        if described is None or name in reported:
            continue
        reported.add(name)
        listed = known[name]
        pairs = {
            "processors": (listed.vcpus, described.vcpus),
            "GiB of memory": (listed.memory_gib, described.memory_gib),
            "GPUs": (listed.gpus, described.gpus),
            "network cards": (listed.cards, described.cards),
            "fabric interfaces": (listed.fabric_nics if _has_devices(listed) else 0, described.fabric_nics),
        }
        differing = [f"{ours:g} {what} and not {theirs:g}" for what, (ours, theirs) in pairs.items() if theirs is not None and ours != theirs]
        if listed.arch not in described.arch:
            differing.append(f"{listed.arch} processors and not {message_text.listed(described.arch)}")
        if differing:
            what = f"the catalogue describes {name} with {message_text.listed(differing)}"
            why = "the second value is the cloud's; clusterwright configures nodes and network interfaces by the first"
            remedy = "correct its row in blueprints/catalog/machines, or choose another machine"
            yield finding.Finding(_ERROR, Code.MACHINE_DIFFERS, _of_group(group, cluster, source), what, why, remedy)


def _fabric(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find a zone that has the machines and not the kind of network that their fabric needs."""
    wanted, zone = profile(cluster), hosts_zone(cluster, answers)
    if not wanted or zone is None or not answers.knows("fabric networks") or zone in answers.fabric_zones:
        return
    there = sorted(answers.fabric_zones)
    what = f"{zone} has no network of the kind {wanted}"
    why = "the interfaces of the fabric need such a network, and it exists in one zone"
    remedy = f"choose {'one of ' if len(there) > 1 else ''}{', '.join(there)}" if there else "choose another region, or machines without this fabric"
    yield finding.Finding(_ERROR, Code.FABRIC_ELSEWHERE, source.where("network", "zones", 0), what, why, remedy)


def _storage(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find a zone that has the machines and not the service of a file system."""
    zone = hosts_zone(cluster, answers)
    for entry in cluster.storage:
        there = answers.storage_zones.get(entry.storage_class)
        if zone is None or there is None or zone in there:
            continue
        what = f"{catalog.storage_class(cluster.target, entry.storage_class).product} is not available in {zone}, where the hosts are"
        why = "the file system is in the zone of the hosts"
        remedy = f"choose {'one of ' if len(there) > 1 else ''}{', '.join(sorted(there))}" if there else "choose another region, or another kind of storage"
        yield finding.Finding(_ERROR, Code.STORAGE_ELSEWHERE, source.where_key("storage", entry.name), what, why, remedy)


def _has_devices(machine: catalog.MachineType) -> bool:
    """Say whether interfaces of the machine bring devices of its fabric, which the cloud counts."""
    return machine.fabric is not None and bool(catalog.fabrics()[machine.fabric].device_interfaces)


def _zones(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    if not answers.knows("zones"):
        return
    known = {zone.name: zone for zone in answers.zones}
    usable = [zone.name for zone in answers.zones if zone.is_usable and not zone.is_local]
    for number, name in enumerate(cluster.network.zones):
        zone = known.get(name)
        if zone is not None and zone.is_usable:
            continue
        what = f"the account can't use the zone {name}"
        why = "the account has no zone of this name" if zone is None else f"the zone is {zone.state}"
        remedy = f"name one of {', '.join(usable)}" + ("" if zone is None or not zone.is_local else ", or opt in to it in the account's settings (zones)")
        yield finding.Finding(_ERROR, Code.ZONE_UNUSABLE, source.where("network", "zones", number), what, why, remedy)


def _offered(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    if not answers.knows("offers"):
        return
    known = catalog.machines(cluster.target)
    groups = [group for group in cluster.host_groups if group.machine.name in known]
    machines = sorted({group.machine.name for group in groups})
    everywhere = _together(machines, answers)
    zone = hosts_zone(cluster, answers)
    if zone is not None:
        reported: set[str] = set()
        for group in groups:
            name = group.machine.name
            if zone in answers.offered.get(name, frozenset()) or name in reported:
                continue
            reported.add(name)
            where = _of_group(group, cluster, source)
            what = f"{name} is not available to this account in {zone}, the hosts' zone"
            there = sorted(answers.offered.get(name, ()))
            why = f"it is available in {message_text.listed(there)}" if there else f"it is not available in any zone of {cluster.network.region}"
            remedy = f"choose a zone with all of the cluster's machines: {', '.join(everywhere)}" if everywhere else "choose another machine or region"
            yield finding.Finding(_ERROR, Code.MACHINE_NOT_OFFERED, where, what, why, remedy)
    elif not everywhere and not given_subnets(cluster):
        what = f"no zone of {cluster.network.region} offers this account all of {', '.join(machines)}"
        by_machine = "; ".join(f"{name}: {', '.join(sorted(answers.offered.get(name, ()))) or 'nowhere'}" for name in machines)
        why = f"all hosts of a cluster run in one zone ({by_machine})"
        remedy = "choose another region with `network.region`, or other machines"
        yield finding.Finding(_ERROR, Code.MACHINE_NOT_OFFERED, source.where("network", "region"), what, why, remedy)


def _together(machines: Sequence[str], answers: Answers) -> list[str]:
    """List the zones that offer all machines."""
    usable = {zone.name for zone in answers.zones if zone.is_usable} if answers.knows("zones") else None
    sets = [answers.offered.get(name, frozenset()) for name in machines]
    both = frozenset.intersection(*sets) if sets else frozenset()
    return sorted(both if usable is None else both & usable)


def _of_group(group: spec.HostGroup, cluster: spec.ClusterSpec, source: Document) -> finding.Position:
    """Return the position of the key that chose the machine of a group."""
    if group.role == "compute":
        pool = next(one.pool for one in cluster.node_sets if one.hosts == group)
        return source.where_key("pools", pool)
    return source.where_key("control" if group.role == "control" else "access")
