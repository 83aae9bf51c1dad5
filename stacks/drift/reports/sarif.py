"""The report as SARIF 2.1.0, as code scanning shows it. Pure."""

import importlib.metadata
import json
from typing import Any

from blueprints.finding import Finding, Level
from components.inspection.codes import Code, code_of
from components.inspection.finding import layer_of

from ..report import Report, fingerprint, texts
from . import summary

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "clusterwrightDrift/v1"
CODE_SCANNING_FINGERPRINT = "primaryLocationLineHash"
"""The one by which GitHub tells results apart; where it is missing it is made from the line of the file, which is the same for all of ours (GitHub Docs, "SARIF support for code scanning")."""
SEVERITIES = {Level.ERROR: "8.0", Level.WARNING: "5.0", Level.NOTE: "2.0"}
"""Numbers by which code scanning sorts (0 to 10)."""


def write(report: Report) -> str:
    """Write the report."""
    return json.dumps(as_record(report), indent=2) + "\n"


def as_record(report: Report) -> dict[str, Any]:
    """Turn the report into SARIF's object."""
    shown = [*report.findings, *(one.finding for one in report.ignored)]
    used = sorted({code_of(finding.code) for finding in shown})
    results = [_result(finding, report, used) for finding in report.findings]
    results += [{**_result(one.finding, report, used), "suppressions": [{"kind": "external", "justification": one.reason}]} for one in report.ignored]
    run = {
        "tool": {
            "driver": {
                "name": "clusterwright drift",
                "semanticVersion": importlib.metadata.version("clusterwright"),
                "rules": [_rule(code) for code in used],
            }
        },
        "automationDetails": {"id": f"clusterwright-drift/{report.stack}"},
        "invocations": [_invocation(report)],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": str(code),
        "name": code.name.title().replace("_", ""),
        "shortDescription": {"text": code.meaning},
        "fullDescription": {"text": f"{code.meaning[0].upper()}{code.meaning[1:]}."},
        "help": {"text": f"`clusterwright explain {code}` explains it, and each finding names what to do."},
        "defaultConfiguration": {"level": str(code.level)},
        "properties": {"problem.severity": str(code.level), "security-severity": SEVERITIES[code.level], "tags": ["drift"]},
    }


def _result(finding: Finding, report: Report, used: list[Code]) -> dict[str, Any]:
    said = ". ".join([f"{finding.place}: {finding.what}", *(f"{label}: {value}" for label, value in summary.sides(finding)), f"Do: {finding.remedy}"])
    result: dict[str, Any] = {
        "ruleId": str(finding.code),
        "ruleIndex": used.index(code_of(finding.code)),
        "level": str(finding.level),
        "message": {"text": said},
        "locations": [
            {
                # Code scanning wants a file; the stack's settings are where the cluster begins.
                "physicalLocation": {"artifactLocation": {"uri": f"stacks/Pulumi.{report.stack}.yaml"}, "region": {"startLine": 1}},
                "logicalLocations": [{"fullyQualifiedName": f"{layer_of(finding)}/{finding.place}", "kind": "resource"}],
            }
        ],
        "partialFingerprints": {FINGERPRINT: fingerprint(finding), CODE_SCANNING_FINGERPRINT: f"{fingerprint(finding)}:1"},
        "properties": {"layer": str(layer_of(finding)), **texts(finding)._asdict()},
    }
    if report.fresh is not None:
        result["baselineState"] = "new" if fingerprint(finding) in report.fresh else "unchanged"
    return result


def _invocation(report: Report) -> dict[str, Any]:
    notifications = [{"level": "error", "message": {"text": f"{result.layer}: {result.failure}"}} for result in report.failures]
    notifications += [{"level": "note", "message": {"text": f"not checked: {one.layer}: {one.where}: {one.why}"}} for one in report.unchecked]
    return {
        "executionSuccessful": not report.failures,
        "startTimeUtc": report.moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "toolExecutionNotifications": notifications,
    }
