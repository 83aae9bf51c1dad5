"""What an attacker or a hurried administrator leaves on a host outside of the places that are recorded. Reads every inode of the root file system, so only drift checks ask for it."""

import glob
import os
import re
import stat
import subprocess
from collections.abc import Collection
from typing import Any

from ansible.module_utils import host_places

from . import adoption, asking, places
from .digests import Digests

PRUNED = (
    "/proc",
    "/sys",
    "/run",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/enroot",
    "/var/lib/snapd",
)
"""Container images, which are hosts of their own, and what is no disk."""
STARTS = ("/", "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - only read
OPEN = ("/tmp/", "/var/tmp/", "/dev/shm/", "/var/crash/")  # noqa: S108 - only read
"""Folders that everybody may write to by design."""
READ_WITHIN_S = 60
PROGRAM_FOLDERS = ("/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libx32/")
LOADED = r".*\.(so(\.[^/]*)?|pth)|/usr/lib/python3.*\.py"
"""What programs load without the right to execute: modules of PAM, plug-ins of Slurm, libraries, modules of Python. For find(1), too."""
CRITICAL = re.compile(r"/usr/(s?bin|lib/(systemd|openssh|sudo|udev|[a-z0-9_]+-linux-gnu/security))/")
"""Packages' files here are compared with their packages, whether the package is held or not."""
CONFIGURATION = (
    "/usr/lib/systemd/system", "/usr/lib/systemd/user", "/usr/lib/systemd/system-generators", "/usr/lib/systemd/system-shutdown", "/usr/lib/udev/rules.d",
    "/usr/lib/modprobe.d", "/usr/lib/modules-load.d", "/usr/lib/sysctl.d", "/usr/lib/tmpfiles.d", "/usr/lib/environment.d", "/usr/lib/binfmt.d", "/usr/lib/pam.d",
    "/usr/share/keyrings", "/usr/share/dbus-1/system-services", "/usr/share/polkit-1/actions", "/usr/share/polkit-1/rules.d",
)  # fmt: skip
"""Folders whose files the system acts on without being asked."""
GENERATED = re.compile(r"netplan|/\d+-cloud-init|cloud-init-|/static-nodes\.conf")
"""What cloud images and kmod-static-nodes.service write below /run at each boot."""
RUNTIME = ("/run/systemd/system", "/run/systemd/system.control", "/run/udev/rules.d", "/run/modprobe.d", "/run/sysctl.d", "/run/tmpfiles.d", "/run/binfmt.d")
OF_SYSTEM = re.compile(r"/system\.slice/(?:[^/]+\.slice/)*(?P<unit>[^/]+\.service|slurmstepd\.scope)(?:/|$)")
"""cgroup(5) of a unit of the system; job steps of Slurm listen for srun."""
OF_PODS = re.compile(r"/kubepods(\.slice)?/")
"""cgroup(5) of the containers of pods, with either cgroup driver of the kubelet. Some pods have the host's network: they listen as a host's own programs do."""
TRANSIENT = "/run/systemd/transient"
TRANSIENT_KINDS = (".service", ".timer", ".path", ".socket", ".mount", ".automount")
MERGED = re.compile(r"^/(bin|sbin|lib|lib32|lib64|libx32)/")
"""Folders that are links to those below /usr; packages may name either."""
DPKG = "/var/lib/dpkg"
SYSTEM_UID_LIMIT = 1000
ROOT_STARTS = (".bashrc", ".profile", ".bash_profile", ".bash_login", ".bash_logout", ".zshrc", ".zprofile", ".pam_environment", ".forward", ".rhosts", ".k5login",
               ".ssh/rc", ".ssh/environment", ".ssh/config", ".ssh/authorized_keys2")  # fmt: skip
"""Files in root's home that a login reads."""
ORIGINALS = ("/usr/share/base-files/dot{}", "/etc/skel/{}")
COVERED = ("/etc", "/usr", "/opt", "/root", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var/spool", "/var/lib/clusterwright/record", "/var/lib/dpkg")
"""Folders over which nothing is mounted unless fstab says so."""
KERNEL_SETTINGS = (
    "kernel.randomize_va_space", "kernel.core_pattern", "kernel.kptr_restrict", "kernel.dmesg_restrict", "kernel.yama.ptrace_scope", "kernel.sysrq",
    "kernel.unprivileged_bpf_disabled", "kernel.modules_disabled", "kernel.perf_event_paranoid", "kernel.modprobe", "fs.protected_hardlinks",
    "fs.protected_symlinks", "fs.protected_fifos", "fs.protected_regular", "fs.suid_dumpable", "net.ipv4.tcp_syncookies",
    "net.ipv4.conf.all.accept_source_route", "net.ipv4.conf.all.send_redirects", "net.ipv4.conf.all.rp_filter", "net.ipv6.conf.all.disable_ipv6",
)  # fmt: skip
"""Settings of the kernel that benchmarks for hardening name and that no file here declares."""


def facts(digests: Digests, held: set[str], written: Collection[str], *, adopted_s: float | None = None) -> dict[str, Any]:
    """Read all of it.

    Args:
        held: packages that are held.
        written: paths that roles wrote, which are compared with their record.
        adopted_s: when the stack adopted the host, seconds since 1970: files unchanged since are the owner's. None: the stack created the host.
    """
    inodes = _inodes()
    executables, loaded, privileged, writable = inodes or ([], [], [], [])
    owned = _owned() | {MERGED.sub(r"/usr/\1/", path) for path in written}
    candidates = [path for path in (*executables, *loaded) if path.startswith(PROGRAM_FOLDERS)]
    configuration = [path for folder in CONFIGURATION for path in _files(folder)]
    unowned = (path for path in {*candidates, *configuration} if not _is_owned(path, owned) and not path.startswith(host_places.ROOTS))

    def is_owners(path: str) -> bool:
        return adoption.is_older(path, adopted_s)

    return {
        "is_read": inodes is not None,
        "privileged": [{**one, "owned": _is_owned(one["path"], owned)} for one in (*privileged, *_capabilities(executables)) if not is_owners(one["path"])],
        "writable": [one for one in writable if not is_owners(one["path"])],
        "unowned": sorted(path for path in unowned if not is_owners(path)),
        "changed_programs": [path for path in _changed(digests, held) if not is_owners(path)],
        "runtime_files": sorted(path for folder in RUNTIME for path in _files(folder) if not GENERATED.search(path)),
        "transient_units": sorted(name for name in _names(TRANSIENT) if name.endswith(TRANSIENT_KINDS)),
        "root_starts": [path for path in _root_starts() if not is_owners(path)],
        "system_keys": [one for one in _system_keys() if not is_owners(one["path"])],
        "listening": _listening(),
        "deleted": _deleted(),
        "covering": _covering(),
    }


def contents(exposed: dict[str, Any], digests: Digests) -> dict[str, list[dict[str, Any] | None]]:
    """Describe files, and the files of units, of which the other facts say no more than that they are there."""
    paths = [*exposed["unowned"], *exposed["changed_programs"], *exposed["runtime_files"], *exposed["root_starts"]]
    paths += [one["path"] for one in (*exposed["privileged"], *exposed["system_keys"])]
    of_units = {name: [f"{TRANSIENT}/{name}", *sorted(_files(f"{TRANSIENT}/{name}.d"))] for name in exposed["transient_units"]}
    return {name: places.described(files, digests) for name, files in ({path: [path] for path in paths} | of_units).items()}


def settings() -> dict[str, str]:
    """Give kernel settings that no file declares."""
    return {f"sysctl {name}": " ".join(asking.first(f"/proc/sys/{name.replace('.', '/')}").split()) for name in KERNEL_SETTINGS}


def _inodes(starts: tuple[str, ...] = STARTS) -> tuple[list[str], list[str], list[dict[str, str]], list[dict[str, str]]] | None:
    """Give executable files, other files that programs load, those with setuid or setgid, and what everybody may write to; None where it takes too long."""
    prune = [word for path in PRUNED for word in ("-path", path, "-prune", "-o")]
    of_files = ["-type", "f", "(", "-perm", "/6111", "-o", "-regex", LOADED, ")"]
    chosen = ["(", *of_files, "-o", "!", "-type", "l", "!", "-type", "s", "-perm", "-0002", "!", "-perm", "-1000", ")"]
    argv = ["find", *filter(os.path.isdir, starts), "-regextype", "posix-extended", "-xdev", *prune, *chosen, "-printf", "%y %m %u:%g %p\\0"]
    try:
        found = subprocess.run(argv, capture_output=True, check=False, timeout=READ_WITHIN_S).stdout.decode(errors="surrogateescape")
    except (OSError, subprocess.TimeoutExpired):
        return None
    executables, loaded, privileged, writable = [], [], [], []
    for entry in dict.fromkeys(found.split("\0")):
        kind, _, rest = entry.partition(" ")
        mode, _, rest = rest.partition(" ")
        owner, _, path = rest.partition(" ")
        if not path:
            continue
        bits = int(mode, 8)
        if kind == "f" and bits & 0o111:
            executables.append(path)
        elif kind == "f" and re.fullmatch(LOADED, path):
            loaded.append(path)
        if kind == "f" and bits & (stat.S_ISUID | stat.S_ISGID):
            privileged.append({"path": path, "right": f"{bits:04o} {owner}"})
        if bits & stat.S_IWOTH and not bits & stat.S_ISVTX and not path.startswith(OPEN):
            writable.append({"path": path, "mode": f"{bits:04o}", "owner": owner})
    return executables, loaded, privileged, writable


def _capabilities(executables: list[str]) -> list[dict[str, str]]:
    found = []
    for path in executables:
        try:
            os.getxattr(path, "security.capability", follow_symlinks=False)
        except OSError:
            continue
        found.append({"path": path, "right": asking.program(["getcap", path]).strip().rpartition(" ")[2] or "capabilities"})
    return found


def _owned() -> set[str]:
    """Give all paths of packages, with diversions."""
    owned: set[str] = set()
    for path in glob.glob(f"{DPKG}/info/*.list"):
        owned.update(asking.lines(path))
    return {MERGED.sub(r"/usr/\1/", path) for path in (*owned, *asking.lines(f"{DPKG}/diversions"))}


def _is_owned(path: str, owned: set[str]) -> bool:
    return MERGED.sub(r"/usr/\1/", path) in owned


def _changed(digests: Digests, held: set[str]) -> list[str]:
    """Name critical files that are not as packaged, of packages that are not held: those are compared in full."""
    diverted = {MERGED.sub(r"/usr/\1/", line) for line in asking.lines(f"{DPKG}/diversions")}
    changed = []
    for sums in glob.glob(f"{DPKG}/info/*.md5sums"):
        if os.path.basename(sums).removesuffix(".md5sums").partition(":")[0] in held:
            continue
        for line in asking.lines(sums):
            digest, _, path = line.partition("  ")
            path = MERGED.sub(r"/usr/\1/", f"/{path}")
            if CRITICAL.match(path) and path not in diverted and _md5(path, digests) != digest:
                changed.append(path)
    return sorted(changed)


def _md5(path: str, digests: Digests) -> str:
    try:
        return digests.of(path, os.stat(path), "md5")
    except OSError:
        return ""


def _root_starts() -> list[str]:
    """Name files in root's home that a login reads and that are not as the system installs them."""
    found = []
    for name in ROOT_STARTS:
        text = _content(f"/root/{name}")
        if text is not None and not any(_content(pattern.format(name)) == text for pattern in ORIGINALS):
            found.append(f"/root/{name}")
    return found + [f"/root/.config/{folder}/{name}" for folder in ("systemd/user", "environment.d", "autostart") for name in _names(f"/root/.config/{folder}")]


def _system_keys() -> list[dict[str, str]]:
    """Give the files with which somebody may log in by key as a user of the system other than root."""
    found = []
    for line in asking.lines("/etc/passwd"):
        words = line.split(":")
        if len(words) == 7 and words[2].isdigit() and words[0] != "root" and int(words[2]) < SYSTEM_UID_LIMIT:
            for name in ("authorized_keys", "authorized_keys2"):
                path = f"{words[5]}/.ssh/{name}"
                if path != "/root/.ssh/authorized_keys" and any(key.strip() and not key.lstrip().startswith("#") for key in asking.lines(path)):
                    found.append({"user": words[0], "path": path})
    return found


def _listening() -> list[dict[str, str]]:
    """Give TCP sockets of the system's users that listen to the network and belong to no lasting unit and no pod."""
    ports = {}
    for version in ("tcp", "tcp6"):
        for line in asking.lines(f"/proc/net/{version}")[1:]:
            words = line.split()
            address, _, port = words[1].partition(":")
            if words[3] == "0A" and int(words[7]) < SYSTEM_UID_LIMIT and not _is_loopback(address):
                ports[words[9]] = str(int(port, 16))
    found = {}
    for path in glob.glob("/proc/[0-9]*/fd/*") if ports else ():
        try:
            link = os.readlink(path)
        except OSError:
            continue
        if link.startswith("socket:[") and (inode := link[8:-1]) in ports:
            pid = path.split("/")[2]
            if not _is_of_lasting_unit(pid):
                found[ports[inode], asking.first(f"/proc/{pid}/comm")] = pid
    return [{"port": port, "program": program} for port, program in sorted(found)]


def _is_loopback(address: str) -> bool:
    return address.endswith("7F") if len(address) == 8 else address in ("00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


def _is_of_lasting_unit(pid: str) -> bool:
    cgroups = asking.lines(f"/proc/{pid}/cgroup")
    unit = unit_of(cgroups)
    return pid == "1" or is_of_pod(cgroups) or (unit != "" and not os.path.exists(f"{TRANSIENT}/{unit}"))


def unit_of(cgroups: list[str]) -> str:
    """Give the system's unit to which a process belongs, from its lines of cgroups(7), or Slurm's scope of job steps; empty for sessions and processes of no unit. Pure."""
    for line in cgroups:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if (number == "0" or controllers == "name=systemd") and (matched := OF_SYSTEM.match(path)):
            return matched.group("unit")
    return ""


def is_of_pod(cgroups: list[str]) -> bool:
    """Say whether a process belongs to a pod of Kubernetes, from its lines of cgroups(7). Pure."""
    return any(OF_PODS.match(line.split(":", 2)[2]) for line in cgroups if line.count(":") >= 2)


def _deleted() -> list[dict[str, str]]:
    """Give processes of the system's users whose program is no longer there or never was: an upgrade leaves such below /usr, an attacker elsewhere."""
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            program, uid = os.readlink(f"{folder}/exe"), os.stat(folder).st_uid
        except OSError:
            continue
        if uid < SYSTEM_UID_LIMIT and program.endswith(" (deleted)") and not program.startswith("/usr/"):
            found.append({"program": program.removesuffix(" (deleted)"), "name": asking.first(f"{folder}/comm")})
    return found


def _covering() -> list[dict[str, str]]:
    """Give what is mounted over folders of the system and is not in fstab."""
    listed = {line.split()[1] for line in asking.lines("/etc/fstab") if line.strip() and not line.startswith("#") and len(line.split()) > 1}
    found = []
    for line in asking.lines("/proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        path, root = left.split()[4], left.split()[3]
        if any(path == folder or path.startswith(f"{folder}/") for folder in COVERED) and path not in listed:
            found.append({"path": path, "kind": right.split()[0], "source": f"{right.split()[1]} {root}"})
    return found


def _files(folder: str) -> list[str]:
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if stat.S_ISREG(os.lstat(os.path.join(place, name)).st_mode)]


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return None
