"""Read what a drift check compares: what differs from the host's records, and what is there that has none."""

import base64
import glob
import hashlib
import os
import platform
import re
import subprocess
import time
from typing import Any

from ansible.module_utils import host_places, kernel_set
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: drift_facts
short_description: Read what a drift check compares
description:
  - Compares files, links, folders and packages with the host's own records and gives only what differs; of everything else it gives what is there.
    Writes nothing and starts nothing but C(systemctl show) and C(ldd --version)-like questions.
options:
  mounts:
    description: Mount points whose source, options and free space are wanted.
    type: list
    elements: str
    default: []
  units:
    description: Units whose state is wanted, beside those that are enabled.
    type: list
    elements: str
    default: []
  homes:
    description: Users whose keys are wanted, name to C(uid) and C(home). Of their C(authorized_keys) only the block that the roles wrote is read.
    type: dict
    default: {}
"""

PASSWD, GROUP = "/var/lib/extrausers/passwd", "/var/lib/extrausers/group"
ROOT_KEYS = "/root/.ssh/authorized_keys"
BLOCK_BEGIN, BLOCK_END = "# BEGIN clusterwright: keys of the blueprint; your own go outside of this block", "# END clusterwright"
"""As the module `cluster_users` writes them."""
KEYS_LIMIT_BYTES = 60_000
"""What a pipe takes at once."""
BIRTH = "/usr/lib/clusterwright/born.py"
"""There where the end of the first boot records what it left (role cloud_host): before that, nobody can tell it from what came later."""
MUNGE_KEY = "/etc/munge/munge.key"
PENDING_FOLDER = "/run/clusterwright/pending"
CONTAINER = "/run/systemd/container"
"""There where the host is a container (systemd.io, "Container Interface")."""
PACKAGE_SUMS = "/var/lib/dpkg/info"
UNIT_PROPERTIES = ("Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "ConditionResult", "ConditionTimestampMonotonic", "Type", "Result")
UNIT_KINDS = (".service", ".timer", ".socket", ".mount", ".automount")
QUESTION_WITHIN_S = 20


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "mounts": {"type": "list", "elements": "str", "default": []},
            "units": {"type": "list", "elements": "str", "default": []},
            "homes": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    installed, written = host_places.read_json(host_places.INSTALLED), host_places.read_json(host_places.WRITTEN)
    packages = host_places.packages()
    born = host_places.read_json(host_places.BORN)
    is_born = born is not None or not os.path.exists(BIRTH)
    if installed:
        installed["places"] = {**installed["places"], **(born or {})}
    module.exit_json(
        changed=False,
        has_record=installed is not None and written is not None,
        is_born=is_born,
        places=_places((installed or {}).get("places", {}), written or {}) if installed and is_born else [],
        packages=_packages((installed or {}).get("packages", {}), packages) if installed else [],
        package_files=_package_files([name for name, package in packages.items() if package["held"]]),
        sysctls=sysctls({**(installed or {}).get("places", {}), **(written or {})}, in_container=os.path.exists(CONTAINER)),
        kernel_modules=_kernel_modules({**(installed or {}).get("places", {}), **(written or {})}),
        units=_units(module.params["units"]),
        mounts=_mounts(module.params["mounts"]),
        users=_by_name(PASSWD),
        groups=_by_name(GROUP),
        root_keys=_lines(ROOT_KEYS),
        user_keys={name: _block(int(one["uid"]), one["home"]) for name, one in module.params["homes"].items()},
        munge_key_sha256=_key_checksum(),
        pending=sorted(os.listdir(PENDING_FOLDER)) if os.path.isdir(PENDING_FOLDER) else [],
        versions=_versions(packages),
        gpus=_gpus(),
        nics=_nics(),
        hardware=_hardware(),
        epoch_s=time.time(),
    )


def _places(installed: dict[str, Any], written: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the places that differ from their records. What a role wrote counts more than what the installation left."""
    actual = host_places.places()
    for path in written:
        if path not in actual and (described := host_places.describe(path)) is not None:
            actual[path] = described  # a role may write outside of the roots
    return differences({**installed, **written}, actual, written=set(written))


