"""Findings: what is wrong, where, why, and what to do about it; and the page that shows them all at once."""

import dataclasses
import enum
from collections.abc import Iterable, Sequence
from typing import Any

from . import display, dotted


class Level(enum.StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """A place in a file, or in a stack's settings."""

    file: str
    """The file as the user knows it; for a value that no file holds, what holds it (`stack setting clusterwright:set`)."""
    line: int = 0
    """Counted from 1; 0 when the place has no lines."""
    column: int = 0
    """In characters, counted from 1."""
    text: str = ""
    """The line itself."""
    width: int = 1
    """How many characters of the line are meant."""
    path: tuple[str | int, ...] | None = dataclasses.field(default=None, compare=False)
    """The way to the value in the blueprint, whichever file or setting it comes from; None for what is in no blueprint."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One result of reading, resolving or checking."""

    level: Level
    code: str
    """Stable (`CW201`); blueprints/codes.py lists those of blueprints."""
    where: Position | None
    what: str
    """One sentence without a full stop."""
    why: str
    remedy: str


class Invalid(Exception):
    """The input can't be used. Carries every finding, warnings included; at least one is an error."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(self.findings)

    def __str__(self) -> str:
        return render(self.findings)


class Unfit(ValueError):
    """One value can't be what it should; raised where values are parsed, turned into a Finding where their position is known."""

    def __init__(self, code: str, what: str, *, why: str, remedy: str, meant: str | None = None) -> None:
        """Keep what a finding says, and the value that was probably meant, to go on with."""
        self.code, self.what, self.why, self.remedy, self.meant = code, what, why, remedy, meant
        super().__init__(what)


SHOWN_AT_MOST = 100
"""Findings on one page; a page that scrolls away for minutes helps nobody."""
LINES_AT_MOST = 10
"""Lines that the last line of the page names."""


def is_fatal(findings: Iterable[Finding]) -> bool:
    """Say whether any finding is an error."""
    return any(finding.level is Level.ERROR for finding in findings)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings as a reader meets their places: errors, warnings and notes together, by file and line; equal ones once."""
    return tuple(sorted(dict.fromkeys(findings), key=_place))


def render(findings: Sequence[Finding], *, colour: bool = False) -> str:
    """Write the page: every finding with its place, the line itself, a caret, the reason and the remedy.

    Args:
        colour: use ANSI colours; for a terminal only.
    """
    paint = display.Paint(colour)
    parts = [_render_one(finding, paint) for finding in _shown(findings)]
    return "\n\n".join([*parts, _summary(findings)]) + "\n"


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


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    where = finding.where or Position("")
    return (where.file, where.line, where.column, finding.code, finding.what)


_RANKS = {level: rank for rank, level in enumerate(Level)}
_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


def _render_one(finding: Finding, paint: display.Paint) -> str:
    level = paint(f"{finding.level}:", _COLOURS[finding.level])
    place = f"{paint(display.printable(str(finding.where)), 'bold')}: " if finding.where else ""
    lines = [f"{place}{level} {paint(display.printable(finding.what), 'bold')} [{finding.code}]"]
    if finding.where and finding.where.text and not display.is_private(finding.where.text):
        lines += _quote(finding.where, paint)
    lines += [f"  why: {display.printable(finding.why)}", f"  do:  {display.printable(finding.remedy)}"]
    return "\n".join(lines)


def _quote(where: Position, paint: display.Paint) -> list[str]:
    number = f"{where.line:>5}" if where.line else " " * 5
    line, marker = display.underlined(where.text, where.column, where.width)
    quoted = [f"{number} | {line}".rstrip()]
    if where.line:
        quoted.append(f"{' ' * 5} | {paint(marker, 'red')}")
    return quoted


def _shown(findings: Sequence[Finding]) -> list[Finding]:
    """Choose what is shown of too many: errors first, all in their order."""
    chosen = sorted(range(len(findings)), key=lambda number: (_RANKS[findings[number].level], number))[:SHOWN_AT_MOST]
    return [findings[number] for number in sorted(chosen)]


def _summary(findings: Sequence[Finding]) -> str:
    counts = [(sum(finding.level is level for finding in findings), level) for level in Level]
    words = [f"{count} {level}{'' if count == 1 else 's'}{_lines(findings) if level is Level.ERROR else ''}" for count, level in counts if count]
    hidden = len(findings) - SHOWN_AT_MOST
    before = ", errors before others" if len(words) > 1 else ""
    more = f"; the first {SHOWN_AT_MOST} are shown{before}" if hidden > 0 else ""
    return (", ".join(words) or "no findings") + more


def _lines(findings: Sequence[Finding]) -> str:
    """Say on which lines the errors stand, where other findings stand between them."""
    errors = [finding.where for finding in findings if finding.level is Level.ERROR]
    if len(errors) == len(findings) or any(where is None or not where.line for where in errors):
        return ""
    files = {where.file for where in errors if where}
    places = list(dict.fromkeys(str(where.line) if len(files) == 1 else f"{where.file}:{where.line}" for where in errors if where))
    kind = "" if len(files) > 1 else "line " if len(places) == 1 else "lines "
    more = [f"{len(places) - LINES_AT_MOST} more"] if len(places) > LINES_AT_MOST else []
    return f" ({kind}{display.listed([*places[:LINES_AT_MOST], *more])})"
