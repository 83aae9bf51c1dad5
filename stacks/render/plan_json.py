"""The plan of a cluster as plain JSON values (docs/json.md)."""

from collections.abc import Sequence
from typing import Any

from blueprints import finding
from blueprints.plan import estimate, quotas
from blueprints.spec import as_record

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
        "findings": [finding.as_record(one) for one in findings],
    }
