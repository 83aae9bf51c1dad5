"""What a host has that goes with one kernel: the kernels, modules built for one of them, and the programs and libraries that must be of the modules' version."""

import glob
import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection
from typing import Any

MODULES = "/lib/modules"
CONTAINER = "/run/systemd/container"
"""There in a container only (systemd's container interface)."""
FABRIC_MANAGER = "/usr/bin/nv-fabricmanager"
FI_INFO = "/opt/amazon/efa/bin/fi_info"
EFA_PACKAGES = "/opt/amazon/efa_installed_packages"
MOUNT_LUSTRE = "/usr/sbin/mount.lustre"
MOUNT_S3 = "/usr/bin/mount-s3"
GCSFUSE, MOUNT_GCSFUSE = "/usr/bin/gcsfuse", "/sbin/mount.gcsfuse"
NCCL_SCRIPTS = {"gib": "/usr/local/gib/scripts/set_nccl_env.sh", "tcpxo": "/var/lib/tcpxo/lib64/nccl-env-profile.sh"}
"""Part of a profile → what its plugin's installation leaves for jobs."""
NCCL_PLUGIN = "libnccl-net.so"
"""The name by which NCCL looks for its network plugin (NCCL_NET_PLUGIN unset)."""
NCCL_LIBRARIES = {"gib": "/usr/local/gib/lib64", "tcpxo": "/var/lib/tcpxo/lib64"}
"""Part of a profile → the folder of the NCCL that its plugin brings, which jobs over several nodes load (blueprints/catalog/fabrics.yaml, LD_LIBRARY_PATH)."""
NCCL_TESTS = "/usr/lib/clusterwright/nccl-tests/*_perf"
QUESTION_WITHIN_S = 20


def kernels() -> list[str]:
    """List the releases of kernels whose modules are installed."""
    return sorted(name for name in _entries(MODULES) if os.path.isdir(f"{MODULES}/{name}/kernel"))


def release() -> str:
    """Give the kernel that this host runs; of a container, which runs another machine's, the one that it would start if it has one of its own."""
    installed = kernels()
    return installed[0] if os.path.exists(CONTAINER) and len(installed) == 1 else platform.release()


def module(kernel: str, name: str) -> dict[str, str] | None:
    """Give `version` and `release` of a module that is installed for a kernel; None: there is none. The release is the kernel that it was built for."""
    said = ask(["modinfo", "-k", kernel, name])
    fields = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
    if "vermagic" not in fields:
        return None
    return {"version": fields.get("version", "").strip(), "release": fields["vermagic"].split()[0]}


def fabric_manager() -> str:
    """Give the version of fabric manager; empty: it is not there or says none."""
    return _found(r"version is\s*:\s*([\d.]+)", ask([FABRIC_MANAGER, "--version"]))


def driver_library() -> str:
    """Give the version of the driver's library; several are given with a comma."""
    return ", ".join(sorted({_found(r"\.so\.(\d+\.\d+[\d.]*)$", path) for path in glob.glob("/usr/lib/*/libcuda.so.*.*")}))


def efa_installer() -> str:
    return _found(r"EFA installer version: ([\d.]+)", _text(EFA_PACKAGES))


def mountpoint() -> str:
    return _found(r"mount-s3 ([\d.]+)", ask([MOUNT_S3, "--version"]))


def gcsfuse() -> str:
    """Give the version of Cloud Storage FUSE; empty: it is not there, or mount(8) would not find it."""
    return _found(r"gcsfuse version ([\d.]+)", ask([GCSFUSE, "--version"])) if os.access(MOUNT_GCSFUSE, os.X_OK) else ""


def nccl_library() -> str:
    """Give the version of the NCCL that programs load, as it says itself (nccl.h, NCCL_VERSION, from 2.9 on); empty: there is none. No GPU is needed."""
    program = "import ctypes; code = ctypes.c_int(); ctypes.CDLL('libnccl.so.2').ncclGetVersion(ctypes.byref(code)); print(code.value)"
    code = _found(r"^(\d+)$", ask([sys.executable, "-c", program]).strip())
    return f"{int(code) // 10000}.{int(code) // 100 % 100}.{int(code) % 100}" if code else ""


def plugin_fails() -> str:
    """Load NCCL's plugin as NCCL does, in a process of its own; give the linker's reason where that fails."""
    program = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    try:
        ended = subprocess.run([sys.executable, "-c", program, NCCL_PLUGIN], capture_output=True, text=True, check=False, timeout=QUESTION_WITHIN_S)
    except subprocess.TimeoutExpired:
        return f"it did not load within {QUESTION_WITHIN_S} s"
    said = ended.stderr.strip().splitlines()
    return "" if ended.returncode == 0 else said[-1] if said else f"status {ended.returncode}"


def nccl_tests_miss(folder: str) -> list[str] | None:
    """List symbols and libraries that programs of nccl-tests miss where they load what is in a folder first; None: there is no program.

    The programs are built with the headers of one NCCL and run with another one, which may be older. No GPU is needed.
    """
    programs = sorted(glob.glob(NCCL_TESTS))
    found = {name for program in programs for name in re.findall(r"undefined symbol: ([^\s,]+)|(\S+) => not found", _linked(program, folder))}
    return sorted(symbol or library for symbol, library in found) if programs else None


def _linked(program: str, folder: str) -> str:
    """Give what the linker says of a program's libraries and symbols (ldd(1), -r)."""
    settings = {**os.environ, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": folder}
    ended = subprocess.run(["ldd", "-r", program], capture_output=True, text=True, check=False, timeout=QUESTION_WITHIN_S, env=settings)
    return ended.stdout + ended.stderr


def read(kernel: str, modules: tuple[str, ...], parts: Collection[str] = ()) -> dict[str, Any]:
    """Give all of it for one kernel; `parts` are those that a profile names."""
    return {
        "kernels": kernels(),
        "images": sorted(path.removeprefix("/boot/vmlinuz-") for path in glob.glob("/boot/vmlinuz-*")),
        "modules": {name: module(kernel, name) for name in modules},
        "driver_library": driver_library(),
        "fabric_manager": fabric_manager(),
        "efa_installer": efa_installer(),
        "fi_info": bool(ask([FI_INFO, "--version"])),
        "nccl_library": nccl_library(),
        "nccl_plugin_fails": plugin_fails(),
        "nccl_scripts": [part for part, path in NCCL_SCRIPTS.items() if os.access(path, os.R_OK)],
        "nccl_tests_miss": {part: nccl_tests_miss(folder) for part, folder in NCCL_LIBRARIES.items() if part in parts},
        "mount_lustre": os.access(MOUNT_LUSTRE, os.X_OK),
        "mountpoint": mountpoint(),
        "gcsfuse": gcsfuse(),
    }


def ask(argv: list[str]) -> str:
    """Give what a program says; empty: it is not there, fails or says nothing in time."""
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=QUESTION_WITHIN_S, env={**os.environ, "LC_ALL": "C.UTF-8"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout if ended.returncode == 0 else ""


def _found(pattern: str, text: str) -> str:
    matched = re.search(pattern, text)
    return matched.group(1) if matched else ""


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
