"""One result of any check: of a blueprint, of an account, of acceptance or of drift."""

import dataclasses
import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import dotted
from .position import Position

if TYPE_CHECKING:  # `plan` is not to pay for the subjects of checks that look at a cluster
    from .subject import Subject
    from .values import Measurement, Values


class Level(enum.StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One result of any check."""

    level: Level
    code: str
    """Stable (`CW201`), and one row of a table of codes."""
    subject: "Subject | None"
    """What it is about; for findings in a blueprint a position."""
    what: str
    """One sentence without a full stop."""
    why: str
    remedy: str
    values: "Values | None" = None
    """What drift compares."""
    measurement: "Measurement | None" = None
    """What acceptance measures."""

    @property
    def where(self) -> Position | None:
        """The place in a blueprint or in settings; None for subjects of other kinds."""
        return self.subject if isinstance(self.subject, Position) else None

    @property
    def place(self) -> str:
        """The subject as text, the same in every run."""
        return "" if self.subject is None else str(self.subject)


def is_fatal(findings: Iterable[Finding]) -> bool:
    """Say whether any finding is an error."""
    return any(finding.level is Level.ERROR for finding in findings)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by file and line, whatever their level, and drop duplicates."""
    return tuple(sorted(dict.fromkeys(findings), key=_reading_order))


def as_record(finding: Finding) -> dict[str, Any]:
    """Turn a finding into plain JSON values, for `--json`."""
    where = finding.where
    return {
        "level": str(finding.level),
        "code": str(finding.code),
        "where": None if where is None else {"file": where.file, "line": where.line, "column": where.column, "path": _dotted(where.path)},
        "what": finding.what,
        "why": finding.why,
        "remedy": finding.remedy,
    }


def _dotted(path: tuple[str | int, ...] | None) -> str | None:
    return None if path is None else dotted.joined(path)


def _reading_order(finding: Finding) -> tuple[str, int, int, str, str]:
    where = finding.where or Position("")
    return (where.file, where.line, where.column, finding.code, finding.what)
