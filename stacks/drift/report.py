"""What a drift check gives: findings, what could not be compared, and the report of all layers."""

import dataclasses
import datetime as dt
import hashlib
from typing import Any, NamedTuple

from blueprints.finding import Finding, Level
from blueprints.finding.values import Values
from components.inspection.finding import Unchecked, layer_of
from components.inspection.layer import Layer

FORMAT = 1
"""Of the JSON document; raised when a key goes or changes its meaning (docs/json.md)."""


def fingerprint(finding: Finding) -> str:
    """Name a finding: equal from run to run as long as the same thing is wrong in the same place, whatever value it has."""
    return hashlib.sha256(f"{layer_of(finding)}\0{finding.code}\0{finding.place}".encode(errors="surrogatepass")).hexdigest()[:16]


class Texts(NamedTuple):
    """The values of a finding as reports write them."""

    desired: str | None
    recorded: str | None
    actual: str | None


def texts(finding: Finding) -> Texts:
    """Give the values of a finding as text."""
    values = finding.values or Values()
    return Texts(*(None if value is None else str(value) for value in (values.desired, values.recorded, values.actual)))


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What one layer gave."""

    layer: Layer
    findings: tuple[Finding, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    failure: str = ""
    """Why the layer could not be checked, or not in full; empty when it could."""
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that an entry of the ignore file covers."""

    finding: Finding
    reason: str
    until: dt.date | None


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What a whole check gave."""

    stack: str
    cluster: str
    target: str
    moment: dt.datetime
    seconds: float
    results: tuple[Result, ...]
    """In the order of the layers."""
    ignored: tuple[Ignored, ...] = ()
    waiting: tuple[tuple[Finding, int], ...] = ()
    """Findings that were not yet seen as often in a row as was asked for, and how often they were."""
    fresh: frozenset[str] | None = None
    """Fingerprints that the run before didn't have; None when there is no run to compare with."""
    gone: tuple[str, ...] = ()
    """What the run before had and this one hasn't, as `code where`."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def unchecked(self) -> tuple[Unchecked, ...]:
        return tuple(one for result in self.results for one in result.unchecked)

    @property
    def failures(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.failure)

    def count(self, level: Level) -> int:
        return sum(finding.level is level for finding in self.findings)


def finding_record(finding: Finding) -> dict[str, Any]:
    """Turn a finding into plain JSON values."""
    return {
        "layer": str(layer_of(finding)),
        "level": str(finding.level),
        "code": str(finding.code),
        "where": finding.place,
        "what": finding.what,
        **texts(finding)._asdict(),
        "remedy": finding.remedy,
        "fingerprint": fingerprint(finding),
    }
