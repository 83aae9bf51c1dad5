"""`clusterwright explain`: what the code of a finding means, how much it matters, and how a blueprint accepts it."""

import argparse
import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

from blueprints import display, load
from blueprints.codes import Code
from blueprints.finding import Level
from blueprints.finding.code import FindingCode
from components.finish import checks

from .. import settings
from ..drift import codes as drift
from ..problem import EXIT_USAGE, Problem
from ..render import tables
from ..render.tables import Column, Facts, Section, Table

ACCEPTED_DAYS = 90
"""Of the example; a blueprint names any day."""
FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", type=str.upper, metavar="CODE", help="the code that a finding ends with: CW520 (default: all of them)")
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    known = _known()
    if given.code and given.code not in known:
        near = display.near(given.code, known)
        meant = f"did you mean {near}? " if near else ""
        why = "each finding shows its code in brackets at the end of its first line"
        raise Problem(f"no finding has the code {given.code}", why=why, remedy=f"{meant}`clusterwright explain` lists all codes", status=EXIT_USAGE)
    chosen = [known[given.code]] if given.code else [*known.values()]
    if given.json:
        print(json.dumps({"format": FORMAT, "codes": [_as_record(code) for code in chosen]}, indent=2))
    elif given.code:
        print("\n".join(lines(chosen[0])))
    else:
        tables.show([_listed(chosen)])
    return 0


def _known() -> dict[str, FindingCode]:
    return {str(code): code for code in sorted((*Code, *settings.Code, *drift.Code, *checks.Code))}


def lines(code: FindingCode) -> Iterator[str]:
    """Explain one code."""
    yield f"{code}: {code.meaning}"
    yield f"  level: {' or '.join(code.levels)}"
    yield f"  do: {code.remedy}"
    if isinstance(code, checks.Code):
        yield "  found by acceptance, at the end of `clusterwright up`"
    else:
        yield from _of_drift(code) if isinstance(code, drift.Code) else _of_blueprint(code)


def _of_blueprint(code: FindingCode) -> Iterator[str]:
    possible = code.levels
    if Level.ERROR in possible:
        other = "" if len(possible) == 1 else " where it is one"
        yield f"  an error can't be accepted{other}: what it is about has to change"
    if possible != (Level.ERROR,):
        yield "  accept it for a time in the blueprint, at the place that the finding names (with all below it):"
        yield ""
        yield "    suppress:"
        yield f"      - {{code: {code}, at: pools.train, reason: why it is accepted, until: {_until()}}}"
    if code in load.PLANNED_ONLY:
        yield ""
        yield "  accepted or not, `up` refuses to provision such a cluster"


def _of_drift(code: drift.Code) -> Iterator[str]:
    yield "  found by `clusterwright drift`; a rule for its subject can change the level"
    if code is drift.Code.IGNORE_EXPIRED:
        yield "  it can't be ignored: renew the entry in stacks/Drift.<stack>.yaml, or remove it"
        return
    yield "  ignore it for a time in stacks/Drift.<stack>.yaml, at the place that the finding names (patterns as in shells):"
    yield ""
    yield "    ignore:"
    yield f'      - {{code: {code}, where: "the place, or *", reason: why it is accepted, until: {_until()}}}'


def _until() -> dt.date:
    return dt.datetime.now(tz=dt.UTC).date() + dt.timedelta(days=ACCEPTED_DAYS)


def _listed(codes: list[FindingCode]) -> Section:
    rows = tuple((str(code), " or ".join(code.levels), code.meaning) for code in codes)
    hint = Facts((("", "`clusterwright explain CODE` says how one is accepted"),))
    return Section("Codes of findings", (Table((Column("code"), Column("level"), Column("meaning")), rows), hint))


def _as_record(code: FindingCode) -> dict[str, Any]:
    return {
        "code": str(code),
        "title": code.label,
        "meaning": code.meaning,
        "remedy": code.remedy,
        "levels": [str(level) for level in code.levels],
        "can_be_accepted": _can_be_accepted(code),
    }


def _can_be_accepted(code: FindingCode) -> bool:
    if isinstance(code, checks.Code):
        return False
    return code is not drift.Code.IGNORE_EXPIRED if isinstance(code, drift.Code) else code.levels != (Level.ERROR,)
