"""What a check found of a blueprint on one or several targets, for people and for programs. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from blueprints import finding, message_text
from blueprints.codes import Code
from blueprints.language import TargetName
from blueprints.load import Loaded

PLANNED_ONLY = (Code.SCHEDULER_NOT_BUILT, Code.SOFTWARE_NOT_BUILT)
"""Findings that a verdict on several targets says in two words."""


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """What was found of a blueprint on one target."""

    target: str
    findings: tuple[finding.Finding, ...]
    suppressed: tuple[finding.Finding, ...] = ()

    @property
    def is_planned_only(self) -> bool:
        """Say whether this version plans it without an error and can't provision it."""
        return not self.count(finding.Level.ERROR) and any(found.code in PLANNED_ONLY for found in self.findings)

    def count(self, level: finding.Level) -> int:
        return sum(found.level is level for found in self.findings)


def described(loaded: Loaded) -> tuple[str, ...]:
    """Name the targets, but for the one that it was loaded for, of which the blueprint says something of its own."""
    parts = loaded.document.at("targets")
    return tuple(name for name in get_args(TargetName) if name != loaded.spec.target and isinstance(parts, dict) and parts.get(name))


def grouped(found: Mapping[str, Sequence[finding.Finding]]) -> dict[tuple[str, ...], list[finding.Finding]]:
    """Put findings together that hold on the same targets, those of most targets first; each is there once."""
    holds: dict[finding.Finding, list[str]] = {}
    for target, findings in found.items():
        for one in dict.fromkeys(findings):
            holds.setdefault(one, []).append(target)
    groups: dict[tuple[str, ...], list[finding.Finding]] = {}
    for one, targets in holds.items():
        groups.setdefault(tuple(targets), []).append(one)
    return {targets: list(finding.in_order(groups[targets])) for targets in sorted(groups, key=lambda targets: -len(targets))}


def as_record(results: Sequence[Checked]) -> dict[str, Any]:
    """Turn what was found on several targets into plain JSON values."""
    return {
        "targets": [{"target": result.target, **{f"{level}s": result.count(level) for level in finding.Level}} for result in results],
        "findings": _records({result.target: result.findings for result in results}),
        "suppressed": _records({result.target: result.suppressed for result in results}),
    }


def _records(found: Mapping[str, Sequence[finding.Finding]]) -> list[dict[str, Any]]:
    return [{"targets": list(targets), **finding.as_record(one)} for targets, several in grouped(found).items() for one in several]


def verdict(result: Checked) -> str:
    """Count the errors."""
    errors = result.count(finding.Level.ERROR)
    return f"{errors} error{'' if errors == 1 else 's'}" if errors else "no errors"


def several(targets: Sequence[str]) -> str:
    """Name targets."""
    return "every target" if len(targets) == len(get_args(TargetName)) else message_text.listed(targets)


def accepted(suppressed: Sequence[finding.Finding]) -> str:
    """Count what the blueprint accepts."""
    return f", {len(suppressed)} accepted by the blueprint" if suppressed else ""
