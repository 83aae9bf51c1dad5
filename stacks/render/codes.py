"""What the codes of findings mean, how much they matter, and how one is accepted. Pure."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import load
from blueprints.codes import Code
from blueprints.finding import Level
from blueprints.finding.code import FindingCode
from components.finish import checks
from components.inspection import codes as drift

from .. import settings
from .tables import Column, Facts, Section, Table

ACCEPTED_DAYS = 90
"""Of the example; a blueprint names any day."""


def known() -> Mapping[str, FindingCode]:
    """Give every code by its name, in order."""
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


def listed(codes: Sequence[FindingCode]) -> Section:
    """List codes with their meanings."""
    rows = tuple((str(code), " or ".join(code.levels), code.meaning) for code in codes)
    hint = Facts((("", "`clusterwright explain CODE` says how one is accepted"),))
    return Section("Codes of findings", (Table((Column("code"), Column("level"), Column("meaning")), rows), hint))


def as_record(code: FindingCode) -> dict[str, Any]:
    """Turn what is known of a code into plain JSON values."""
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
