"""The page that shows all findings of a blueprint at once."""

from collections.abc import Sequence

from .. import message_text
from .finding import Finding, Level
from .position import Position

SHOWN_AT_MOST = 100
"""The most findings on one page: a longer page scrolls away unread."""
LINES_AT_MOST = 10
"""Lines that the last line of the page names."""


def render(findings: Sequence[Finding], *, colour: bool = False) -> str:
    """Write the page: every finding with its place, the line itself, a caret, the reason and the remedy.

    Args:
        colour: use ANSI colours; for a terminal only.
    """
    paint = message_text.Paint(colour)
    parts = [_render_one(finding, paint) for finding in _shown(findings)]
    return "\n\n".join([*parts, _summary(findings)]) + "\n"


_RANKS = {level: rank for rank, level in enumerate(Level)}
_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


def _render_one(finding: Finding, paint: message_text.Paint) -> str:
    level = paint(f"{finding.level}:", _COLOURS[finding.level])
    place = f"{paint(message_text.printable(str(finding.where)), 'bold')}: " if finding.where else ""
    lines = [f"{place}{level} {paint(message_text.printable(finding.what), 'bold')} [{finding.code}]"]
    if finding.where and finding.where.text and not message_text.is_private(finding.where.text):
        lines += _quote(finding.where, paint)
    lines += [f"  why: {message_text.printable(finding.why)}", f"  do:  {message_text.printable(finding.remedy)}"]
    return "\n".join(lines)


def _quote(where: Position, paint: message_text.Paint) -> list[str]:
    number = f"{where.line:>5}" if where.line else " " * 5
    line, marker = message_text.underlined(where.text, where.column, where.width)
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
    """Name the lines with errors, where other findings are between them."""
    errors = [finding.where for finding in findings if finding.level is Level.ERROR]
    if len(errors) == len(findings) or any(where is None or not where.line for where in errors):
        return ""
    files = {where.file for where in errors if where}
    places = list(dict.fromkeys(str(where.line) if len(files) == 1 else f"{where.file}:{where.line}" for where in errors if where))
    kind = "" if len(files) > 1 else "line " if len(places) == 1 else "lines "
    more = [f"{len(places) - LINES_AT_MOST} more"] if len(places) > LINES_AT_MOST else []
    return f" ({kind}{message_text.listed([*places[:LINES_AT_MOST], *more])})"
