"""Instance types and zones, from the records of DescribeInstanceTypes and DescribeInstanceTypeOfferings that moto ships."""

import functools
import gzip
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.failure import Refused


@functools.cache
def types() -> Mapping[str, Mapping[str, Any]]:
    """Give the records of all instance types, by name."""
    found: Mapping[str, Mapping[str, Any]] = _packed("instance_types.json.gz")
    return found


def gpus(name: str) -> int:
    """Give how many NVIDIA GPUs a host of an instance type sees; part of one counts as one (`LogicalGpuCount`)."""
    described = types()[name].get("GpuInfo", {}).get("Gpus", ())
    return sum(int(one.get("LogicalGpuCount", one["Count"])) for one in described if one["Manufacturer"] == "NVIDIA")


def regions() -> list[str]:
    """List the regions of which something is known."""
    return sorted(path.name.removesuffix(".json.gz") for path in (_folder() / "instance_type_offerings" / "availability-zone").glob("*.json.gz"))


@functools.cache
def zones(region: str) -> Mapping[str, str]:
    """Give the zones of a region: name → zone id.

    Raises:
        Refused: there is no such region.
    """
    names = sorted({offer["Location"] for offer in _offers(region)})
    return {name: f"{_short(region)}-az{place}" for place, name in enumerate(names, start=1)}


@functools.cache
def offered(region: str) -> frozenset[tuple[str, str]]:
    """Give which types are offered where: (type, zone)."""
    return frozenset((offer["InstanceType"], offer["Location"]) for offer in _offers(region))


def _offers(region: str) -> list[Mapping[str, str]]:
    try:
        found: list[Mapping[str, str]] = _packed(f"instance_type_offerings/availability-zone/{region}.json.gz")
    except FileNotFoundError:
        raise Refused("InvalidRegion", f"there is no region {region}") from None
    return found


def _packed(name: str) -> Any:
    return json.loads(gzip.decompress((_folder() / name).read_bytes()))


def _folder() -> Path:
    spec = importlib.util.find_spec("moto")  # found, not imported: importing it takes longer than all the rest
    assert spec
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "ec2" / "resources"


def _short(region: str) -> str:
    """Give the letters that a region's zone ids begin with (`use1`, `apne1`)."""
    continent, *directions, number = region.split("-")
    return continent + "".join({"northeast": "ne", "southeast": "se"}.get(direction, direction[0]) for direction in directions) + number
