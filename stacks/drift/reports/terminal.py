"""The report as people read it at a terminal. Pure."""

from collections.abc import Iterator

from blueprints import message_text
from blueprints.finding import Finding, Level

from ..report import Report, Result, fingerprint
from . import summary

COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


def write(report: Report, *, colour: bool = False, show_ignored: bool = False) -> str:
    """Write the report.

    Args:
        colour: use ANSI colours; for a terminal only.
    """
    paint = message_text.Paint(colour)
    lines = [paint(f"Drift of {summary.title(report)}: {summary.verdict(report)}", "bold"), f"  {', '.join(summary.figures(report))}"]
    said: set[str] = set()
    for result in report.results:
        lines += _layer(result, report, paint, said)
    if show_ignored and report.ignored:
        lines += ["", paint("Ignored", "bold")]
        for one in report.ignored:
            until = f", until {one.until}" if one.until else ""
            lines += [f"  {one.finding.code} {message_text.printable(one.finding.place)}: {message_text.printable(one.reason)}{until}"]
    if report.waiting:
        lines += ["", paint("Seen, not yet often enough", "bold")]
        lines += [
            f"  {finding.code} {message_text.printable(finding.place)}: {message_text.printable(finding.what)} (run {count})"
            for finding, count in report.waiting
        ]
    if report.unchecked:
        lines += ["", paint("Not checked", "bold")]
        lines += [f"  {one.layer}: {message_text.printable(one.where)}: {message_text.printable(summary.one_line(one.why))}" for one in report.unchecked]
    return "\n".join(lines) + "\n"


def _layer(result: Result, report: Report, paint: message_text.Paint, shown: set[str]) -> Iterator[str]:
    """Write a layer; of several with one reason for failing, the first shows it."""
    yield ""
    yield f"{paint(str(result.layer).capitalize(), 'bold')}: {summary.of_layer(result)}"
    if result.failure and result.failure in shown:
        yield "  for the same reason"
    else:
        for line in result.failure.splitlines():
            yield f"  {paint(message_text.printable(line), 'red')}"
    shown.add(result.failure)
    for finding in result.findings:
        yield from _finding(finding, paint, is_new=report.fresh is not None and fingerprint(finding) in report.fresh)


def _finding(finding: Finding, paint: message_text.Paint, *, is_new: bool) -> Iterator[str]:
    new = " (new)" if is_new else ""
    yield f"  {paint(f'{finding.level}:', COLOURS[finding.level])} {paint(message_text.printable(finding.place), 'bold')}: {message_text.printable(finding.what)} [{finding.code}]{new}"
    for label, value in summary.sides(finding):
        yield f"    {label}: {message_text.printable(value)}"
    yield f"    do: {message_text.printable(finding.remedy)}"
