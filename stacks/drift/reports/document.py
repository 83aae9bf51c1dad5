"""The report as one JSON document (docs/json.md). Pure."""

import json
from typing import Any

from ..report import FORMAT, Report, finding_record
from . import summary


def write(report: Report) -> str:
    return json.dumps(as_record(report), indent=2) + "\n"


def as_record(report: Report) -> dict[str, Any]:
    """Turn a report into plain JSON values."""
    return {
        "format": FORMAT,
        "stack": report.stack,
        "cluster": report.cluster or None,
        "target": report.target or None,
        "moment": report.moment.isoformat(),
        "seconds": round(report.seconds, 1),
        "verdict": summary.verdict(report),
        "layers": [
            {"layer": str(result.layer), "findings": len(result.findings), "failure": result.failure or None, "seconds": round(result.seconds, 1)}
            for result in report.results
        ],
        "findings": [finding_record(finding) for finding in report.findings],
        "new": None if report.fresh is None else sorted(report.fresh),
        "gone": list(report.gone),
        "ignored": [{**finding_record(one.finding), "reason": one.reason, "until": one.until.isoformat() if one.until else None} for one in report.ignored],
        "waiting": [{**finding_record(finding), "runs": count} for finding, count in report.waiting],
        "unchecked": [{"layer": str(one.layer), "where": one.where, "why": one.why} for one in report.unchecked],
    }
