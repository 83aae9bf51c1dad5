"""The versions layer: what runs on every host against the software profile, and hosts against each other. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints import catalog, spec
from blueprints.finding import Finding
from blueprints.finding.subject import SoftwareVersion

from .. import bake
from .codes import Code
from .finding import Unchecked, drift
from .layer import Layer
from .recorded_cluster import Known, KnownHost

HARDWARE_ONLY = frozenset(
    {
        "driver",
        "cuda",
        "nccl",
        "fabric_manager",
        "nvlsm",
        "efa_installer",
        "ofi_nccl",
        "gib",
        "tcpxo",
        "rxdm",
        "dmabuf_import_helper",
        "dcgm",
        "container_toolkit",
        "nccl_tests",
        "doca_ofed",
        "rdma_core",
        "gdrcopy",
    }
)
"""Versions that a host without the hardware has no use for."""
IN_PLACE = ("kernel", "driver", "cuda", "nccl", "dcgm", "container_toolkit", "nccl_tests", "lustre_client")
"""Versions that a server which exists already gets in place, and restarts for; in the order in which they are installed."""
OF_GPUS = frozenset({"driver", "cuda", "nccl", "dcgm", "container_toolkit", "nccl_tests"})
"""Versions in place that a host without GPUs has no use for."""
JOBS_BRING = frozenset({"cuda", "nccl"})
"""Versions that come in containers and environments where the profile names no archive for them."""
KEY = "_archive_key"
"""Ends the names of origins that are fingerprints of archives' keys."""
SIMULATED = "nvidia_archive_simulated"
"""Among the origins: NVIDIA's packages are stand-ins, and so is their compiler."""
BUILT = frozenset({"nccl_tests"})
"""Versions that are built on the host with CUDA's compiler."""
ANY = "any"


def wanted(cluster: spec.ClusterSpec) -> dict[str, str]:
    """Give what the profile asks for, by name."""
    software = cluster.software
    named = dict(software.versions)
    if "driver" in named:
        named["fabric_manager"] = named["driver"]  # they work in the same version alone
    own = {"os": software.os, "slurm": software.slurm if cluster.slurm else "", "arch": software.arch}
    return {**named, **{name: version for name, version in own.items() if version and version != ANY}}


def in_place(cluster: spec.ClusterSpec, group: str) -> dict[str, str]:
    """Give what hosts of a group get in place: name → version. Hosts that a target creates have it from their image."""
    if cluster.site is None:
        return {}
    named = dict(cluster.software.versions)
    archives = {name.removesuffix(KEY) for name, _ in cluster.software.origins if name.endswith(KEY)}
    reachable = [name for name in IN_PLACE if name in named and catalog.VENDOR_ARCHIVES.get(name) in (None, *archives)]
    if SIMULATED in dict(cluster.software.origins):
        reachable = [name for name in reachable if name not in BUILT]
    return {name: named[name] for name in reachable if name not in OF_GPUS or _has_gpus(cluster, group)}


def baked(cluster: spec.ClusterSpec, group: str) -> frozenset[str]:
    """Give the names of what hosts of a group have from their image since the profile names the archive; in others, jobs bring it."""
    if cluster.site is not None or not _has_gpus(cluster, group):
        return frozenset()
    origins = dict(cluster.software.origins)
    unbuilt = BUILT if SIMULATED in origins else frozenset()
    return frozenset(name for name in dict(cluster.software.versions) if f"{catalog.VENDOR_ARCHIVES.get(name)}{KEY}" in origins and name not in unbuilt)


def _has_gpus(cluster: spec.ClusterSpec, group: str) -> bool:
    machine = next((one.machine for one in cluster.host_groups if one.name == group), None)
    gpus = machine.gpus if machine else None
    return gpus is not None and not gpus.simulated


