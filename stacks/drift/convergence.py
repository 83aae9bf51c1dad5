"""What `clusterwright up` does before and after the engine: look at hosts and scheduler, repair what differs from the record, and say what stays.

The engine compares resources with the record. What became of a host since it was configured is no property of a resource, so that the engine alone would call a damaged host unchanged.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprints import hostlist
from blueprints.finding import Finding
from blueprints.spec import ClusterSpec
from components.finish import inspection_results
from components.inspection.finding import in_order
from components.inspection.layer import Layer

from ..acceptance import repaired_hosts
from ..engine import state
from ..errors import BadIgnoreFile, Problem
from . import detect, fix, ignore, repair
from .fix import step
from .report import fingerprint

LOOKED_AT = (Layer.HOSTS, Layer.SCHEDULER, Layer.VERSIONS, Layer.CAPABILITY)
RESTORED = repair.Selection(frozenset(fix.Kind) - step.REMOVING)
"""`up` brings back what is recorded. What somebody added, drained or reserved on purpose, it leaves to `clusterwright drift fix`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """What differs from the record."""

    repair: repair.Repair | None
    """None: nothing is recorded yet, or it could not be compared."""
    why_not: str = ""
    checked: detect.Checked | None = None
    """What was seen; None: nothing is recorded yet."""
    outputs: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """What a file backend recorded then, but for secrets."""

    def record_of(self, stack: str) -> Mapping[str, Any]:
        """Give the decrypted record of that time if it is still true; else empty.

        The engine takes a third of a second of processor time to decrypt it again. No resource may have been changed since, as one with a secret could be.
        """
        return self.checked.exported if self.checked and self.outputs and state.outputs(stack) == self.outputs else {}


def look(stack: str, ignore_file: Path, becoming: ClusterSpec) -> Look:
    """Look at hosts and scheduler; changes nothing.

    Args:
        becoming: the cluster as it should become.
    Raises:
        Problem: the ignore file is unusable.
    """
    if not state.exists(stack):
        return Look(None)
    try:
        entries = ignore.read(ignore_file)
    except BadIgnoreFile as error:
        raise Problem(
            "hosts are not compared, because the ignore file is unusable", why=str(error), remedy="correct the ignore file, or add --as-recorded"
        ) from error
    recorded = state.outputs(stack)
    checked = detect.detect(stack, layers=set(LOOKED_AT), is_deep=False)
    if checked.known is None:
        return Look(None)
    try:
        found = repair.planned(stack, checked, layers=LOOKED_AT, selection=RESTORED, entries=entries, becoming=becoming)
    except Problem as problem:
        return Look(None, problem.why, checked, recorded)
    return Look(found, checked=checked, outputs=recorded)


def agreed(found: repair.Repair, ask: Callable[[Sequence[str]], bool]) -> repair.Repair:
    """Plan also what running jobs may notice, where somebody agrees.

    Args:
        ask: gets one line for each such finding; called only if there is any.
    """
    waiting = [f"{one.finding.place}: {one.finding.what}, and {one.why}" for one in found.plan.waiting]
    return repair.replanned(found, despite_jobs=True) if waiting and ask(waiting) else found


def carry_out(found: repair.Repair, *, say: Callable[[str], None]) -> repair.Outcome:
    """Repair what differs."""
    return repair.carry_out(found, is_open=True, say=say)


def seen_last(found: Look, outcome: repair.Outcome | None) -> detect.Checked | None:
    """Give what was seen after the repairs, or before them where the look afterwards failed; None: nothing is recorded yet."""
    return outcome.checked if outcome and outcome.checked.known and outcome.checked.seen else found.checked


def has_dark_hosts(found: Look, outcome: repair.Outcome | None) -> bool:
    """Say whether a host doesn't answer, or stopped to answer while hosts were repaired. The engine may start it, and it is inspected only after that."""
    return found.repair is not None and bool(found.repair.unreachable or (outcome and repair.unreachable(outcome.checked)))


def repairs(plan: fix.Plan) -> Sequence[str]:
    """Say what is repaired: one line for each action, with the hosts on which it runs."""
    hosts: dict[str, list[str]] = {}
    for one in plan.steps:
        hosts.setdefault(str(one.action), []).append(one.host)
    return [f"{hostlist.compress(dict.fromkeys(names))}: {action}" for action, names in hosts.items()]


def environment(stack: str) -> dict[str, str]:
    """Give the environment in which the engine takes hosts as they are now: they were looked at, and acceptance is older than what was repaired since."""
    return inspection_results.environment(repaired_hosts.read(stack))


def staying(found: repair.Repair | None, outcome: repair.Outcome | None, last: Look | None = None) -> Sequence[tuple[str, str]]:
    """Say which findings stay, one for each cause, and what ends each.

    Args:
        last: what differed after the engine had run, which rebuilds hosts and waits for nodes; None: there was no second look.
    """
    if found is None:
        return ()
    if last and last.repair:
        findings, plan, checked = last.repair.drift, last.repair.plan, last.repair.checked
    elif outcome:
        findings, plan, checked = outcome.report.findings, outcome.plan, outcome.checked
    else:
        findings, plan, checked = found.drift, found.plan, found.checked
    by_mark = {fingerprint(one): one for one in findings}
    tried = {fingerprint(finding) for finding, _ in outcome.stayed} if outcome else set()
    shown = in_order(checked.folded([*by_mark.values()]))

    def ends(one: Finding) -> str:
        return repair.command_for(by_mark[fingerprint(one)], stack=found.stack, plan=plan, tried=fingerprint(one) in tried, known=checked.known)

    return [(_described(one), ends(one)) for one in shown]


def reasons(outcome: repair.Outcome | None) -> Sequence[str]:
    """Give what was said by repairs that did not end their finding; a role names there what does."""
    return [*dict.fromkeys(said for _, said in outcome.stayed if said)] if outcome else []


def _described(finding: Finding) -> str:
    return f"{finding.place}: {finding.what} [{finding.code}]"
