"""The capability layer: what hosts can do: GPUs, interfaces, processors, file systems and their free space. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints import spec
from blueprints.finding import Finding
from blueprints.finding.subject import FileSystem, Gpu, HostPart, Mount, Port

from .. import host_folders, registry
from .codes import Code
from .finding import Unchecked, drift
from .layer import Layer
from .recorded_cluster import Known, KnownHost

LEAST_FREE = 0.05
"""Share of a file system, in space and in numbers of files, below which it counts as nearly full."""
RDMA_ACTIVE = "ACTIVE"


def mounts(cluster: spec.ClusterSpec, role: str) -> tuple[str, ...]:
    """Name what a host of a role has mounted."""
    target = registry.discovery(cluster.target)
    own = target.mounts(role, controllers=cluster.controllers) if target else ()
    return (*(one.mount for one in cluster.storage), *own)


def findings(known: Known, facts: Mapping[KnownHost, Mapping[str, Any]]) -> Iterator[Finding]:
    """Compare what hosts have with the resolved cluster."""
    sets = {node_set.hosts.name: node_set for node_set in known.cluster.node_sets}
    yield from _kinds(facts)
    yield from _space(known.cluster, facts)
    for host, of_host in facts.items():
        yield from _mounts(host, of_host["mounts"], known.cluster)
        if host.role == "compute" and host.group in sets:
            node_set = sets[host.group]
            yield from _gpus(host, of_host["gpus"], node_set.hosts.machine)
            yield from _mig(host, of_host["gpus"].get("mig") or {}, node_set.hosts.machine.gpus)
            yield from _hardware(host, of_host["hardware"], node_set.hosts.machine)
            yield from _fabric(host, of_host["nics"], node_set.fabric)


def unchecked(known: Known) -> Iterator[Unchecked]:
    """Name what could not be compared."""
    for node_set in known.cluster.node_sets:
        gpus = node_set.hosts.machine.gpus
        if gpus and gpus.simulated:
            yield Unchecked(Layer.CAPABILITY, f"{node_set.hosts.name}: GPUs themselves", "they are simulated: device nodes are counted, no driver is asked")
        if not node_set.fabric:
            yield Unchecked(Layer.CAPABILITY, f"{node_set.hosts.name}: link rates", "there is no fabric between these nodes")


def _mounts(host: KnownHost, present: Mapping[str, Mapping[str, Any]], cluster: spec.ClusterSpec) -> Iterator[Finding]:
    for target in mounts(cluster, host.role):
        subject, mounted = Mount(host.name, target), present.get(target)
        if mounted is None:
            remedy = f"`clusterwright drift fix` mounts it where the host's own tables name it, else `clusterwright rebuild {host.name}`"
            yield drift(Code.MOUNT_MISSING, subject, "the file system is not mounted", remedy=remedy, desired="mounted", recorded="mounted")
            continue
        if "error" in mounted:
            what = "the file system doesn't answer"
            yield drift(Code.MOUNT_MISSING, subject, what, remedy="check its server", desired="mounted", recorded="mounted", actual=mounted["error"])
        is_read_only = "ro" in mounted["options"]
        if is_read_only and not (target == host_folders.CLUSTER and host.role != "control"):
            remedy = f"`mount -o remount,rw {target}` on {host.name}; read `journalctl --dmesg` first: the kernel does this to a failing disk"
            what = "the file system is mounted read-only"
            yield drift(Code.MOUNT_CHANGED, subject, what, remedy=remedy, desired="rw", recorded="rw", actual="ro")


def _kinds(facts: Mapping[KnownHost, Mapping[str, Any]]) -> Iterator[Finding]:
    """Compare the kind of each file system among all hosts that mount it: one that has something else there is not part of the cluster's storage."""
    for target in sorted({target for of_host in facts.values() for target in of_host["mounts"]}):
        kinds = {host: of_host["mounts"][target]["kind"] for host, of_host in facts.items() if target in of_host["mounts"]}
        most = Counter(kinds.values()).most_common(1)[0][0]
        for host, kind in kinds.items():
            if kind != most:
                remedy = f"`umount {target}` on {host.name} shows what is below it; or `clusterwright rebuild {host.name}`"
                what = "another kind of file system is mounted there than on the other hosts"
                yield drift(Code.MOUNT_CHANGED, Mount(host.name, target), what, remedy=remedy, desired=most, recorded=most, actual=kind)


def _space(cluster: spec.ClusterSpec, facts: Mapping[KnownHost, Mapping[str, Any]]) -> Iterator[Finding]:
    """Give one finding for each file system that is nearly full, however many mount points of a host lie on it and however many hosts mount the same storage."""
    storage = [one.mount for one in cluster.storage]
    for what, size, free in (("space", "size_bytes", "free_bytes"), ("files", "inodes", "free_inodes")):
        said: set[str] = set()
        for host, of_host in facts.items():
            full = {mount: at for mount, at in of_host["mounts"].items() if at.get(size) and at[free] < LEAST_FREE * at[size]}
            by_device: dict[object, list[str]] = {}  # one file system of a host, bound to several places
            for mount in sorted(full, key=lambda one: (one not in storage, one)):
                by_device.setdefault(full[mount].get("device", mount), []).append(mount)
            for mount, *others in by_device.values():
                if mount in storage:
                    if mount in said:
                        continue
                    said.add(mount)
                also = f"; {', '.join(others)} is the same" if others else ""
                yield drift(
                    Code.SPACE,
                    FileSystem(host.name, mount, what),
                    f"the file system is nearly full ({what}){also}",
                    remedy=f"free some of it, or make it larger; `du -xsh {mount.rstrip('/')}/*` shows what takes it",
                    desired=f"at least {LEAST_FREE:.0%} free",
                    actual=f"{full[mount][free] / full[mount][size]:.1%} free",
                )