def findings(known: Known, facts: Mapping[KnownHost, Mapping[str, Any]]) -> Iterator[Finding]:
    """Compare each host with the profile; what the profile doesn't name is compared among the hosts of a group."""
    asked = wanted(known.cluster)
    reported: set[tuple[str, str]] = set()
    for host, of_host in facts.items():
        for name, version in sorted(asked.items()):
            is_missed = name in in_place(known.cluster, host.group) or name in baked(known.cluster, host.group)
            actual = of_host["versions"].get(name, "" if is_missed else None)
            if actual is not None and not matches(actual, version):
                reported.add((host.group, name))
                yield drift(
                    Code.VERSION,
                    SoftwareVersion(host.name, name),
                    f"{name} is not the software profile's" if actual else f"{name} is missing",
                    remedy=_remedy(known.cluster, host.name, name),
                    desired=version,
                    recorded=version,
                    actual=actual or None,
                )
    older = {name for resource in known.resources for name in resource["outputs"].get(bake.OLDER) or ()}
    for host in facts:
        if host.name in older:
            yield drift(
                Code.OLDER_IMAGE,
                SoftwareVersion(host.name, "image"),
                "the host was created from an earlier image than new hosts",
                remedy=f"`clusterwright rebuild {host.name}`",
            )
    for group in dict.fromkeys(host.group for host in facts):
        members = {host: of_host["versions"] for host, of_host in facts.items() if host.group == group}
        for name in sorted({name for versions in members.values() for name in versions}):
            if (group, name) not in reported:
                everywhere = Counter(of_host["versions"].get(name) for of_host in facts.values())
                yield from _skew(name, {host: versions.get(name) for host, versions in members.items()}, everywhere)


def _remedy(cluster: spec.ClusterSpec, host: str, name: str) -> str:
    if cluster.site is None:
        return f"`clusterwright rebuild {host}`, or change the profile and run `clusterwright up`"
    if name in IN_PLACE and any(host == one for group in cluster.kubernetes_groups for one in group.hostnames):
        return "drain the node, install the version, restart the host and uncordon the node: this version rolls no hosts of Kubernetes"
    if name in IN_PLACE:
        return "run `clusterwright up`, which rolls the hosts that have another one; or change `versions` in the blueprint"
    return "install the profile's system or version on the host, or choose the profile that fits it"


def unchecked(known: Known, facts: Mapping[KnownHost, Mapping[str, Any]]) -> Iterator[Unchecked]:
    """Name the versions that the profile asks for and no host reports."""
    simulated = known.cluster.site is None and bool(known.cluster.simulated)
    for name in sorted(wanted(known.cluster)):
        silent = [host for host, of_host in facts.items() if name not in of_host["versions"] and _may_have(known.cluster, host.group, name)]
        if silent:
            why = "jobs bring it" if name in JOBS_BRING else "the host doesn't report it"
            if simulated and name in HARDWARE_ONLY:
                why = "simulated hosts don't have it"
            where = "all hosts" if len(silent) == len(facts) else ", ".join(host.name for host in silent)
            yield Unchecked(Layer.VERSIONS, f"{where}: {name}", why)


def _may_have(cluster: spec.ClusterSpec, group: str, name: str) -> bool:
    """Say whether a group's hosts may have a version that they don't report: `findings` names what they lack, and GPU software needs GPUs."""
    if cluster.site is None:
        return name not in baked(cluster, group)
    return name not in in_place(cluster, group) and (name not in OF_GPUS or _has_gpus(cluster, group))


def matches(actual: str, asked: str) -> bool:
    """Say whether a version is the one asked for, which may be its beginning (`24.11` for `24.11.5`)."""
    return actual == asked or (actual.startswith(asked) and not actual[len(asked)].isalnum())


def _skew(name: str, versions: Mapping[KnownHost, str | None], everywhere: Mapping[str | None, int]) -> Iterator[Finding]:
    """Name the hosts that differ from most of their group; where two versions are as frequent, the whole cluster decides."""
    counted = Counter(versions.values())
    if len(counted) == 1:
        return
    most = max(counted, key=lambda version: (counted[version], everywhere[version], version or ""))
    for host, version in versions.items():
        if version != most:
            yield drift(
                Code.SKEW,
                SoftwareVersion(host.name, name),
                f"{name} differs from the group's other hosts",
                remedy=f"`clusterwright rebuild {host.name}`, or install the same version on the others",
                recorded=most,
                actual=version,
            )
