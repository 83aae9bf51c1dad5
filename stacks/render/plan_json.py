"""The plan of a cluster as plain JSON values (docs/json.md)."""

from collections.abc import Sequence
from typing import Any

from blueprints import finding
from blueprints.plan import estimate, quotas
from blueprints.spec import as_record

from . import tables
from .plan_view import PlanView

FORMAT = 1
"""Raised when a key goes or changes its meaning."""


def document(view: PlanView, findings: Sequence[finding.Finding]) -> dict[str, Any]:
    """Give the plan's document."""
    return {
        "format": FORMAT,
        "spec": as_record(view.cluster),
        "estimate": estimate.as_record(view.estimate),
        "quotas": quotas.as_record(view.needs, view.uncounted),
        "late": list(view.known_later),
        "sections": [_section(section) for section in view.sections if section.shown(detailed=True)],
        "findings": [finding.as_record(one) for one in findings],
    }


def _section(section: tables.Section) -> dict[str, Any]:
    """Give a section as people read it, so that no document says something else than the text and the page."""
    parts = section.shown(detailed=True)
    return {
        "title": section.title,
        "tables": [
            {"columns": [column.title for column in part.columns], "rows": [[tables.plain(cell) for cell in row] for row in part.rows]}
            for part in parts
            if isinstance(part, tables.Table)
        ],
        "lines": [[label, tables.plain(cell)] for part in parts if isinstance(part, tables.Facts) for label, cell in part.lines],
    }