def _gpus(host: KnownHost, gpus: Mapping[str, Any], machine: spec.Machine) -> Iterator[Finding]:
    wanted = machine.gpus.count if machine.gpus else 0
    minors = {device["minor"] for device in gpus["devices"]}
    remedy = f"`journalctl --dmesg` on {host.name} shows the kernel's log; `clusterwright rebuild {host.name}`"
    for number in range(wanted):
        subject = Gpu(host.name, number)
        device = next((one for one in gpus["devices"] if one["path"] == f"/dev/nvidia{number}"), None)
        if device is None:
            yield drift(
                Code.GPU_MISSING,
                subject,
                "the GPU has no device node",
                remedy=remedy,
                desired=f"/dev/nvidia{number}",
                recorded=f"/dev/nvidia{number}",
            )
        elif device["minor"] != number or int(device["mode"], 8) & 0o006 != 0o006:
            actual = f"{device['major']}:{device['minor']}, {device['mode']}"
            what = "the GPU's device node has another number or mode"
            yield drift(Code.GPU_DEVICE, subject, what, remedy=remedy, desired=f"minor {number}, 0666", actual=actual)
    for minor in sorted(minors):
        if minor >= wanted:
            what = "the host has a GPU that the blueprint doesn't have"
            yield drift(
                Code.GPU_ADDED,
                Gpu(host.name, minor),
                what,
                remedy="correct the pool's accelerator in the blueprint",
                actual=f"/dev/nvidia{minor}",
            )
    counted = gpus["driver_count"]
    if counted is not None and counted < wanted:
        what = "the driver sees fewer GPUs"
        yield drift(Code.GPU_MISSING, HostPart(host.name, "GPUs of the driver"), what, remedy=remedy, desired=str(wanted), actual=str(counted))


def _mig(host: KnownHost, found: Mapping[str, Any], gpus: spec.Gpus | None) -> Iterator[Finding]:
    wanted = {one.profile: one.per_gpu for one in gpus.mig} if gpus else {}
    desired = _layout(wanted, sum(wanted.values()) * (gpus.count if gpus else 0))
    actual = _layout(found.get("layout", {}), found.get("instances", 0))
    if actual == desired and not found.get("refused"):
        return
    what = "the node's GPUs are divided otherwise than the blueprint says"
    remedy = f"`clusterwright drift fix` drains the node and divides them again; `journalctl -u clusterwright-mig` on {host.name} shows what the driver said"
    said = f"{actual}: {found['refused']}" if found.get("refused") else actual
    yield drift(Code.MIG_LAYOUT, HostPart(host.name, "MIG layout"), what, remedy=remedy, desired=desired, recorded=desired, actual=said)


def _layout(of_each: Mapping[str, int], count: int) -> str:
    if not of_each and not count:
        return "whole GPUs"
    return f"{', '.join(f'{number} x {profile}' for profile, number in sorted(of_each.items())) or 'unknown'} on each GPU, {count} instances"


def _hardware(host: KnownHost, hardware: Mapping[str, int], machine: spec.Machine) -> Iterator[Finding]:
    if not machine.exists:
        return
    for what, wanted, actual, unit in (("processors", machine.cpus, hardware["cpus"], ""), ("memory", machine.memory_mib, hardware["memory_mib"], " MiB")):
        if actual < wanted:
            yield drift(
                Code.HARDWARE,
                HostPart(host.name, what),
                f"the host has less {what} than slurm.conf declares",
                remedy="look for a failed part (`dmesg`), or correct the catalogue's entry of this machine",
                desired=f"{wanted}{unit}",
                actual=f"{actual}{unit}",
            )


def _fabric(host: KnownHost, nics: Mapping[str, Mapping[str, str]], fabric: spec.Fabric | None) -> Iterator[Finding]:
    if not fabric:
        return
    ports = {name: nic for name, nic in nics.items() if nic["kind"] == "rdma"}
    active = {name: nic for name, nic in ports.items() if RDMA_ACTIVE in nic["state"]}
    remedy = f"`ibstat` or `rdma link` on {host.name} shows its ports; `clusterwright rebuild {host.name}`"
    for name, nic in sorted(ports.items()):
        if name not in active:
            yield drift(Code.NIC, Port(host.name, name), "the port is not active", remedy=remedy, desired="ACTIVE", actual=nic["state"])
    if len(ports) < fabric.nics:
        what = "interfaces of the fabric are missing"
        yield drift(Code.NIC, HostPart(host.name, "fabric"), what, remedy=remedy, desired=str(fabric.nics), actual=str(len(ports)))
    rates = {name: rate_gbps(nic["rate"]) for name, nic in active.items() if rate_gbps(nic["rate"])}
    fastest = max(rates.values(), default=0.0)
    for name, rate in sorted(rates.items()):
        if rate < fastest:
            what = "the port runs slower than the others"
            yield drift(
                Code.NIC,
                Port(host.name, name, "rate"),
                what,
                remedy="reseat or replace its cable",
                desired=f"{fastest:g} Gb/s",
                actual=f"{rate:g} Gb/s",
            )


def rate_gbps(text: str) -> float:
    """Read a rate as the kernel writes it (`400 Gb/sec (4X NDR)`); 0 when it gives none."""
    matched = re.match(r"([\d.]+) Gb/sec", text)
    return float(matched.group(1)) if matched else 0.0
