"""EC2's own answers about every machine, as moto brings them along: data that owes nothing to the catalogue.

The files are read as they are; the packages themselves aren't imported.
"""

import functools
import gzip
import importlib.util
import json
import pathlib
from collections.abc import Mapping
from typing import Any


@functools.cache
def ec2_machines() -> Mapping[str, Any]:
    """Give EC2's DescribeInstanceTypes records by name."""
    records: Mapping[str, Any] = _read(_folder("moto") / "ec2/resources/instance_types.json.gz")
    return records


@functools.cache
def ec2_regions() -> Mapping[str, set[str]]:
    """Give the regions that offer each EC2 machine."""
    regions: dict[str, set[str]] = {}
    for path in (_folder("moto") / "ec2/resources/instance_type_offerings/region").iterdir():
        for offering in _read(path):
            regions.setdefault(offering["InstanceType"], set()).add(offering["Location"])
    return regions


@functools.cache
def aws_region_names() -> frozenset[str]:
    """List the regions of AWS' public partition."""
    partitions = _read(_folder("botocore") / "data/endpoints.json")["partitions"]
    return frozenset(partitions[0]["regions"])


def _folder(package: str) -> pathlib.Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return pathlib.Path(spec.submodule_search_locations[0])


def _read(path: pathlib.Path) -> Any:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
