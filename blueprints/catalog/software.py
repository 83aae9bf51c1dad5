"""Software profiles: each one set of versions that go together."""

import dataclasses
import functools

from .. import spec
from . import files

_NOT_PROFILES = ("matrix",)
_PARTS = (
    *(
        "kernel",
        "driver",
        "cuda",
        "nccl",
        "ofi_nccl",
        "nvlsm",
        "efa_installer",
        "gib",
        "tcpxo",
        "rxdm",
        "dmabuf_import_helper",
        "doca_ofed",
        "rdma_core",
    ),
    *("lustre_client", "mountpoint", "gcsfuse", "container_toolkit", "enroot", "pyxis", "dcgm", "nccl_tests"),
)
"""Parts of a profile whose versions the spec lists."""
VENDOR_ARCHIVES = {"cuda": "nvidia", "nccl": "nvidia", "dcgm": "nvidia", "nccl_tests": "nvidia", "container_toolkit": "nvidia_container"}
"""Parts that come from an archive of their vendor, where the profile names the archive's key (playbooks/roles/gpu_software)."""


def part_name(part: str) -> str:
    """Write the name of a part of a profile as people do."""
    return str(files.mapping("part_names").get(part, part.replace("_", " ")))


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """One set of versions. An empty version is unknown, or the part is not in the set."""

    profile: str
    os: str
    """`ubuntu-24.04`, `debian-13`, …"""
    suite: str
    """The distribution's archive name (`noble`)."""
    arch: str
    """`x86_64`, `arm64`, or `any`."""
    targets: tuple[str, ...]
    """Where it can be used."""
    slurm: str
    """Major version, the key of the Slurm templates (`25.11`)."""
    tested_on: str
    """Where this set has run: `simulated` (hosts without GPUs) or a machine's name; empty when it never ran."""
    source: str
    date: str
    storage: tuple[str, ...] = ()
    """Kinds of storage whose clients it has; empty: of all that its targets offer."""
    kernel: str = ""
    kubernetes: str = ""
    driver: str = ""
    """NVIDIA's driver, as a version or as a branch (`580`)."""
    nvlsm: str = ""
    """NVIDIA's NVLink Subnet Manager."""
    cuda: str = ""
    nccl: str = ""
    ofi_nccl: str = ""
    """NCCL's plugin for libfabric, where it doesn't come with the EFA installer."""
    efa_installer: str = ""
    gib: str = ""
    """NCCL's plugin for RoCE on Google Cloud."""
    tcpxo: str = ""
    rxdm: str = ""
    """The daemon of TCPX or TCPXO that receives for the GPUs."""
    dmabuf_import_helper: str = ""
    """The kernel module with which TCPXO reaches GPU memory."""
    doca_ofed: str = ""
    """NVIDIA's drivers and libraries of InfiniBand and RoCE."""
    rdma_core: str = ""
    """The distribution's libraries of InfiniBand and RoCE, for the drivers of its kernel."""
    lustre_client: str = ""
    lustre_fabric: str = ""
    """The fabric that its roles configure for Lustre (LNet); empty: hosts reach Lustre over TCP."""
    mountpoint: str = ""
    """Mountpoint for S3."""
    gcsfuse: str = ""
    """Cloud Storage FUSE."""
    container_toolkit: str = ""
    enroot: str = ""
    pyxis: str = ""
    dcgm: str = ""
    nccl_tests: str = ""
    """The programs that acceptance measures collectives with."""
    origins: tuple[tuple[str, str], ...] = ()
    """What proves parts that are in no archive of the distribution, and where they are, by name: see `spec.Software`."""
    note: str = ""


@functools.cache
def profile_names() -> tuple[str, ...]:
    """List every software profile."""
    return tuple(name for name in files.names("software") if name not in _NOT_PROFILES)


@functools.cache
def profile(name: str) -> Profile:
    """Give one software profile with all that is known of it.

    Raises:
        KeyError: there is none of this name.
    """
    if name not in profile_names():
        raise KeyError(name)
    entry = files.mapping(f"software/{name}")
    return Profile(
        **{**entry, "targets": tuple(entry["targets"]), "storage": tuple(entry.get("storage", ())), "origins": tuple(entry.get("origins", {}).items())}
    )


@functools.cache
def software_names(target: str) -> tuple[str, ...]:
    """List the software profiles that can be used on a target."""
    return tuple(name for name in profile_names() if target in profile(name).targets)


@functools.cache
def software(name: str) -> spec.Software:
    """Give what the spec holds of one software profile.

    Raises:
        KeyError: there is none of this name.
    """
    chosen = profile(name)
    versions = tuple((part, version) for part in _PARTS if (version := getattr(chosen, part)))
    return spec.Software(
        profile=chosen.profile,
        os=chosen.os,
        suite=chosen.suite,
        slurm=chosen.slurm,
        tested_on=chosen.tested_on,
        arch=chosen.arch,
        kubernetes=chosen.kubernetes,
        versions=versions,
        origins=chosen.origins,
    )
