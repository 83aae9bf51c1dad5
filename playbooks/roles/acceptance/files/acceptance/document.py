"""The result of acceptance: checks with a verdict each, as one JSON document."""

import dataclasses
import enum
import json
from collections.abc import Sequence


class Verdict(enum.Enum):
    PASS = "pass"
    FAIL = "fail"
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


def is_ok(checks: Sequence[Check]) -> bool:
    return bool(checks) and not any(check.verdict in (Verdict.FAIL, Verdict.ERROR) for check in checks)


def render(checks: Sequence[Check], *, seconds: float) -> str:
    rows = [{**dataclasses.asdict(check), "verdict": check.verdict.value} for check in checks]
    return json.dumps({"ok": is_ok(checks), "seconds": round(seconds, 2), "checks": rows})
