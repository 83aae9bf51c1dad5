"""GPUs, processors, memory, interfaces and firmware of hosts, compared with what the blueprint declares."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ... import finding, message_text, spec
from ...codes import Code
from .fault import Fault, listed
from .subject import Subject

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
MEMORY_SHARE = 0.95
"""Of the memory that a machine is sold with, the share that its kernel shows at least: firmware and kernel keep the rest (AWS ParallelCluster gives Slurm this share, `SchedulableMemory`)."""
ALIKE_SHARE = 0.99
"""Hosts of one model show nearly the same memory; a missing module of 24 is 4 %."""


def installed_kernel(cluster: spec.ClusterSpec) -> str:
    """Give the kernel that hosts get, for which DKMS builds the modules of their owner; empty: they keep theirs."""
    return dict(cluster.software.versions).get("kernel", "")


def check(cluster: spec.ClusterSpec, subjects: Sequence[Subject]) -> Iterator[Fault]:
    """Find hosts that are not what the blueprint declares."""
    owners = {spec.port_address(one): subject.name for subject in subjects for one in subject.facts.interfaces.values() if one}
    usual = _usual_memory(subjects)
    for subject in subjects:
        yield from _gpus(subject)
        yield from _drivers(subject)
        yield from _size(subject, usual[subject.group.name])
        yield from _interfaces(subject, owners)
        yield from _serial(subject)
        yield from _modules(subject, installed_kernel(cluster))
    yield from _twice(subjects)


def _gpus(subject: Subject) -> Iterator[Fault]:
    declared, found = subject.gpus, len(subject.facts.gpus)
    is_node = subject.node_set is not None
    if is_node and found != declared:
        wanted = f"{declared} GPUs" if declared else "none"
        what = f"{found or 'no'} GPU{'' if found == 1 else 's'} on the PCI bus, and the blueprint declares {wanted}"
        why = "Slurm sets a node with fewer GPUs than configured to INVALID, and jobs never get GPUs beyond that number"
        remedy = "look for a card that is off or loose (`{login} lspci -d 10de:`), or write the number that it has as `gpus_per_node`"
        yield Fault(subject.name, Code.HOST_GPUS_DIFFER, what, why, remedy, _ERROR if found < declared else _WARNING)
    models = Counter(subject.facts.gpus)
    if is_node and len(models) > 1:
        detail = message_text.listed(f"{count} × 10de:{model.removeprefix('0x')}" for model, count in sorted(models.items()))
        why, remedy = "a pool has GPUs of one type", "`{login} lspci -nn -d 10de:` shows the models"
        yield Fault(subject.name, Code.HOST_GPUS_DIFFER, "GPUs of several models", why, remedy, _WARNING, detail)


def _drivers(subject: Subject) -> Iterator[Fault]:
    hardware = subject.facts
    if subject.gpus and "nouveau" in hardware.modules:
        what, why = "the driver nouveau has the GPUs", "NVIDIA's driver can't use a GPU that another driver has"
        remedy = "keep it from loading: `{login} 'echo blacklist nouveau | sudo tee /etc/modprobe.d/nouveau.conf && sudo update-initramfs -u && sudo systemctl reboot'`"
        yield Fault(subject.name, Code.HOST_GPU_DRIVER, what, why, remedy, _WARNING)
    machine = subject.group.machine
    enabled = sum(mode == "Enabled" for mode in hardware.mig_modes)
    if enabled and machine.gpus and not machine.gpus.mig:
        what, why = f"MIG is on for {enabled} of {len(hardware.mig_modes)} GPUs", "the blueprint divides no GPU, and a job would get slices"
        yield Fault(subject.name, Code.HOST_GPU_DRIVER, what, why, "turn it off: `{login} sudo nvidia-smi -mig 0`, or write `mig` in the pool", _WARNING)


def _usual_memory(subjects: Sequence[Subject]) -> Mapping[str, int]:
    """Give the memory that most hosts of a group have."""
    groups: dict[str, list[int]] = {}
    for subject in subjects:
        groups.setdefault(subject.group.name, []).append(subject.facts.memory_mib)
    return {name: sorted(sizes)[len(sizes) // 2] for name, sizes in groups.items()}


def _size(subject: Subject, usual_mib: int) -> Iterator[Fault]:
    machine, hardware = subject.group.machine, subject.facts
    if machine.cores_per_socket and machine.exists and hardware.cpus and hardware.cpus != machine.cpus:
        what = f"{hardware.cpus} processors, and the blueprint declares {machine.cpus}"
        why = "Slurm sets a node with fewer processors than configured to INVALID" if hardware.cpus < machine.cpus else "jobs get only those that are declared"
        remedy = "correct `cpus_per_node` or `machine`; hyper-threading counts (`{login} lscpu`)"
        yield Fault(subject.name, Code.HOST_SIZE_DIFFERS, what, why, remedy, _ERROR if hardware.cpus < machine.cpus else _WARNING)
    least = int(machine.memory_mib * MEMORY_SHARE)
    if machine.memory_mib and machine.exists and hardware.memory_mib < least:
        what = f"less memory than the {machine.memory_mib // 1024} GiB that the blueprint declares"
        why = "Slurm sets a node with less memory than configured to INVALID"
        remedy = "look for a missing module (`{login} sudo dmidecode --type memory`), or correct `memory` or `machine`"
        yield Fault(subject.name, Code.HOST_SIZE_DIFFERS, what, why, remedy, detail=f"{hardware.memory_mib / 1024:.0f} GiB")
    elif subject.node_set and hardware.memory_mib < usual_mib * ALIKE_SHARE:
        what = f"less memory than the other hosts of the pool {subject.node_set.pool}"
        why = f"most of them have {usual_mib / 1024:.0f} GiB: a memory module may have failed"
        remedy = "look for it with `{login} sudo dmidecode --type memory`"
        yield Fault(subject.name, Code.HOST_SIZE_DIFFERS, what, why, remedy, _WARNING, f"{hardware.memory_mib / 1024:.0f} GiB")


def _interfaces(subject: Subject, owners: Mapping[str, str]) -> Iterator[Fault]:
    there = subject.facts.interfaces
    macs = set(there.values())
    ports = set(map(spec.port_address, macs))
    for wanted in subject.host.interfaces:
        if wanted.mac and spec.port_address(wanted.mac) not in ports:
            owner = owners.get(spec.port_address(wanted.mac))
            detail = f"{wanted.mac} is an interface of {owner}" if owner else f"it has {listed(sorted(macs - {''}), most=8) if macs - {''} else 'none'}"
            what = f"no interface with the hardware address of `{wanted.name}`"
            why = "the address and routes of the inventory would go to no interface"
            yield Fault(subject.name, Code.HOST_INTERFACE_MISSING, what, why, "correct `mac` in the inventory: `{login} ip -br link` shows all", detail=detail)
        elif not wanted.mac and wanted.name not in there:
            what, why = f"no interface `{wanted.name}`", "without `mac`, the inventory names an interface of the host by its name"
            yield Fault(
                subject.name,
                Code.HOST_INTERFACE_MISSING,
                what,
                why,
                "write its `mac`, or the name that `{login} ip -br link` shows",
                detail=f"it has {listed(sorted(there), most=8)}",
            )


def _serial(subject: Subject) -> Iterator[Fault]:
    wanted, found = subject.host.serial, subject.facts.serial
    if wanted and found and wanted != found:
        what, why = "another serial number than in the inventory", "the address leads to another machine, or its board was replaced"
        yield Fault(
            subject.name,
            Code.HOST_OTHER_MACHINE,
            what,
            why,
            "correct `serial` or `address` in the inventory",
            detail=f"the inventory has {wanted}, the machine {found}",
        )


def _modules(subject: Subject, kernel: str) -> Iterator[Fault]:
    """Find hosts whose owner's modules (DKMS) can't be built for the kernel that they get, or may not be loaded by it."""
    facts = subject.facts
    if facts.headers is None or not kernel:
        return
    if facts.headers == "none":
        what = f"DKMS builds modules on the host, and the kernel {kernel} has no headers"
        why = "`up` installs this kernel, and the host restarts with it only when every module is built for it; its archives have the kernel without headers"
        remedy = "add the archive that has them, write a kernel with headers as `versions.kernel`, or remove DKMS: `{login} 'dkms status; apt-cache policy linux-headers-generic'`"
        yield Fault(subject.name, Code.HOST_KERNEL_HEADERS, what, why, remedy)
    if facts.is_secure_boot:
        what = "Secure Boot is on, and DKMS builds modules on the host"
        why = "the kernel loads modules that are built on the host only if their key is enrolled"
        remedy = "turn it off in the firmware, or enrol the key of DKMS at the console (`{login} sudo mokutil --import /var/lib/dkms/mok.pub`)"
        yield Fault(subject.name, Code.HOST_SECURE_BOOT, what, why, remedy, _WARNING)


def _twice(subjects: Sequence[Subject]) -> Iterator[Fault]:
    """Find one machine under two names, and machines whose disks were copied from one."""
    by_id: dict[str, list[Subject]] = {}
    for subject in subjects:
        by_id.setdefault(subject.facts.machine_id, []).append(subject)
    for identifier, several in by_id.items():
        if len(several) < 2 or not identifier:
            continue
        macs = [frozenset(one for one in subject.facts.interfaces.values() if one) for subject in several]
        if frozenset.intersection(*macs):
            what, why = "one machine under several names", "they have the same hardware addresses and the same /etc/machine-id"
            remedy = "take all but one of them out of the inventory, or correct their addresses"
        else:
            what, why = (
                "the same /etc/machine-id on several hosts",
                "it was copied with the system; a host is recognised by it, and DHCP servers give both one address",
            )
            remedy = "give each its own: `{login} 'sudo rm /etc/machine-id && sudo systemd-machine-id-setup && sudo systemctl reboot'`"
        for subject in several:
            yield Fault(subject.name, Code.MACHINE_TWICE, what, why, remedy)
