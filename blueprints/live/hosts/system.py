"""Distribution, disks, clock, packages and pending restarts of hosts, compared with the software profile."""

from collections.abc import Iterator, Sequence

from ... import finding, message_text, spec
from ...codes import Code
from .fault import Fault, listed
from .subject import Subject

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "arm64"}
CLOCK_OFF_S = 1.0
"""Programs that several hosts run together order events by their clocks; NTP keeps hosts of one site within milliseconds."""
CLOCK_REFUSED_S = 60.0
"""Finishing refuses a host whose clock is off by more (`time_max_skew_s` of the role time)."""
LEAST_FILES_PERCENT = 2
MIB_PER_GIB = 1024


def check(cluster: spec.ClusterSpec, subjects: Sequence[Subject]) -> Iterator[Fault]:
    """Find hosts whose system has to change before the cluster's software can be installed."""
    for subject in subjects:
        yield from _distribution(cluster, subject, subjects)
        yield from _disks(cluster, subject)
        yield from _clock(subject)
        yield from _packages(subject)
        yield from _restart(subject)


def _distribution(cluster: spec.ClusterSpec, subject: Subject, subjects: Sequence[Subject]) -> Iterator[Fault]:
    software, system = cluster.software, subject.facts
    if system.os != software.os:
        others = sorted({one.facts.os for one in subjects if one.group.name == subject.group.name} - {system.os})
        mixed = f"; hosts of `{subject.group.name}` run {message_text.listed(sorted([*others, system.os]))}" if others else ""
        what = f"{system.os_title or system.os or 'an unknown system'} does not fit the software profile {software.profile}"
        why = f"the profile is for {software.os}: it names the versions of that distribution's packages{mixed}"
        remedy = (
            f"install {software.os} on {{hosts}}, write a `software` for {system.os} (`clusterwright catalog software`), or give these hosts another cluster"
        )
        yield Fault(subject.name, Code.HOST_SYSTEM_UNFIT, what, why, remedy)
    arch = ARCHITECTURES.get(system.arch, system.arch)
    if arch != subject.group.machine.arch:
        what = f"the processors are {arch}, and the blueprint plans {subject.group.machine.arch}"
        remedy = "choose a machine and a software profile of this architecture"
        yield Fault(subject.name, Code.HOST_SYSTEM_UNFIT, what, "packages of one architecture don't run on the other", remedy)
    if not system.has_systemd:
        yield Fault(subject.name, Code.HOST_SYSTEM_UNFIT, "systemd does not run", "Slurm's daemons are units of systemd", "boot {hosts} with systemd")


def _disks(cluster: spec.ClusterSpec, subject: Subject) -> Iterator[Fault]:
    needed = _needed_mib(cluster, subject)
    for folder, disk in subject.facts.disks.items():
        least = needed.get(folder, 0)
        if disk.is_read_only and least:
            yield Fault(
                subject.name,
                Code.HOST_DISK_FULL,
                f"the file system of {folder} is read-only",
                "packages go there",
                "find out why (`{login} dmesg`), and mount it for writing",
            )
        elif disk.free_mib < least:
            what = f"no room for packages in {folder}"
            why = f"they need about {_size(least)} there"
            detail = f"{_size(disk.free_mib)} of {_size(disk.size_mib)} are free"
            remedy = f"free some of it: `{{login}} sudo du -xh --max-depth=2 {folder}` shows what uses it"
            yield Fault(subject.name, Code.HOST_DISK_FULL, what, why, remedy, detail=detail)
        elif disk.free_files_percent < LEAST_FILES_PERCENT and least:
            what = f"the file system of {folder} has no room for more files"
            remedy = f"delete files: `{{login}} sudo du -x --inodes --max-depth=2 {folder}` shows where they are"
            yield Fault(subject.name, Code.HOST_DISK_FULL, what, f"{disk.free_files_percent} % of its inodes are free", remedy)


PACKAGES_MIB = {"control": 1280, "access": 1024, "compute": 1024}
"""Room for Slurm, MUNGE, Open MPI, compilers and (on controllers) MariaDB with the downloaded packages and lists: apt-get on Debian 13, 2026-11, says 943 + 206 + 91 and 721 + 177 + 91 MB."""
DOWNLOADS_MIB = 300
"""What of it is in /var while packages are installed: downloads and lists."""
DRIVER_MIB = 2560
"""Room for kernel, headers, firmware and NVIDIA's driver 580: apt-get on Ubuntu 24.04, 2026-11, says 1485 + 1009 MB."""
BOOT_MIB = 128
"""The package of a kernel has 55 MB of Ubuntu 24.04 (apt-get, 2026-11), and the initial RAM file system is made beside it."""


