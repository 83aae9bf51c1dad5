"""The software profile, compared with GPUs, fabrics, file systems and features of the scheduler's version."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .. import catalog, finding, language, message_text, nvlink_domains, spec
from ..codes import Code
from ..document import Document
from . import lookup

_LUSTRE, _LUSTRE_NETWORK = "lustre", "@tcp:/"
"""Part of the source of a Lustre file system: `10.0.0.5@tcp:/scratch`."""
_WITH_DRIVERS = "ubuntu"
"""Begins the names of distributions whose archive has NVIDIA's driver as modules of a kernel."""
_ARCHIVE_KEY = "_archive_key"
"""Ends the names of origins that are fingerprints of archives' keys."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find login nodes with another architecture, incompatible versions, and a Slurm version without a required feature."""
    yield from _login(cluster, blueprint, source)
    if cluster.software.profile in catalog.profile_names():
        yield from _matrix(cluster, blueprint, source)
        yield from _clients(catalog.profile(cluster.software.profile), blueprint, source)
        yield from _own_driver(cluster, blueprint, source)
        yield from _archives(cluster, blueprint, source)
    if cluster.slurm_node_sets:
        yield from _slurm(cluster, blueprint, source)


def _profile(cluster: spec.ClusterSpec, blueprint: language.Blueprint) -> catalog.Profile:
    """Give the profile with the blueprint's own versions."""
    own: dict[str, Any] = {str(part): version for part, version in blueprint.versions.items()}
    return dataclasses.replace(catalog.profile(cluster.software.profile), **own)


