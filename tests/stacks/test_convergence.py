"""What `up` says of the findings that stay."""

import datetime as dt

from blueprints.finding import Finding
from blueprints.finding.subject import ObjectKind, SchedulerObject, Unit
from blueprints.finding.values import UnitLink, UnitState
from components.inspection import collect
from components.inspection.codes import Code
from components.inspection.finding import drift
from components.inspection.layer import Layer
from stacks import convergence
from stacks.drift import detect, repair
from stacks.drift.report import Report, Result
from tests.drift import examples

MASKED = drift(
    Code.UNIT_ENABLEMENT,
    Unit("train-0", "munge.service"),
    "the unit was masked",
    remedy="unmask it",
    actual=UnitLink(UnitState.MASKED, "/etc/systemd/system/munge.service", None),
)
STOPPED = drift(Code.UNIT_STOPPED, Unit("train-0", "slurmd.service"), "the unit does not run", remedy="start it", actual="inactive (dead)")
DOWN = drift(Code.NODE_DOWN, SchedulerObject(ObjectKind.NODE, "train-0", "down"), "the node is down", remedy="read its reason")
NEEDS_MUNGE = examples.unit(Id="slurmd.service", Requires="munge.service")


def found(*findings: Finding) -> repair.Repair:
    layers = (Layer.HOSTS, Layer.SCHEDULER)
    report = Report("dev", "starter", "local", dt.datetime(2026, 1, 1, tzinfo=dt.UTC), 1.0, (Result(Layer.HOSTS, findings=findings), Result(Layer.SCHEDULER)))
    seen = collect.Seen(examples.all_facts(train_0={"units": {"slurmd.service": NEEDS_MUNGE}}), None, {}, {}, examples.NOW_S)
    checked = detect.Checked(report, examples.known(), {}, "control-0", seen)
    return repair.planned("dev", checked, layers=layers, selection=convergence.RESTORED, entries=())


def test_what_follows_from_another_finding_is_named_in_it() -> None:
    [(what, command)] = convergence.staying(found(MASKED, STOPPED, DOWN), None)
    assert what.startswith("train-0: unit munge.service: the unit was masked")
    assert STOPPED.place in what
    assert command == MASKED.remedy


def test_findings_with_a_cause_of_their_own_stay_apart() -> None:
    assert len(convergence.staying(found(STOPPED), None)) == 1