def _needed_mib(cluster: spec.ClusterSpec, subject: Subject) -> dict[str, int]:
    """Give how much room packages need, by the folder whose file system holds them."""
    versions = dict(cluster.software.versions)
    least = PACKAGES_MIB.get(subject.group.role, PACKAGES_MIB["compute"])
    if subject.gpus and "driver" in versions:
        least += DRIVER_MIB
    disks = subject.facts.disks
    packages = "/usr" if "/usr" in disks else "/"
    boot = {"/boot": BOOT_MIB} if "/boot" in disks and "kernel" in versions else {}
    downloads = {folder: DOWNLOADS_MIB for folder in ("/var", "/var/lib", "/var/cache/apt") if folder in disks}
    return {packages: least, **downloads, **boot}


def _size(mib: int) -> str:
    return f"{mib / MIB_PER_GIB:.1f} GiB" if mib >= MIB_PER_GIB else f"{mib} MiB"


def _clock(subject: Subject) -> Iterator[Fault]:
    clock = subject.facts.clock
    ours = distance_s(subject)
    service = clock.service or "no time service"
    theirs = clock.offset_s or 0.0
    worst = max((ours, theirs), key=abs)
    if abs(worst) > CLOCK_OFF_S:
        by = f"{service} reports it" if worst is theirs else "compared with this machine's clock"
        what = f"the clock is off by more than {CLOCK_REFUSED_S if abs(worst) > CLOCK_REFUSED_S else CLOCK_OFF_S:g} s"
        why = "MUNGE refuses credentials of a host whose clock differs, and logs of several hosts can't be compared"
        remedy = "correct it with `{login} sudo chronyc makestep`, or configure the host's time service"
        level = _ERROR if abs(worst) > CLOCK_REFUSED_S else _WARNING
        yield Fault(subject.name, Code.HOST_CLOCK_OFF, what, why, remedy, level, f"{worst:+.1f} s, {by}")
    elif clock.is_synchronized is False or (not clock.service and not subject.facts.in_container):
        what = f"{service} follows no time source" if clock.service else "no time service runs"
        why = "clocks without a source drift apart by seconds in a week"
        remedy = (
            "name a time source that the host reaches: `{login} chronyc sources` lists those it has"
            if clock.service
            else "install one (`{login} sudo apt-get install chrony`), and name a time source that the host reaches"
        )
        yield Fault(subject.name, Code.HOST_CLOCK_OFF, what, why, remedy, _WARNING)


def distance_s(subject: Subject) -> float:
    """Give how far a host's clock is certainly off, seconds; 0 where its time lies between question and answer."""
    begun, ended = subject.answer.asked_s
    facts = subject.facts
    if not ended or begun <= facts.epoch_s <= ended - facts.took_s:
        return 0.0
    return facts.epoch_s - (ended - facts.took_s) if facts.epoch_s > ended - facts.took_s else facts.epoch_s - begun


def _packages(subject: Subject) -> Iterator[Fault]:
    packages = subject.facts
    if packages.locked_by:
        what, why = "the package manager is in use", "no second program can install packages meanwhile"
        yield Fault(subject.name, Code.HOST_PACKAGES_BUSY, what, why, "wait until it ends, and check again", _WARNING, packages.locked_by)
    elif packages.incomplete:  # while it is in use, packages that are half installed are what it works on
        what, why = "packages are half installed", "the package manager refuses to install others"
        remedy = "complete them: `{login} sudo dpkg --configure --pending`, then `{login} sudo apt-get --fix-broken install`"
        yield Fault(subject.name, Code.HOST_PACKAGES_BROKEN, what, why, remedy, detail=listed(packages.incomplete))
    if packages.upgrades_unattended:
        what = "packages are upgraded unattended"
        why = "an upgrade of Slurm, kernel or driver under a running job ends it: adopting turns this off, releasing turns it on again"
        yield Fault(subject.name, Code.HOST_UPGRADES, what, why, "nothing, or turn it off: `{login} sudo systemctl disable --now unattended-upgrades`", _NOTE)


def _restart(subject: Subject) -> Iterator[Fault]:
    waiting = subject.facts.restart_for
    if waiting:
        what, why = "a restart is pending", "what was installed last does not run yet: a driver would be built for the running kernel, not for the next one"
        yield Fault(subject.name, Code.HOST_RESTART, what, why, "restart it before `up`: `{login} sudo systemctl reboot`", _WARNING, f"for {listed(waiting)}")