def differences(recorded: dict[str, Any], actual: dict[str, Any], *, written: set[str]) -> list[dict[str, Any]]:
    """Compare descriptions of places, path by path. Pure."""
    found = []
    # Folders that were made on the way to a place that was written.
    made = {parent for path in written for parent in _parents(path)}
    for path in sorted({*recorded, *actual}):
        before, now = recorded.get(path), actual.get(path)
        if host_places.is_left_out(path) or (before is None and path in made):
            continue
        if before == host_places.ABSENT:
            before = None
        if _core(before) != _core(now):
            found.append({"path": path, "recorded": before, "actual": now, "written": path in written})
    # A folder that went or came says the same of all that was in it.
    whole = {one["path"] for one in found if (one["recorded"] or one["actual"])["kind"] == "folder" and not (one["recorded"] and one["actual"])}
    return [one for one in found if os.path.dirname(one["path"]) not in whole]


def _parents(path: str) -> list[str]:
    parents = []
    while (path := os.path.dirname(path)) not in ("", "/"):
        parents.append(path)
    return parents


def _core(place: dict[str, Any] | None) -> dict[str, Any] | None:
    """Leave out what describes the same thing again."""
    return None if place is None else {name: value for name, value in place.items() if name != "text"}


def _packages(recorded: dict[str, Any], actual: dict[str, Any]) -> list[dict[str, Any]]:
    names = sorted({*recorded, *actual})
    return [{"name": name, "recorded": recorded.get(name), "actual": actual.get(name)} for name in names if recorded.get(name) != actual.get(name)]


def _package_files(names: list[str]) -> list[str]:
    """Name the files of these packages whose content is not the package's."""
    changed = []
    for name in names:
        for sums in (f"{PACKAGE_SUMS}/{name}.md5sums", *glob.glob(f"{PACKAGE_SUMS}/{name}:*.md5sums")):
            for line in _lines(sums):
                digest, _, path = line.partition("  ")
                if not path.startswith("usr/share/") and _md5("/" + path) != digest:
                    changed.append("/" + path)
    return changed


