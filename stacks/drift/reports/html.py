"""The report as one HTML file: it asks for nothing from anywhere, runs no script, and shows how it came to this. Pure but for reading the style."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from blueprints.finding import Level

from ...render.html_head import head
from ...render.picture.svg import text as safe
from .. import history
from ..report import Drift, Report
from . import summary

STYLE = (Path(__file__).parents[2] / "render" / "page.css").read_text() + (Path(__file__).parent / "drift.css").read_text()
RUNS_SHOWN = 30


def write(report: Report, runs: Sequence[history.Run]) -> str:
    """Write the page.

    Args:
        runs: earlier checks and this one, the oldest first.
    """
    return (
        "\n".join(
            [
                *head(f"Drift of {summary.title(report)}", style=STYLE),
                *_opening(report),
                *_layers(report),
                *_findings(report),
                *_rest(report),
                *_history(runs),
                "</main>",
                "</body>",
                "</html>",
            ]
        )
        + "\n"
    )


def text(words_: object) -> str:
    return safe(str(words_))


def _opening(report: Report) -> Iterator[str]:
    yield "<body>"
    yield '<a class="skip" href="#main">Skip to the report</a>'
    yield "<header>"
    yield f'<p class="where">{text(summary.title(report))}</p>'
    yield f"<h1>{text(summary.verdict(report).capitalize())}</h1>"
    yield f'<p class="lead">{text(report.moment.strftime("%Y-%m-%d %H:%M UTC"))}: {text(", ".join(summary.figures(report)))}</p>'
    yield '<dl class="figures">'
    for level in Level:
        yield f'<div><dt>{level}s</dt><dd class="value">{report.count(level)}</dd></div>'
    yield "</dl>"
    yield "</header>"
    yield '<main id="main" tabindex="-1">'


def _layers(report: Report) -> Iterator[str]:
    rows = [
        (
            str(result.layer),
            f"{summary.of_layer(result)}: {result.failure}" if result.failure else str(len(result.findings)) if result.findings else "clean",
            f"{result.seconds:.1f} s",
        )
        for result in report.results
    ]
    yield from _section("layers", "Layers", _table("What each layer found", ("layer", "findings", "took"), rows))


def _findings(report: Report) -> Iterator[str]:
    for result in report.results:
        if result.findings:
            cards = [line for finding in result.findings for line in _card(finding, is_new=report.fresh is not None and finding.fingerprint in report.fresh)]
            yield from _section(str(result.layer), str(result.layer).capitalize(), cards)


def _card(finding: Drift, *, is_new: bool) -> Iterator[str]:
    yield f'<article class="drift {finding.level}" id="{finding.fingerprint}">'
    new = ' <strong class="new">new</strong>' if is_new else ""
    yield f'<h3>{text(finding.where)}</h3><p><strong class="level">{finding.level}</strong> {text(finding.what)} <span class="code">{finding.code}</span>{new}</p>'
    yield "<dl>"
    for label, value in summary.sides(finding):
        yield f"<div><dt>{label}</dt><dd><code>{text(value)}</code></dd></div>"
    yield f"<div><dt>do</dt><dd>{text(finding.remedy)}</dd></div>"
    yield "</dl>"
    yield "</article>"


def _rest(report: Report) -> Iterator[str]:
    if report.ignored:
        rows = [(str(one.finding.code), one.finding.where, one.reason, str(one.until or "no end")) for one in report.ignored]
        yield from _section("ignored", "Ignored", _table("Findings that are let stand", ("code", "where", "reason", "until"), rows))
    if report.waiting:
        waiting = [(str(finding.code), finding.where, finding.what, str(count)) for finding, count in report.waiting]
        yield from _section("waiting", "Seen, not yet often enough", _table("Findings that wait", ("code", "where", "what", "runs"), waiting))
    if report.unchecked:
        unchecked = [(str(one.layer), one.where, one.why) for one in report.unchecked]
        yield from _section("unchecked", "Not checked", _table("What was not compared", ("layer", "where", "why"), unchecked))


def _history(runs: Sequence[history.Run]) -> Iterator[str]:
    if not runs:
        return
    rows = [
        (
            run.moment.strftime("%Y-%m-%d %H:%M"),
            *(str(run.counts.get(str(level), 0)) for level in Level),
            str(run.ignored),
            ", ".join(run.failed) or "none",
            f"{run.seconds:.1f} s",
        )
        for run in reversed(runs[-RUNS_SHOWN:])
    ]
    head = ("moment (UTC)", *(f"{level}s" for level in Level), "ignored", "could not be checked", "took")
    yield from _section("history", "Earlier checks", [*_bars(runs[-RUNS_SHOWN:]), *_table("The latest checks", head, rows)])


def _bars(runs: Sequence[history.Run]) -> Iterator[str]:
    """Draw a bar for each run, as high as it had findings."""
    most = max(1, *(sum(run.counts.values()) for run in runs))
    width, height, bar = 600, 80, 600 // RUNS_SHOWN
    said = f"The last {len(runs)} checks found {', '.join(str(sum(run.counts.values())) for run in runs)}"
    yield f'<figure><svg class="bars" viewBox="0 0 {width} {height}" role="img" aria-labelledby="bars-title bars-text">'
    yield f'<title id="bars-title">Findings of the latest checks</title><desc id="bars-text">{text(said)}</desc>'
    for place, run in enumerate(runs):
        top = float(height)
        for level in reversed(Level):
            size = height * run.counts.get(str(level), 0) / most
            top -= size
            if size:
                yield f'<rect class="{level}" x="{place * bar + 2}" y="{top:.1f}" width="{bar - 4}" height="{size:.1f}"/>'
    yield f'<path class="line" d="M0 {height - 0.5}H{width}"/></svg></figure>'


def _section(key: str, title: str, lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    yield f'<section id="{key}" aria-labelledby="{key}-heading">'
    yield f'<h2 id="{key}-heading">{title}</h2>'
    yield from lines
    yield "</section>"


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table><caption>{caption}</caption>'
    titles = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    yield f"<thead><tr>{titles}</tr></thead><tbody>"
    for row in rows:
        cells = "".join(f"<td>{text(cell)}</td>" for cell in row)
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table></div>"
