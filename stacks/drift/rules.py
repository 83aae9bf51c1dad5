"""Rules about differences of resources: which are no drift, and how much the others matter (rules.yaml, and a file of each target)."""

import dataclasses
import fnmatch
import functools
from pathlib import Path
from typing import Any

import yaml

from blueprints.finding import Level
from components import registry

FILE = Path(__file__).with_name("rules.yaml")


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One rule; exactly one of `leave_out` and `level` is given."""

    type: str
    property: str
    leave_out: str = ""
    level: Level | None = None
    why: str = ""
    output: bool = False
    """It is about an output that no input of the program names, and that counts all the same."""

    def fits(self, kind: str, path: str) -> bool:
        return fnmatch.fnmatchcase(kind, self.type) and fnmatch.fnmatchcase(path, self.property)


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Give the rules in their order: the targets' own first."""
    entries = (entry for file in (*registry.drift_files(), FILE) for entry in _content(file)["rules"])
    return tuple(Rule(**{**entry, "level": Level(entry["level"]) if "level" in entry else None}) for entry in entries)


def _content(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - plain values
    return content


def rule(kind: str, path: str) -> Rule | None:
    """Find the rule for a difference, if there is one."""
    return next((one for one in rules() if one.fits(kind, path)), None)
