"""Versions of software, by the names that software profiles use."""

import platform
import re
from typing import Any

from ansible.module_utils import kernel_set

from . import asking

OF_NVIDIA = "mlnx"
"""In the versions of libraries that DOCA-OFED brings instead of the distribution's."""
CUDA_LIBRARIES = "cuda-libraries-"
"""Begin the names of the packages with CUDA's libraries, which end with its release."""
NCCL_TESTS = "/usr/lib/clusterwright/nccl-tests/version"
"""Begins with the version, and says which CUDA and NCCL it was built for (playbooks/roles/nccl_tests)."""
LUSTRE_MODULES = "lustre-client-modules-"
"""Begin the names of the packages with FSx' client, which end with the kernel's release."""
PACKAGE_OF = {
    "slurm": ("slurmd", "slurm-wlm", "slurm-smd-slurmd"),
    "nccl": ("libnccl2",),
    "container_toolkit": ("nvidia-container-toolkit",),
    "fabric_manager": ("nvidia-fabricmanager", *(f"nvidia-fabricmanager-{branch}" for branch in (535, 550, 570, 580, 590, 595))),
    "dcgm": ("datacenter-gpu-manager-4-core", "datacenter-gpu-manager"),
    "containerd": ("containerd.io", "containerd"),
    "enroot": ("enroot",),
    "pyxis": ("nvslurm-plugin-pyxis",),
    "doca_ofed": ("doca-ofed", "mlnx-ofed-kernel-dkms"),
    "rdma_core": ("rdma-core",),
    "munge": ("munge",),
    "openmpi": ("openmpi-bin",),
}


def versions(packages: dict[str, Any]) -> dict[str, str]:
    """Give versions by the names that software profiles use; what isn't there is left out."""
    release = dict(line.split("=", 1) for line in asking.lines("/etc/os-release") if "=" in line)
    kernel = kernel_set.release()
    found = {"kernel": kernel, "os": f"{release.get('ID', '')}-{release.get('VERSION_ID', '')}".replace('"', ""), "arch": platform.machine()}
    driver = re.search(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", "\n".join(asking.lines("/proc/driver/nvidia/version")))
    cuda = re.search(r'"cuda"\s*:\s*{[^}]*"version"\s*:\s*"([\d.]+)"', "".join(asking.lines("/usr/local/cuda/version.json")))
    installed = kernel_set.module(kernel, "nvidia")
    outside = {
        # What is loaded counts; a host without GPUs has it on its disk alone.
        "driver": driver.group(1) if driver else installed["version"] if installed else "",
        "cuda": cuda.group(1) if cuda else cuda_libraries(packages),
        "efa_installer": kernel_set.efa_installer(),
        "mountpoint": kernel_set.mountpoint(),
        "gcsfuse": kernel_set.gcsfuse(),
        "nccl_tests": asking.first(NCCL_TESTS).partition(" ")[0],
        "lustre_client": lustre_client(packages, kernel),
    }
    found |= {name: version for name, version in outside.items() if version}
    for name, candidates in PACKAGE_OF.items():
        version = next((packages[package]["version"] for package in candidates if package in packages), None)
        if version and OF_NVIDIA not in version:
            found[name] = version.split(":", 1)[-1].split("-")[0].split("+")[0]
    return found


def cuda_libraries(packages: dict[str, Any]) -> str:
    """Give the version of CUDA's libraries; several are given with a comma. Pure."""
    return ", ".join(
        sorted(
            package["version"].split("-")[0] for name, package in packages.items() if name.startswith(CUDA_LIBRARIES) and name[len(CUDA_LIBRARIES)].isdigit()
        )
    )


def lustre_client(packages: dict[str, Any], kernel: str) -> str:
    """Give the version of the client for a kernel; of one that is for others alone, say so. Empty: there is none. Pure."""
    built = {name.removeprefix(LUSTRE_MODULES): package["version"] for name, package in packages.items() if name.startswith(LUSTRE_MODULES)}
    return built.get(kernel) or ("none for this kernel" if built else "")
