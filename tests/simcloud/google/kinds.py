"""What data says of each kind, as data/kinds.yaml holds it."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ..core.failure import NotSimulated
from . import discovery

DATA = Path(__file__).parent / "data"


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """One kind of things; the head of data/kinds.yaml explains the fields."""

    name: str
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    holds: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mentions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    changes: tuple[str, ...] | None = None
    fixed: tuple[str, ...] = ()
    ident: str = ""
    names: str = ""
    slow: bool = False


@functools.cache
def kinds() -> Mapping[str, Kind]:
    read: Mapping[str, Mapping[str, Any] | None] = load("kinds")
    return {name: Kind(name, **_fields(fields or {})) for name, fields in read.items()}


def _fields(read: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in read.items()}


def kind(name: str) -> Kind:
    """Give a kind.

    Raises:
        NotSimulated: the cloud has no rules for it.
    """
    if name not in kinds():
        raise NotSimulated(f"the kind {name}")
    return kinds()[name]


@functools.cache
def load(name: str) -> Any:
    """Read one file of data."""
    return yaml.load((DATA / f"{name}.yaml").read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@functools.cache
def is_labelled(name: str) -> bool:
    """Say whether things of a kind of Compute Engine carry labels."""
    method = discovery.method(name, "insert")
    return bool(method and method.request and "labels" in discovery.schema(method.document, method.request)["properties"])
