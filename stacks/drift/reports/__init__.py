"""Reports of a drift check: each form is a module with `write(report, ...) -> str`, and a file's ending selects it."""

from collections.abc import Sequence
from pathlib import Path

from .. import history
from ..report import Report

ENDINGS = {".json": "JSON", ".md": "Markdown", ".xml": "JUnit", ".sarif": "SARIF", ".html": "HTML", ".txt": "text"}


def write(path: Path, report: Report, runs: Sequence[history.Run], *, show_ignored: bool = False) -> None:
    """Write a report to a file in the form that its ending selects.

    Args:
        runs: earlier runs and this one, the oldest first, for forms that show them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(path.suffix, report, runs, show_ignored=show_ignored), encoding="utf-8")


def text(ending: str, report: Report, runs: Sequence[history.Run], *, show_ignored: bool = False) -> str:
    """Give the report in the form that belongs to a file's ending."""
    match ending:
        case ".json":
            from . import document

            return document.write(report)
        case ".md":
            from . import markdown

            return markdown.write(report, show_ignored=show_ignored)
        case ".xml":
            from . import junit

            return junit.write(report)
        case ".sarif":
            from . import sarif

            return sarif.write(report)
        case ".html":
            from . import html

            return html.write(report, runs)
        case _:
            from . import terminal

            return terminal.write(report, show_ignored=show_ignored)
