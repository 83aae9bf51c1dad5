"""Which checks make acceptance fail: the blueprint's `acceptance.gate` names kinds of checks, and what is not named is shown and does not fail (pure)."""

import dataclasses
from collections.abc import Iterable, Sequence

from .document import Check, Verdict

KINDS = {
    "nodes": ("node state", "node left to the roll"),
    "gpus": ("GPUs known to Slurm", "GPUs in a job", "confinement of GPUs", "GPU diagnostics"),
    "jobs": ("job over all nodes", "rendezvous by node name", "confinement of cores", "users", "job of a user", "environment of jobs"),
    "accounting": ("accounting",),
    "collectives": (
        *("MPI all-reduce", "collective values", "collective transport", "collective busbw", "slow part of a pool"),
        *("affinity of ranks", "huge pages"),
        *("rails", "rail routes", "rail packets", "rail speed"),
    ),
    "storage": ("shared storage", "storage values", "storage write", "storage read", "storage metadata"),
}
"""Word of `acceptance.gate` → its checks. Checks of no kind always count: without them nothing could be judged."""
UNGATED = "not in `acceptance.gate`: shown, and not a failure"


def apply(checks: Iterable[Check], gate: Sequence[str] | None) -> list[Check]:
    """Turn failures that the blueprint does not gate into warnings.

    Args:
        gate: words of the blueprint; None: all of them.
    """
    if gate is None:
        return [*checks]
    free = {name for kind, names in KINDS.items() if kind not in gate for name in names}
    return [_warned(check) if check.name in free and check.verdict in (Verdict.FAIL, Verdict.ERROR) else check for check in checks]


def _warned(check: Check) -> Check:
    return dataclasses.replace(check, verdict=Verdict.WARN, detail="; ".join(filter(None, (check.detail, UNGATED))))