def _md5(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return hashlib.md5(stream.read(), usedforsecurity=False).hexdigest()
    except OSError:
        return ""


def sysctls(recorded: dict[str, Any], *, in_container: bool) -> dict[str, dict[str, str]]:
    """Give what recorded files of sysctl.d(5) declare, and what the kernel has; in a container, which can't set what is the whole machine's, only what is its own."""
    declared: dict[str, str] = {}
    for path in sorted(recorded):
        if path.startswith("/etc/sysctl.d/") or path == "/etc/sysctl.conf":
            for line in (recorded[path].get("text") or "").splitlines():
                name, equals, value = line.partition("=")
                if equals and not line.lstrip().startswith(("#", ";")):
                    declared[name.strip().lstrip("-")] = " ".join(value.split())
    own = {name: value for name, value in declared.items() if not in_container or os.access(_sysctl_path(name), os.W_OK)}
    return {name: {"declared": value, "actual": " ".join(" ".join(_lines(_sysctl_path(name))).split())} for name, value in own.items()}


def _sysctl_path(name: str) -> str:
    return "/proc/sys/" + (name if "/" in name else name.replace(".", "/"))


def _kernel_modules(recorded: dict[str, Any]) -> dict[str, bool]:
    """Say of each module that recorded files of modules-load.d(5) name whether the kernel has it."""
    loaded = {line.split()[0] for line in _lines("/proc/modules")}
    wanted = []
    for path in sorted(recorded):
        if path.startswith("/etc/modules-load.d/") or path == "/etc/modules":
            wanted += [line.strip() for line in (recorded[path].get("text") or "").splitlines() if line.strip() and line.strip()[0] not in "#;"]
    return {name: name.replace("-", "_") in loaded or os.path.isdir(f"/sys/module/{name.replace('-', '_')}") for name in wanted}


def _units(wanted: list[str]) -> dict[str, dict[str, str]]:
    """Give the state of units that are enabled, failed, or asked for."""
    listed = [line.split() for line in _ask(["systemctl", "list-units", "--all", "--plain", "--no-legend"]).splitlines()]
    # A pattern given to `show` would leave out units that do not run, which are those in question.
    names = [words[0] for words in listed if len(words) > 1 and words[1] == "loaded" and words[0].endswith(UNIT_KINDS)]
    shown = _ask(["systemctl", "show", f"--property={','.join(UNIT_PROPERTIES)}", "--", *names, *wanted])
    units = {}
    for block in shown.split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        name = unit.get("Id", "")
        if name and (unit["UnitFileState"].startswith("enabled") or unit["ActiveState"] == "failed" or name in wanted):
            units[name] = unit
    return units


def _mounts(wanted: list[str]) -> dict[str, dict[str, Any]]:
    mounted = {}
    for line in _lines("/proc/self/mounts"):
        source, target, kind, options = line.split()[:4]
        mounted[target] = {"source": source, "kind": kind, "options": options.split(",")}
    found: dict[str, dict[str, Any]] = {}
    for target in ("/", *wanted):
        if target in mounted:
            found[target] = {**mounted[target], **_space(target)}
    return found


def _space(target: str) -> dict[str, Any]:
    """Give size and free space; nothing where the file system doesn't answer, which is said by the missing keys."""
    try:
        space = os.statvfs(target)
    except OSError as error:
        return {"error": error.strerror}
    return {
        "size_bytes": space.f_blocks * space.f_frsize,
        "free_bytes": space.f_bavail * space.f_frsize,
        "inodes": space.f_files,
        "free_inodes": space.f_favail,
    }


def _by_name(path: str) -> dict[str, str]:
    return {line.split(":")[0]: line for line in _lines(path) if line}


def _block(uid: int, home: str) -> list[str] | None:
    """Give the lines of our block in a user's authorized_keys; None: the home isn't there or can't be read. The rest of the file is the user's own.

    It is read in a child that is that user: root must not follow links that a user laid in the own home, and reads nothing where a server takes its rights.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            if os.path.isdir(home):
                os.write(writing, "\n".join(between(_lines(f"{home}/.ssh/authorized_keys")))[:KEYS_LIMIT_BYTES].encode())
                status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    return text.splitlines() if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else None


def between(lines: list[str]) -> list[str]:
    """Give what stands in our block. Pure."""
    if BLOCK_BEGIN not in lines or BLOCK_END not in lines:
        return []
    return [line for line in lines[lines.index(BLOCK_BEGIN) + 1 : lines.index(BLOCK_END)] if line.strip() and not line.lstrip().startswith("#")]


def _key_checksum() -> str:
    try:
        with open(MUNGE_KEY, "rb") as stream:
            return hashlib.sha256(base64.b64encode(stream.read())).hexdigest()
    except OSError:
        return ""


def _versions(packages: dict[str, Any]) -> dict[str, str]:
    """Give versions by the names that software profiles use; what isn't there is left out."""
    release = dict(line.split("=", 1) for line in _lines("/etc/os-release") if "=" in line)
    kernel = kernel_set.release()
    found = {"kernel": kernel, "os": f"{release.get('ID', '')}-{release.get('VERSION_ID', '')}".replace('"', ""), "arch": platform.machine()}
    driver = re.search(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", "\n".join(_lines("/proc/driver/nvidia/version")))
    cuda = re.search(r'"cuda"\s*:\s*{[^}]*"version"\s*:\s*"([\d.]+)"', "".join(_lines("/usr/local/cuda/version.json")))
    installed = kernel_set.module(kernel, "nvidia")
    outside = {
        # What is loaded counts; a host without GPUs has it on its disk alone.
        "driver": driver.group(1) if driver else installed["version"] if installed else "",
        "cuda": cuda.group(1) if cuda else "",
        "efa_installer": kernel_set.efa_installer(),
        "mountpoint": kernel_set.mountpoint(),
        "lustre_client": lustre_client(packages, kernel),
    }
    found |= {name: version for name, version in outside.items() if version}
    for name, candidates in PACKAGE_OF.items():
        version = next((packages[package]["version"] for package in candidates if package in packages), None)
        if version:
            found[name] = version.split(":", 1)[-1].split("-")[0].split("+")[0]
    return found


def lustre_client(packages: dict[str, Any], kernel: str) -> str:
    """Give the version of the client for a kernel; of one that is for others alone, say so. Empty: there is none. Pure."""
    built = {name.removeprefix(LUSTRE_MODULES): package["version"] for name, package in packages.items() if name.startswith(LUSTRE_MODULES)}
    return built.get(kernel) or ("none for this kernel" if built else "")


LUSTRE_MODULES = "lustre-client-modules-"
"""Begin the names of the packages with FSx' client, which end with the kernel's release."""
PACKAGE_OF = {
    "slurm": ("slurmd", "slurm-wlm", "slurm-smd-slurmd"),
    "nccl": ("libnccl2",),
    "fabric_manager": ("nvidia-fabricmanager", *(f"nvidia-fabricmanager-{branch}" for branch in (535, 550, 570, 580, 590, 595))),
    "dcgm": ("datacenter-gpu-manager-4-core", "datacenter-gpu-manager"),
    "containerd": ("containerd.io", "containerd"),
    "enroot": ("enroot",),
    "pyxis": ("nvslurm-plugin-pyxis",),
    "doca_ofed": ("doca-ofed", "mlnx-ofed-kernel-dkms"),
    "munge": ("munge",),
    "openmpi": ("openmpi-bin",),
}


def _gpus() -> dict[str, Any]:
    """Give the GPU device nodes, and what a driver says that there are; None without a driver."""
    devices = sorted(
        (path for path in glob.glob("/dev/nvidia[0-9]*") if path[len("/dev/nvidia") :].isdigit()), key=lambda path: int(path[len("/dev/nvidia") :])
    )
    nodes = []
    for path in devices:
        status = os.stat(path)
        nodes.append({"path": path, "mode": f"{status.st_mode & 0o777:04o}", "major": os.major(status.st_rdev), "minor": os.minor(status.st_rdev)})
    known = os.path.isdir("/proc/driver/nvidia/gpus")
    return {"devices": nodes, "driver_count": len(os.listdir("/proc/driver/nvidia/gpus")) if known else None}


def _nics() -> dict[str, dict[str, str]]:
    """Give network and RDMA interfaces with state and rate, as the kernel says them."""
    found = {}
    for path in sorted(glob.glob("/sys/class/net/*")):
        name = os.path.basename(path)
        if name != "lo":
            found[name] = {"kind": "net", "state": _first(f"{path}/operstate"), "rate_mbps": _first(f"{path}/speed")}
    for path in sorted(glob.glob("/sys/class/infiniband/*/ports/*")):
        words = path.split("/")
        found[f"{words[4]}:{words[6]}"] = {"kind": "rdma", "state": _first(f"{path}/state"), "rate": _first(f"{path}/rate")}
    return found


def _hardware() -> dict[str, int]:
    memory = dict(line.split(":", 1) for line in _lines("/proc/meminfo") if ":" in line)
    return {"cpus": os.cpu_count() or 0, "memory_mib": int(memory["MemTotal"].split()[0]) // 1024 if "MemTotal" in memory else 0}


def _first(path: str) -> str:
    return next(iter(_lines(path)), "").strip()


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except OSError:
        return []


def _ask(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=QUESTION_WITHIN_S, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


if __name__ == "__main__":
    main()
