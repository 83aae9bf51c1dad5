"""Rules about places on a host: how much a change of a file matters (places.yaml)."""

import dataclasses
import fnmatch
import functools
from pathlib import Path

import yaml

from blueprints.finding import Level

FILE = Path(__file__).with_name("places.yaml")


@dataclasses.dataclass(frozen=True, slots=True)
class PlaceRule:
    """How much a changed file matters."""

    path: str
    level: Level
    why: str


def rule(path: str) -> PlaceRule | None:
    """Find the rule for a place on a host, if there is one."""
    return next((one for one in _rules() if fnmatch.fnmatchcase(path, one.path)), None)


@functools.cache
def _rules() -> tuple[PlaceRule, ...]:
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tuple(PlaceRule(**{**entry, "level": Level(entry["level"])}) for entry in content["places"])
