"""`clusterwright check`: everything wrong with a blueprint, before anything is built; on one target or on all."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from blueprints import display, finding
from blueprints.codes import Code
from blueprints.language import TargetName
from blueprints.load import Loaded

from .. import settings
from ..engine import account
from ..problem import EXIT_USAGE, Problem
from ..render import finding_list
from . import options

FORMAT = 1
"""Of the JSON documents (docs/json.md)."""
PLANNED_ONLY = (Code.TARGET_NOT_BUILT, Code.SCHEDULER_NOT_BUILT, Code.SOFTWARE_NOT_BUILT)
"""Findings that a verdict on several targets says in two words."""
EXIT_WARNED = 1
EXIT_INVALID = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """What was found of a blueprint on one target."""

    target: str
    findings: tuple[finding.Finding, ...]
    suppressed: tuple[finding.Finding, ...] = ()

    @property
    def is_planned_only(self) -> bool:
        """Say whether this version can't stand it up, though nothing is wrong with it."""
        return not self.count(finding.Level.ERROR) and any(found.code in PLANNED_ONLY for found in self.findings)

    def count(self, level: finding.Level) -> int:
        return sum(found.level is level for found in self.findings)


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    where = parser.add_mutually_exclusive_group()
    options.target(where)
    where.add_argument("--all-targets", action="store_true", help="check on every target there is")
    options.what_if(parser)
    parser.add_argument("--live", action="store_true", help="ask the target's account too: needs credentials, changes nothing")
    parser.add_argument("--strict", action="store_true", help="end with status 1 if there are warnings")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    if given.all_targets and given.live:
        raise Problem(
            "an account is asked about one target", why="`--all-targets` and `--live` were given", remedy="name it: `--target aws --live`", status=EXIT_USAGE
        )
    return _on_all(given) if given.all_targets else _on_one(given)


def _on_one(given: argparse.Namespace) -> int:
    loaded = options.loaded(given)
    others = described(loaded)
    held = account.validate(loaded, stack=given.stack) if given.live else None
    answers = held.answers if held else None
    findings, suppressed = (held.findings, held.suppressed) if held else (loaded.findings, loaded.suppressed)
    result = Checked(loaded.spec.target, findings, suppressed)
    if given.json:
        document = {
            "format": FORMAT,
            "name": loaded.spec.name,
            "target": loaded.spec.target,
            "also_described": list(others),
            "findings": [finding.as_record(found) for found in findings],
            "suppressed": [finding.as_record(found) for found in suppressed],
            "account": None
            if answers is None
            else {"account": answers.account, "who": answers.who, "region": loaded.spec.network.region, "asked": answers.asked},
        }
        print(json.dumps(document, indent=2))
    else:
        finding_list.show(findings)
        asked = f", account {answers.account} in {loaded.spec.network.region} asked as {answers.who}" if answers else ""
        print(f"{loaded.spec.name}: {_verdict(result)} (target {loaded.spec.target}{asked}){_accepted(suppressed)}")
        if others:
            print(f"also described: {', '.join(others)}; check them with `--target` or `--all-targets`")
    return _status([result], strict=given.strict)


def described(loaded: Loaded) -> tuple[str, ...]:
    """Name the targets, but for the one that it was loaded for, of which the blueprint says something of its own."""
    parts = loaded.document.at("targets")
    return tuple(name for name in get_args(TargetName) if name != loaded.spec.target and isinstance(parts, dict) and parts.get(name))


def _on_all(given: argparse.Namespace) -> int:
    settled = options.chosen(given)
    options.announce(given)
    results = [_checked(given.stack, settled, target) for target in get_args(TargetName)]
    if given.json:
        print(json.dumps({"format": FORMAT, "blueprint": settled.blueprint, **as_record(results)}, indent=2))
    else:
        shown = {result.target: [found for found in result.findings if found.code not in PLANNED_ONLY] for result in results}
        for targets, findings in grouped(shown).items():
            print(f"On {_several(targets)}\n", file=sys.stderr)
            finding_list.show(findings)
            print(file=sys.stderr)
        for result in results:
            planned = ", planned only" if result.is_planned_only else ""
            print(f"{settled.blueprint}: {_verdict(result)} (target {result.target}{planned}){_accepted(result.suppressed)}")
    return _status(results, strict=given.strict)


def _checked(stack: str, settled: settings.Settings, target: str) -> Checked:
    try:
        loaded = options.examined(stack, settled, target=target, origin=f"option --all-targets, {target}")
    except finding.Invalid as invalid:
        return Checked(target, invalid.findings)
    return Checked(target, loaded.findings, loaded.suppressed)


def grouped(found: Mapping[str, Sequence[finding.Finding]]) -> dict[tuple[str, ...], list[finding.Finding]]:
    """Put findings together that hold on the same targets, those of most targets first; each is there once."""
    holds: dict[finding.Finding, list[str]] = {}
    for target, findings in found.items():
        for one in dict.fromkeys(findings):
            holds.setdefault(one, []).append(target)
    groups: dict[tuple[str, ...], list[finding.Finding]] = {}
    for one, targets in holds.items():
        groups.setdefault(tuple(targets), []).append(one)
    return {targets: list(finding.in_order(groups[targets])) for targets in sorted(groups, key=lambda targets: -len(targets))}


def as_record(results: Sequence[Checked]) -> dict[str, Any]:
    """Turn what was found on several targets into plain JSON values."""
    return {
        "targets": [{"target": result.target, **{f"{level}s": result.count(level) for level in finding.Level}} for result in results],
        "findings": _records({result.target: result.findings for result in results}),
        "suppressed": _records({result.target: result.suppressed for result in results}),
    }


def _records(found: Mapping[str, Sequence[finding.Finding]]) -> list[dict[str, Any]]:
    return [{"targets": list(targets), **finding.as_record(one)} for targets, several in grouped(found).items() for one in several]


def _verdict(result: Checked) -> str:
    errors = result.count(finding.Level.ERROR)
    return f"{errors} error{'' if errors == 1 else 's'}" if errors else "no errors"


def _several(targets: Sequence[str]) -> str:
    return "every target" if len(targets) == len(get_args(TargetName)) else display.listed(targets)


def _accepted(suppressed: Sequence[finding.Finding]) -> str:
    return f", {len(suppressed)} accepted by the blueprint" if suppressed else ""


def _status(results: Sequence[Checked], *, strict: bool) -> int:
    if any(result.count(finding.Level.ERROR) for result in results):
        return EXIT_INVALID
    warned = any(result.count(finding.Level.WARNING) for result in results)
    return EXIT_WARNED if strict and warned else 0