def _own_driver(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find a driver that can't be installed in place."""
    if "driver" not in blueprint.versions or cluster.site is None:
        return
    where, error = source.where("versions", "driver"), finding.Level.ERROR
    if not cluster.software.os.startswith(_WITH_DRIVERS):
        what = f"NVIDIA's driver can't be installed on hosts with the profile `{cluster.software.profile}`"
        why = "it comes from Ubuntu's archive, which has its modules built and signed for each kernel; other distributions build them on each host"
        yield finding.Finding(
            error, Code.SOFTWARE_CONFLICT, where, what, why, "choose a profile of Ubuntu, or install the driver yourself and remove this line"
        )
    elif "kernel" not in dict(cluster.software.versions):
        what = "a driver needs the kernel that its modules are built for"
        why = "Ubuntu's archive has the modules of a driver for some kernels, each in a package of its own"
        remedy = "add `versions.kernel`; `apt-cache search linux-modules-nvidia` on a host lists kernels with their drivers"
        yield finding.Finding(error, Code.SOFTWARE_CONFLICT, where, what, why, remedy)


def _archives(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find versions and mirrors of GPU software on hosts whose profile installs none of it; images of clouds have the profile's versions."""
    target = lookup.target_of(cluster)
    if cluster.site is None and (target is None or target.hosts != "cloud"):
        return
    used = {name.removesuffix(_ARCHIVE_KEY) for name, _ in cluster.software.origins if name.endswith(_ARCHIVE_KEY)}
    own = blueprint.versions if cluster.site else {}
    parts = [("versions", str(part)) for part in own if part in catalog.VENDOR_ARCHIVES and catalog.VENDOR_ARCHIVES[part] not in used]
    mirrors = [("archives", str(name)) for name in blueprint.archives if name not in used]
    for section, name in (*parts, *mirrors):
        what = (
            f"the software profile `{cluster.software.profile}` installs nothing from {'an archive for ' if section == 'versions' else 'the archive '}`{name}`"
        )
        why = "only profiles with NVIDIA's driver name the keys of NVIDIA's archives; with others, jobs or the hosts' owner bring CUDA and NCCL"
        fitting = [one for one in catalog.software_names(cluster.target) if any(origin.endswith(_ARCHIVE_KEY) for origin, _ in catalog.profile(one).origins)]
        remedy = f"choose {message_text.listed(f'`{one}`' for one in fitting)}, or remove this line"
        yield finding.Finding(finding.Level.ERROR, Code.SOFTWARE_CONFLICT, source.where_key(section, name), what, why, remedy)


def _login(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    access = cluster.access
    compute = {node_set.hosts.machine.arch for node_set in cluster.node_sets}
    if access.count and compute and access.machine.arch not in compute:
        what = f"login nodes have {access.machine.arch} processors, and compute nodes have {message_text.listed(sorted(compute))} processors"
        why = "programs that users build on a login node don't run in their jobs"
        named = blueprint.access.machine
        where = source.where("access", "machine") if named else source.where_key("access")
        target = lookup.target_of(cluster)
        usual = next((target.login_machines[arch] for arch in sorted(compute) if arch in target.login_machines), None) if target else None
        remedy = f"write `machine: {usual}` under `access`, or build programs in jobs" if usual else "build programs in jobs"
        yield finding.Finding(finding.Level.WARNING, Code.LOGIN_ARCHITECTURE, where, what, why, remedy)


def _matrix(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    profile = _profile(cluster, blueprint)
    reported: set[str] = set()
    for node_set in cluster.node_sets:
        accelerator = lookup.accelerator_of(node_set)
        if accelerator is None or lookup.has_own_image(cluster, node_set) or lookup.machine_of(cluster, node_set.hosts.machine.name) is None:
            continue
        fabric, addons = node_set.fabric.name if node_set.fabric else None, lookup.addons_of(cluster, node_set)
        for fault in catalog.faults(profile, accelerator.architecture, fabric, nvlink=accelerator.nvlink, addons=addons):
            if fault.rule not in reported:
                reported.add(fault.rule)
                fitting = lookup.supporting_profiles(cluster, node_set.hosts.machine.arch, accelerator, fabric, addons=addons)
                in_pool = source.where_key("pools", node_set.pool)
                where = source.where("software") if source.at("software") and fitting else in_pool
                other = _without_profile(cluster, blueprint.pools.get(node_set.pool), node_set, accelerator)
                remedy = f"choose a profile that supports these nodes: {', '.join(fitting)}" if fitting else other
                yield finding.Finding(finding.Level.ERROR, Code.SOFTWARE_CONFLICT, where, fault.what, fault.why, remedy)


def _clients(profile: catalog.Profile, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find file systems that hosts with this profile can't mount."""
    for name, entry in blueprint.storage.items():
        kind = _LUSTRE if _LUSTRE_NETWORK in (entry.source or "") else entry.kind
        if profile.storage and kind not in profile.storage:
            what = f"the software profile `{profile.profile}` has no client for storage of the kind `{kind}`"
            why = f"hosts can't mount {name}; the profile has clients for {message_text.listed(f'`{one}`' for one in profile.storage)}"
            where = source.where_key("storage", name, "source" if entry.kind != kind else "kind")
            yield finding.Finding(finding.Level.ERROR, Code.SOFTWARE_CONFLICT, where, what, why, "choose another kind of storage, or another software profile")


def _without_profile(cluster: spec.ClusterSpec, pool: language.Pool | None, node_set: spec.NodeSet, accelerator: catalog.Accelerator) -> str:
    """Say what to do where no profile supports the machine: another machine with as many GPUs, or an image that its owner made."""
    machine = node_set.hosts.machine
    alike = [one for one in catalog.machines(cluster.target).values() if one.arch == machine.arch and one.gpus == (machine.gpus.count if machine.gpus else 0)]
    fitting = [one for one in alike if one.accelerator and _has_profile(cluster, node_set, one, catalog.accelerators()[one.accelerator])]
    largest = max(fitting, key=lambda one: (one.gpu_memory_gib or 0, one.fabric_nics * one.fabric_nic_gbps, -one.fabric_nics), default=None)
    own = f"build an image that has what is missing and name it as `pools.{node_set.pool}.image`"
    no_profile = f"no software profile of this version supports {accelerator.description.partition(' (')[0]} there"
    if largest is None:
        return f"{no_profile}: {own}"
    replaced = "`accelerator` and `gpus_per_node`" if pool and pool.accelerator else "`machine`" if pool and pool.machine else "`machines`"
    return f"{no_profile}: write `machine: {largest.name}` instead of {replaced}, or {own}"


def _has_profile(cluster: spec.ClusterSpec, node_set: spec.NodeSet, machine: catalog.MachineType, accelerator: catalog.Accelerator) -> bool:
    """Say whether a profile supports another machine in the place of these nodes."""
    return bool(lookup.supporting_profiles(cluster, machine.arch, accelerator, machine.fabric, addons=lookup.addons_of(cluster, node_set)))


def _slurm(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    version = cluster.software.slurm
    for name, where in _asked(cluster, blueprint, source):
        if version and not catalog.slurm_has(version, name):
            feature = catalog.slurm_features()[name]
            what = f"Slurm {version} of the profile `{cluster.software.profile}` does not support {feature.what}"
            why = f"Slurm {feature.since} and later supports it"
            newer = (one for one in catalog.software_names(cluster.target) if catalog.slurm_has(catalog.profile(one).slurm, name))
            fitting = [one for one in newer if all(one in lookup.profiles_of(cluster, node_set) for node_set in cluster.node_sets)]
            none = (
                f"no software profile of this version with Slurm {feature.since} or newer supports these nodes; {_ways_out(cluster).get(name, 'do without it')}"
            )
            remedy = f"choose a profile with a newer Slurm: {', '.join(fitting)}" if fitting else none
            yield finding.Finding(finding.Level.WARNING, Code.SLURM_TOO_OLD, where, what, why, remedy)


def _ways_out(cluster: spec.ClusterSpec) -> dict[str, str]:
    """Give by feature of Slurm what to do where no profile brings a Slurm that has it."""
    size = next((one.hosts.machine.domain_nodes for one, _ in cluster.slurm_node_sets if one.hosts.machine.domain_nodes), 1)
    return {
        "block-sizes": f"write multiples of {size} nodes and no other pool, or do without blocks",
        "imex": "write `rack` for each host in `inventory.hosts`" if cluster.site else "start NVIDIA's IMEX daemon in your jobs",
    }


def _asked(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[tuple[str, finding.Position]]:
    """List the Slurm features that the cluster requires, with the keys that require them."""
    if cluster.controllers > 1:
        yield "backup-controller-check", source.where("control", "highly_available")
    domains = [node_set.pool for node_set, _ in cluster.slurm_node_sets if _has_domain(node_set, cluster, blueprint)]
    if domains:
        where = source.where_key("pools", domains[0])
        yield "topology-block", where
        if len(_block_sizes(cluster)) > 1:
            yield "block-sizes", where
        if not _is_joined(cluster):
            yield "imex", where


def _is_joined(cluster: spec.ClusterSpec) -> bool:
    """Say whether the hosts' own daemons join all nodes of NVLink domains, by rack or by job, so that Slurm needn't."""
    joined = {name for hosts in nvlink_domains.of_racks(cluster).values() for name in hosts}
    several = [node_set for node_set, _ in cluster.slurm_node_sets if node_set.hosts.machine.domain_nodes and node_set.hosts.count > 1]
    return joined >= {name for node_set in several if node_set.placement != spec.IN_DOMAINS for name in node_set.hosts.hostnames}


def _block_sizes(cluster: spec.ClusterSpec) -> set[int]:
    """Give how many nodes Slurm's blocks have, which are the NVLink domains and each other node set; nothing where a domain is unknown."""
    domains = spec.nvlink_domains(cluster)
    blocks: Counter[tuple[bool, str]] = Counter()
    for node_set, _ in cluster.slurm_node_sets:
        is_joined = node_set.hosts.machine.domain_nodes is not None
        blocks.update((is_joined, domains.get(name, "") if is_joined else node_set.hosts.name) for name in node_set.hosts.hostnames)
    return set() if (True, "") in blocks else {*blocks.values()}


def _has_domain(node_set: spec.NodeSet, cluster: spec.ClusterSpec, blueprint: language.Blueprint) -> bool:
    pool = blueprint.pools.get(node_set.pool)
    # The hosts of a rehearsal declare the named machine, but run on this machine.
    names = (node_set.hosts.machine.name, *((pool.machine or "", *pool.machines) if pool else ()))
    machines = [lookup.named_machine(cluster, name) for name in names]
    return any(machine is not None and machine.domain_nodes is not None for machine in machines)
