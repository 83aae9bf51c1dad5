"""What hosts that exist already say about themselves, and why some say nothing."""

import dataclasses
import enum
import math
from collections.abc import Mapping, Sequence
from typing import Any


class Trouble(enum.Enum):
    """Why a host said nothing."""

    UNREACHABLE = enum.auto()
    HANGS = enum.auto()
    """Its SSH server answers, and nothing else does in time."""
    OTHER_KEY = enum.auto()
    LOGIN_REFUSED = enum.auto()
    WITHOUT_PYTHON = enum.auto()
    FAILED = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class Disk:
    """A file system where packages go."""

    free_mib: int
    size_mib: int
    free_files_percent: int
    is_read_only: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Clock:
    service: str = ""
    """The running time service; empty: none."""
    is_synchronized: bool | None = None
    """None: the service doesn't say."""
    offset_s: float | None = None
    """What the service reports; None: nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What a host said about itself."""

    os: str
    """ID and VERSION_ID of os-release(5): `debian-12`."""
    os_title: str
    arch: str
    """The kernel's word: `x86_64`, `aarch64`."""
    kernel: str
    hostname: str
    machine_id: str
    serial: str
    """Of the machine; empty where root alone may read it."""
    cpus: int
    """0: the host has no program that counts them."""
    memory_mib: int
    gpus: Sequence[str]
    """PCI device id of each NVIDIA GPU, whether or not it has a driver."""
    interfaces: Mapping[str, str]
    """Name → hardware address."""
    mark: Mapping[str, Any] | None
    """What the cluster that adopted the host wrote; None: no cluster did; empty: it can't be read."""
    occupied: Sequence[str]
    """Slurm, MUNGE, databases and load balancers that are there, each as a phrase; none where the host has a mark."""
    sudo: str
    """Why the user may not become root; empty: the user may."""
    is_root: bool
    in_container: bool
    has_systemd: bool
    disks: Mapping[str, Disk]
    """By folder; a file system is there once."""
    restart_for: Sequence[str]
    """Packages that ask for a restart."""
    clock: Clock
    is_secure_boot: bool
    modules: Sequence[str]
    """Loaded modules of GPU drivers."""
    mig_modes: Sequence[str]
    """Of each GPU, where NVIDIA's driver runs."""
    incomplete: Sequence[str]
    """Packages whose installation was interrupted."""
    locked_by: str
    """Who uses the package manager now; empty: nobody."""
    upgrades_unattended: bool
    headers: str | None
    """Headers of the kernel that it gets: `installed`, `archive`, `none`, `unknown`; None: nothing is built on it."""
    archives: Mapping[str, str]
    """Archives of packages that it does not reach, with the reason."""
    listeners: Mapping[str, str]
    """Ports that the cluster needs → program that listens there, empty where unknown."""
    filters: Sequence[str]
    """What may refuse packets of other hosts."""
    unreached: Mapping[str, str]
    """`name:port` of other hosts that it does not reach, with the reason."""
    users: Mapping[str, int]
    """Number of each user of its own, by name."""
    groups: Mapping[str, int]
    epoch_s: float
    """Its clock when it was asked, seconds since 1970."""
    took_s: float
    """How long it took to answer from then on."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What became of the question to one host."""

    facts: Facts | None = None
    trouble: Trouble | None = None
    said: str = ""
    """What ssh(1) or the host said instead of facts."""
    fingerprint: str = ""
    """With `OTHER_KEY`: of the key that the host has now, as ssh-keygen(1) prints it; empty: the host has a key of another type."""
    asked_s: tuple[float, float] = (0.0, 0.0)
    """When the question began and ended, by this machine's clock."""

    @property
    def is_off(self) -> bool:
        """Say whether the host may be off, or hangs: adopting its pool may go on without it."""
        return self.trouble in (Trouble.UNREACHABLE, Trouble.HANGS)


NVIDIA = "0x10de"
"""PCI vendor."""


def facts(record: Mapping[str, Any]) -> Facts:
    """Read what the program on a host printed."""
    given = dict(record)
    look = given.pop("look")
    hardware = look["hardware"]
    given["disks"] = {folder: Disk(**one) for folder, one in given["disks"].items()}
    given["clock"] = Clock(**given["clock"])
    return Facts(
        **given,
        os="-".join(word for word in (look["os"]["id"], look["os"]["version"]) if word),
        os_title=look["os"]["name"],
        kernel=look["kernel"],
        hostname=look["hostname"],
        machine_id=look["machine_id"],
        serial=look["machine"]["serial"],
        cpus=math.prod(hardware.get(level, 0) for level in ("sockets", "cores_per_socket", "threads_per_core")),
        memory_mib=hardware["memory_mib"],
        gpus=tuple(one["device"] for one in look["gpus"] if one["vendor"] == NVIDIA),
        interfaces={name: one["mac"].lower() for name, one in look["interfaces"].items()},
        mark=look["mark"],
        occupied=look["occupied"],
    )
