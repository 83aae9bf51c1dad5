"""The result of acceptance: checks with a verdict each, as one JSON document."""

import dataclasses
import enum
import json
from collections.abc import Sequence

from blueprints import hostlist


class Verdict(enum.Enum):
    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    """Less than it should be, and no failure: a provisional figure, or a kind of check that the blueprint does not gate."""
    REPORTED = "reported"
    """Measured and shown, not judged: simulated hardware, or a node that a user's job holds."""
    ERROR = "error"
    """The check itself could not run; neither a pass nor a finding about the cluster."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    name: str
    node: str
    """One node, or Slurm's bracket form of all nodes that are alike."""
    expected: str
    measured: str
    verdict: Verdict
    unit: str = ""
    detail: str = ""
    look_at: str = ""
    """What a person opens next; empty where nothing is wrong."""


def merged(checks: Sequence[Check]) -> list[Check]:
    """Join checks that differ only in their node, so that a thousand nodes with one result are one line."""
    alike: dict[Check, list[str]] = {}
    for check in checks:
        alike.setdefault(dataclasses.replace(check, node="", look_at=""), []).append(check.node)
    first = {dataclasses.replace(check, node="", look_at=""): check for check in reversed(checks)}
    return [dataclasses.replace(first[key], node=hostlist.compress([name for node in nodes for name in hostlist.expand(node)])) for key, nodes in alike.items()]


def is_ok(checks: Sequence[Check]) -> bool:
    return bool(checks) and not any(check.verdict in (Verdict.FAIL, Verdict.ERROR) for check in checks)


def render(checks: Sequence[Check], *, seconds: float) -> str:
    rows = [{**dataclasses.asdict(check), "verdict": check.verdict.value} for check in checks]
    return json.dumps({"ok": is_ok(checks), "seconds": round(seconds, 2), "checks": rows})
