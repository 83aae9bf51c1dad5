"""What templates and instances say of a machine beyond the catalogue: disks and maintenance. Data: machines.yaml. Pure."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import yaml

NETWORK_CARDS = {"gvnic": "GVNIC", "idpf": "IDPF", "mrdma": "MRDMA", "irdma": "IRDMA"}
"""The catalogue's kind of an interface → Compute Engine's (Compute Engine API, NetworkInterface.nicType)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """What all machines of a family have in common."""

    disk: str
    """Type of disks."""
    migrates: bool
    """Instances run on while their server is maintained; others stop."""
    dense: bool
    """Every reservation is densely deployed."""
    slice: str
    """The topology of an NVLink domain, which the placement policy of several instances has to name; empty: NVLink ends at the machine."""


def family(machine: str) -> Family:
    """Give the family of a machine: the entry with the longest beginning of its name."""
    found = _known()[max((beginning for beginning in _known() if machine.startswith(beginning)), key=len)]
    return Family(disk=found["disk"], migrates=found["migrates"], dense=found.get("dense", False), slice=found.get("slice", ""))


@functools.cache
def _known() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "machines.yaml").read_text())
    return found
