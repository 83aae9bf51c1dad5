"""Carry out what `fix` planned about drift: check again what differs, and run the steps on the hosts."""

import dataclasses
from collections.abc import Collection
from pathlib import Path

from blueprints.finding import Finding
from components.inspection.finding import layer_of
from components.inspection.known import Known
from components.inspection.layer import Layer

from ..errors import BadIgnoreFile, Problem
from . import detect, filters, fix, ignore, play
from .report import Ignored, Report

PLAYBOOK = "fix.yml"


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """A plan that somebody may agree to."""

    stack: str
    layers: tuple[Layer, ...]
    known: Known
    plan: fix.Plan
    drift: tuple[Finding, ...]
    """What differs and isn't ignored."""
    ignored: tuple[Ignored, ...]
    entries: tuple[ignore.Entry, ...]

    @property
    def compute(self) -> set[str]:
        return {host.name for host in self.known.hosts if host.role == "compute"}


def prepare(stack: str, *, layers: tuple[Layer, ...], kinds: Collection[fix.Kind], ignore_file: Path) -> Repair:
    """Check the stack and plan what to do about its drift.

    Raises:
        Problem: the ignore file is unusable, or a layer could not be checked.
    """
    try:
        entries = ignore.read(ignore_file)
    except BadIgnoreFile as error:
        raise Problem("nothing is fixed, because the ignore file is unusable", why=str(error), remedy="correct the ignore file") from error
    # Only the scheduler knows which nodes have jobs, whatever is fixed.
    checked = detect.detect(stack, layers={*layers, Layer.SCHEDULER})
    if checked.known is None or checked.report.failures:
        why = "\n".join(dict.fromkeys(result.failure for result in checked.report.failures))
        raise Problem("nothing is fixed, because not every layer could be checked", why=why, remedy="correct that first")
    found = [finding for finding in checked.report.findings if layer_of(finding) in layers]
    wanted, ignored = ignore.apply(found, entries, checked.report.moment.date())
    compute = {host.name for host in checked.known.hosts if host.role == "compute"}
    plan = fix.plan(wanted, kinds=set(kinds), controller=checked.controller, busy=fix.busy_nodes(checked.answers), compute=compute)
    return Repair(stack, layers, checked.known, plan, tuple(wanted), tuple(ignored), tuple(entries))


def carry_out(repair: Repair) -> Report:
    """Run the plan's steps on the hosts, and check again.

    Raises:
        Problem: a step failed.
    """
    variables = {
        host: {"drift_steps": fix.encode(steps), "drift_is_compute": host.name in repair.compute}
        for host in repair.known.hosts
        if (steps := [list(step.argv) for step in repair.plan.steps if step.host == host.name])
    }
    outcome = play.play(repair.known, PLAYBOOK, variables, title=f"{repair.stack} drift fix")
    if not outcome.ok:
        said = "\n".join([*map(str, outcome.failures), outcome.error]).strip()
        raise Problem("some steps failed", why=said, remedy="`clusterwright drift` shows what is left")
    return filters.choose(detect.detect(repair.stack, layers=repair.layers).report, filters.Choice(repair.entries), None).report
