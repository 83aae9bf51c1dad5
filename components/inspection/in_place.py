"""Software that a running host must restart for: what a host should have of kernel, driver and fabric stack, and what it lacks. Pure.

Images bring these parts to hosts of a cloud. A server that is there already gets them in place, which takes it out of service for a while.
"""

import dataclasses
import fnmatch
from collections.abc import Mapping
from typing import Any

from blueprints.spec import ClusterSpec

from . import versions

RESTART = "restart"
"""The mark of a host that has installed a part and not restarted since (playbooks/roles/kernel_and_drivers)."""
OF_KERNEL = ("linux-image-*", "linux-modules-*", "linux-headers-*")
OF_DRIVERS = (
    "linux-modules-nvidia-*",
    "libnvidia-*",
    "nvidia-*",
    "lustre-client-*",
    "cuda-*",
    "libcu*-[0-9]*-[0-9]*",
    "libnpp-*",
    "libnv*-[0-9]*-[0-9]*",
    "libnccl*",
    "datacenter-gpu-manager*",
)
"""Packages that a roll installs beside the kernel, as patterns: with OF_KERNEL those of the role (playbooks/roles/kernel_and_drivers)."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Lack:
    """A part that a host lacks."""

    part: str
    wanted: str
    actual: str = ""
    """What it has instead; empty: nothing."""

    def __str__(self) -> str:
        return f"{self.part} {self.wanted} (now {self.actual or 'none'})" if self.wanted else "a restart for what is installed"


def lacks(cluster: ClusterSpec, group: str, facts: Mapping[str, Any]) -> tuple[Lack, ...]:
    """Give the parts that a host lacks.

    Args:
        facts: what an inspection saw of the host.
    """
    if cluster.site is None:
        return ()
    present: Mapping[str, str] = facts["versions"]
    missing = tuple(
        Lack(part, version, present.get(part, ""))
        for part, version in versions.in_place(cluster, group).items()
        if not versions.matches(present.get(part, ""), version)
    )
    return missing or ((Lack(RESTART, ""),) if RESTART in facts["pending"] else ())


def is_package(name: str) -> bool:
    """Say whether a package belongs to the parts that hosts restart for."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in (*OF_KERNEL, *OF_DRIVERS))
