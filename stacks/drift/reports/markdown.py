"""The report as Markdown, as job summaries and issues show it. Pure."""

from collections.abc import Iterator, Sequence

from blueprints import message_text
from blueprints.finding import Finding

from ..report import Report, Result, fingerprint, texts
from . import summary

SIGNS = {"error": "🔴", "warning": "🟡", "note": "🔵"}


def write(report: Report, *, show_ignored: bool = False) -> str:
    """Write the report."""
    lines = [f"# Drift of {_text(summary.title(report))}", "", f"**{_text(summary.verdict(report)).capitalize()}** ({', '.join(summary.figures(report))})", ""]
    lines += _table(("layer", "result"), [(str(result.layer), _result(result)) for result in report.results])
    for result in report.results:
        if result.findings:
            lines += ["", f"## {str(result.layer).capitalize()}", ""]
            head = ("", "where", "what", "should be", "is", "do")
            lines += _table(head, [_row(finding, report) for finding in result.findings])
    if show_ignored and report.ignored:
        rows = [(str(one.finding.code), one.finding.place, one.reason, str(one.until or "no end")) for one in report.ignored]
        lines += ["", "## Ignored", "", *_table(("code", "where", "reason", "until"), rows)]
    if report.unchecked:
        unchecked = [(str(one.layer), one.where, one.why) for one in report.unchecked]
        lines += ["", "<details><summary>Not checked</summary>", "", *_table(("layer", "where", "why"), unchecked), "", "</details>"]
    return "\n".join(lines) + "\n"


def _result(result: Result) -> str:
    return f"{summary.of_layer(result)}: {result.failure}" if result.failure else summary.of_layer(result)


def _row(finding: Finding, report: Report) -> tuple[str, ...]:
    new = " (new)" if report.fresh is not None and fingerprint(finding) in report.fresh else ""
    values = texts(finding)
    should = values.desired if values.desired is not None else values.recorded
    sign = f"{SIGNS[finding.level]} {finding.level} {finding.code}{new}"
    return (sign, finding.place, finding.what, should or "", values.actual or "nothing", finding.remedy)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(_text(cell) for cell in row)} |"


def _text(text: str) -> str:
    """Keep text from being read as Markdown or HTML; a line break would end the row."""
    escaped = (
        message_text.printable(summary.one_line(text)).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")
    )
    for sign in ("*", "_", "[", "]", "~"):
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped
