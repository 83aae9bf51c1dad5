"""What a drift check finds: findings, what could not be compared, and the report of all layers."""

import dataclasses
import datetime as dt
import enum
import hashlib
from collections.abc import Iterable
from typing import Any

from blueprints.finding import Level

from .codes import Code

FORMAT = 1
"""Of the JSON document; raised when a key goes or changes its meaning (docs/json.md)."""


class Layer(enum.StrEnum):
    CLOUD = "cloud"
    HOSTS = "hosts"
    SCHEDULER = "scheduler"
    VERSIONS = "versions"
    CAPABILITY = "capability"
    CHECK = "check"
    """The check's own files; no layer that one can choose."""


LAYERS = tuple(layer for layer in Layer if layer is not Layer.CHECK)


@dataclasses.dataclass(frozen=True, slots=True)
class Drift:
    """One difference between what should be and what is."""

    layer: Layer
    code: Code
    where: str
    """Host, resource or scheduler object, and the place in it: `train-0: /etc/motd`, `partition train: MaxTime`. The same in every run."""
    what: str
    """One sentence without a full stop."""
    remedy: str
    desired: str | None = None
    """What the blueprint or the roles ask for; None where they say nothing of it."""
    recorded: str | None = None
    """What was there when the stack was last brought up; None where nothing was recorded."""
    actual: str | None = None
    """What is there now; None: nothing."""
    level: Level = Level.NOTE

    @property
    def fingerprint(self) -> str:
        """Name the finding: equal from run to run as long as the same thing is wrong in the same place, whatever value it has."""
        return hashlib.sha256(f"{self.layer}\0{self.code}\0{self.where}".encode(errors="surrogatepass")).hexdigest()[:16]


def drift(
    layer: Layer,
    code: Code,
    where: str,
    what: str,
    *,
    remedy: str,
    desired: str | None = None,
    recorded: str | None = None,
    actual: str | None = None,
    level: Level | None = None,
) -> Drift:
    """Make a finding with the level of its code, or another one that a rule gives."""
    return Drift(layer, code, where, what, remedy, desired, recorded, actual, code.level if level is None else level)


@dataclasses.dataclass(frozen=True, slots=True)
class Unchecked:
    """Something that was not compared; it is neither clean nor drift."""

    layer: Layer
    where: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What one layer gave."""

    layer: Layer
    findings: tuple[Drift, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    failure: str = ""
    """Why the layer could not be checked, or not in full; empty when it could."""
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that an entry of the ignore file covers."""

    finding: Drift
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
    waiting: tuple[tuple[Drift, int], ...] = ()
    """Findings that were not yet seen as often in a row as was asked for, and how often they were."""
    fresh: frozenset[str] | None = None
    """Fingerprints that the run before didn't have; None when there is no run to compare with."""
    gone: tuple[str, ...] = ()
    """What the run before had and this one hasn't, as `code where`."""

    @property
    def findings(self) -> tuple[Drift, ...]:
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def unchecked(self) -> tuple[Unchecked, ...]:
        return tuple(one for result in self.results for one in result.unchecked)

    @property
    def failures(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.failure)

    def count(self, level: Level) -> int:
        return sum(finding.level is level for finding in self.findings)


def in_order(findings: Iterable[Drift]) -> tuple[Drift, ...]:
    """Sort findings: what matters most first, then by place; equal ones once."""
    levels = list(Level)
    return tuple(sorted(dict.fromkeys(findings), key=lambda one: (levels.index(one.level), one.where, one.code)))


def finding_record(finding: Drift) -> dict[str, Any]:
    """Turn a finding into plain JSON values."""
    return {
        "layer": str(finding.layer),
        "level": str(finding.level),
        "code": str(finding.code),
        "where": finding.where,
        "what": finding.what,
        "desired": finding.desired,
        "recorded": finding.recorded,
        "actual": finding.actual,
        "remedy": finding.remedy,
        "fingerprint": finding.fingerprint,
    }
