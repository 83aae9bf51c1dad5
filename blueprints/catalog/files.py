"""The catalogue's files as plain values: CSV for long tables, YAML for everything else.

The files are the project's own and known to be sound (a test reads each with the strict reader, too), so that no positions are kept: this is what makes reading
them fast. A name is the path inside this folder without its ending: `machines/aws`, `accelerators`.
"""

import csv
import functools
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Read plain values of YAML 1.2's core schema as the language of blueprints does: dates stay text, `no` and `on` are words."""


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(true|false)\Z"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(null|~|)\Z"), ["n", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?(0|[1-9][0-9]*)\Z"), list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\Z"), list("-+.0123456789"))


@functools.cache
def table(name: str) -> Sequence[Mapping[str, str]]:
    """Give the rows of a CSV file, each by the names in its first line; an empty cell is an empty string.

    Raises:
        FileNotFoundError: there is none of this name.
    """
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def has_table(name: str) -> bool:
    """Say whether there is a CSV file of this name."""
    return (FOLDER / f"{name}.csv").is_file()


@functools.cache
def mapping(name: str) -> Mapping[str, Any]:
    """Give what a YAML file maps.

    Raises:
        FileNotFoundError: there is none of this name.
    """
    loaded: Mapping[str, Any] = yaml.load((FOLDER / f"{name}.yaml").read_bytes(), Loader=_Loader)  # noqa: S506  (a safe loader with fewer types)
    return loaded


@functools.cache
def names(folder: str) -> tuple[str, ...]:
    """List the YAML files of a folder, without their ending."""
    return tuple(sorted(path.stem for path in (FOLDER / folder).glob("*.yaml")))
