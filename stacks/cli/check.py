"""`clusterwright check`: everything wrong with a blueprint, before anything is built; on one target or on all."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import get_args

from blueprints import finding
from blueprints.language import TargetName

from .. import settings
from ..engine import live
from ..errors import EXIT_USAGE, Problem
from ..render import check_results, finding_list
from . import options

FORMAT = 1
"""Of the JSON documents (docs/json.md)."""
EXIT_WARNED = 1
EXIT_INVALID = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    where = parser.add_mutually_exclusive_group()
    options.target(where)
    where.add_argument("--all-targets", action="store_true", help="validate for every target")
    options.what_if(parser)
    parser.add_argument("--live", action="store_true", help="also ask the target's account or hosts; needs credentials or SSH, and changes nothing")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when there are warnings")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    if given.all_targets and given.live:
        raise Problem(
            "`--live` checks one target", why="`--all-targets` and `--live` were given", remedy="name the target with `--target NAME --live`", status=EXIT_USAGE
        )
    return _on_all(given) if given.all_targets else _on_one(given)


def _on_one(given: argparse.Namespace) -> int:
    loaded = options.loaded(given)
    others = check_results.described(loaded)
    validated = live.validate(loaded, stack=given.stack) if given.live else None
    findings, suppressed = (validated.findings, validated.suppressed) if validated else (loaded.findings, loaded.suppressed)
    result = check_results.Checked(loaded.spec.target, findings, suppressed)
    if given.json:
        document = {
            "format": FORMAT,
            "name": loaded.spec.name,
            "target": loaded.spec.target,
            "also_described": list(others),
            "findings": [finding.as_record(found) for found in findings],
            "suppressed": [finding.as_record(found) for found in suppressed],
            "account": None,
            "hosts": None,
            **(validated.asked.record if validated else {}),
        }
        print(json.dumps(document, indent=2))
    else:
        finding_list.show(findings)
        asked = f", {validated.asked.whom}" if validated and validated.asked.whom else ""
        print(f"{loaded.spec.name}: {check_results.verdict(result)} (target {loaded.spec.target}{asked}){check_results.accepted(suppressed)}")
        if others:
            print(f"also described: {', '.join(others)}; check them with `--target` or `--all-targets`")
    return _status([result], strict=given.strict)


def _on_all(given: argparse.Namespace) -> int:
    settled = options.chosen(given)
    options.announce(given)
    results = [_checked(given.stack, settled, target) for target in get_args(TargetName)]
    if given.json:
        print(json.dumps({"format": FORMAT, "blueprint": settled.blueprint, **check_results.as_record(results)}, indent=2))
    else:
        shown = {result.target: [found for found in result.findings if found.code not in check_results.PLANNED_ONLY] for result in results}
        for targets, findings in check_results.grouped(shown).items():
            print(f"On {check_results.several(targets)}\n", file=sys.stderr)
            finding_list.show(findings)
            print(file=sys.stderr)
        for result in results:
            planned = ", planned only" if result.is_planned_only else ""
            print(f"{settled.blueprint}: {check_results.verdict(result)} (target {result.target}{planned}){check_results.accepted(result.suppressed)}")
    return _status(results, strict=given.strict)


def _checked(stack: str, settled: settings.Settings, target: str) -> check_results.Checked:
    try:
        loaded = options.examined(stack, settled, target=target, origin=f"option --all-targets, {target}")
    except finding.Invalid as invalid:
        return check_results.Checked(target, invalid.findings)
    return check_results.Checked(target, loaded.findings, loaded.suppressed)


def _status(results: Sequence[check_results.Checked], *, strict: bool) -> int:
    if any(result.count(finding.Level.ERROR) for result in results):
        return EXIT_INVALID
    warned = any(result.count(finding.Level.WARNING) for result in results)
    return EXIT_WARNED if strict and warned else 0
