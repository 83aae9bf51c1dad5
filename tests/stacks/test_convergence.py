"""What `up` decides before and after its engine, and what it says of that."""

import dataclasses
import datetime as dt
import json
from pathlib import Path

import pytest

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, HostPart, ObjectKind, Package, SchedulerObject, Unit
from blueprints.finding.values import PackageState, UnitLink, UnitState
from blueprints.spec import Site
from components.inspection import collect, record
from components.inspection.codes import Code
from components.inspection.finding import drift
from components.inspection.layer import Layer
from stacks.drift import convergence, detect, fix, repair
from stacks.drift.report import Report, Result
from stacks.engine import state
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
DARK = drift(Code.UNREACHABLE, HostPart("train-0", "SSH"), "the host does not answer", remedy="start it")
NEEDS_MUNGE = examples.unit(Id="slurmd.service", Requires="munge.service")


def found(*findings: Finding, jobs: str | None = None) -> repair.Repair:
    layers = (Layer.HOSTS, Layer.SCHEDULER)
    report = Report("dev", "starter", "local", dt.datetime(2026, 1, 1, tzinfo=dt.UTC), 1.0, (Result(Layer.HOSTS, findings=findings), Result(Layer.SCHEDULER)))
    seen = collect.Seen(examples.all_facts(train_0={"units": {"slurmd.service": NEEDS_MUNGE}}), None, {}, {}, examples.NOW_S)
    checked = detect.Checked(report, examples.known(), {} if jobs is None else {"jobs": {"text": jobs}}, "control-0", seen)
    return repair.planned("dev", checked, layers=layers, selection=convergence.RESTORED, entries=())


def test_what_follows_from_another_finding_is_named_in_it() -> None:
    [(what, command)] = convergence.staying(found(MASKED, STOPPED, DOWN), None)
    assert what.startswith("train-0: unit munge.service: the unit was masked")
    assert STOPPED.place in what
    assert command == MASKED.remedy


def test_findings_with_a_cause_of_their_own_stay_apart() -> None:
    assert len(convergence.staying(found(STOPPED), None)) == 1


def stopped(host: str, unit: str = "munge.service") -> Finding:
    return drift(Code.UNIT_STOPPED, Unit(host, unit), "the unit does not run", remedy="start it", actual="inactive (dead)")


def test_every_repair_is_said_and_one_that_many_hosts_need_is_said_once() -> None:
    units = [f"many-{number}.service" for number in range(12)]
    plan = found(*(stopped("login-0", unit) for unit in units), stopped("train-0"), stopped("train-1"), jobs="").plan
    said = convergence.repairs(plan)
    assert said == [*(f"login-0: start {unit}" for unit in units), "train-[0-1]: start munge.service"]


def test_every_finding_that_stays_is_said() -> None:
    waiting = found(*(stopped("train-0", f"many-{number}.service") for number in range(12)), jobs="train-0\n")
    assert waiting.plan.steps == ()
    assert [command.endswith("when no job runs there") for _, command in convergence.staying(waiting, None)] == [True] * 12


def test_what_ended_while_the_engine_ran_is_not_said_to_stay() -> None:
    before = found(STOPPED, stopped("train-1"))
    outcome = repair.Outcome(before.checked.report, ((STOPPED, "it did not start"),), before.plan, before.checked)
    assert len(convergence.staying(before, outcome)) == 2
    assert convergence.reasons(outcome) == ["it did not start"]
    [(what, command)] = convergence.staying(before, outcome, convergence.Look(found(STOPPED)))
    assert what.startswith(STOPPED.place)
    assert command == "clusterwright rebuild --stack dev train-0", "a repair was tried"
    assert convergence.staying(before, outcome, convergence.Look(found())) == []
    assert len(convergence.staying(before, outcome, convergence.Look(None, "nobody could look"))) == 2


def test_what_jobs_may_notice_is_repaired_only_when_somebody_agrees() -> None:
    waiting = found(stopped("train-0"), stopped("login-0"), jobs="train-0\n")
    assert [step.host for step in waiting.plan.steps] == ["login-0"]
    assert [one.finding.place for one in waiting.plan.waiting] == [stopped("train-0").place]
    what = [f"{stopped('train-0').place}: the unit does not run, and jobs run there"]
    assert convergence.agreed(waiting, lambda lines: lines != what) == waiting, "nobody agreed"
    nothing_waits = found(stopped("login-0"), jobs="train-0\n")
    assert convergence.agreed(nothing_waits, lambda _: pytest.fail("there is nothing to ask about")) == nothing_waits
    agreed = convergence.agreed(waiting, lambda _: True)
    assert sorted(step.host for step in agreed.plan.steps) == ["login-0", "train-0"]
    assert (waiting.guarded, agreed.guarded) == ({"train-0", "train-1"}, set()), "a job that comes meanwhile makes no step wait any more"


def test_what_was_added_or_drained_on_purpose_stays() -> None:
    added = drift(Code.FILE_ADDED, HostFile("login-0", "/etc/cron.d/extra"), "a file was added", remedy="remove it")
    drained = drift(Code.NODE_DRAINED, SchedulerObject(ObjectKind.NODE, "train-0", "drained"), "the node is drained", remedy="resume it")
    assert found(added, drained, jobs="").plan.steps == ()


def test_up_leaves_packages_to_the_roll_that_its_blueprint_makes_due() -> None:
    recorded = dataclasses.replace(examples.known().cluster, site=Site("ubuntu", 22, ()))
    replaced = drift(
        Code.PACKAGE_VERSION, Package("train-0", "libnccl2"), "another version", remedy="install it", recorded=PackageState("2.30.4-1", is_held=True)
    )

    def steps(kernel: str) -> list[fix.Step]:
        becoming = dataclasses.replace(recorded, software=dataclasses.replace(recorded.software, versions=(("kernel", kernel),)))
        before = found(replaced, jobs="")
        planned = repair.planned("dev", before.checked, layers=before.layers, selection=convergence.RESTORED, entries=(), becoming=becoming)
        despite_jobs = convergence.agreed(found(replaced, jobs="train-0\n"), lambda _: True)
        assert despite_jobs.plan.steps, "without a roll, somebody who agrees has it repaired under jobs"
        assert repair.replanned(planned, despite_jobs=True).plan.steps == planned.plan.steps
        return [*planned.plan.steps]

    assert [step.host for step in steps("6.12.1")] == ["train-0"], "the host has this kernel"
    assert steps("6.12.9") == []


def test_a_roll_is_planned_from_what_was_seen_after_repairs() -> None:
    before, after = convergence.Look(None, checked=found(MASKED).checked), found(STOPPED).checked
    outcome = repair.Outcome(after.report, (), fix.Plan((), ()), after)
    assert convergence.seen_last(before, None) is before.checked
    assert convergence.seen_last(before, outcome) is after
    assert convergence.seen_last(before, dataclasses.replace(outcome, checked=dataclasses.replace(after, seen=None))) is before.checked, "nobody could look"


@pytest.mark.parametrize(("before", "after", "is_dark"), [((), (), False), ((DARK,), None, True), ((STOPPED,), (DARK,), True), ((STOPPED,), (), False)])
def test_a_host_that_stops_to_answer_while_it_is_repaired_is_looked_at_again(
    before: tuple[Finding, ...], after: tuple[Finding, ...] | None, is_dark: bool
) -> None:
    looked = convergence.Look(found(*before))
    outcome = None if after is None else repair.Outcome(found(*after).checked.report, (), fix.Plan((), ()), found(*after).checked)
    assert convergence.has_dark_hosts(looked, outcome) is is_dark


@pytest.mark.parametrize(
    ("only", "covered"),
    [
        ((), {"login-0", "train-0", "train-1"}),
        ((("CW731", "*"),), {"login-0", "train-0"}),
        ((("CW731", "train-*"),), {"train-0"}),
        ((("CW7*", "train-?: unit *"),), {"train-0", "train-1"}),
        ((("CW731", "login-0: unit munge.service"), ("CW733", "*")), {"login-0", "train-1"}),
        ((("cw731", "*"),), set()),
        ((("CW731", "train"),), set()),
    ],
)
def test_single_findings_are_chosen_by_patterns_of_code_and_place(only: tuple[tuple[str, str], ...], covered: set[str]) -> None:
    masked = drift(Code.UNIT_ENABLEMENT, Unit("train-1", "munge.service"), "the unit was masked", remedy="unmask it")
    selection = repair.Selection(only=only)
    assert {one.place.partition(":")[0] for one in (stopped("login-0"), stopped("train-0"), masked) if selection.covers(one)} == covered


def test_who_names_a_finding_allows_also_what_has_to_be_named() -> None:
    drained = drift(Code.NODE_DRAINED, SchedulerObject(ObjectKind.NODE, "train-0", "drained"), "the node is drained", remedy="resume it")
    planned = found(drained, STOPPED, jobs="")

    def steps(selection: repair.Selection) -> list[str]:
        again = repair.planned("dev", planned.checked, layers=planned.layers, selection=selection, entries=())
        return [str(step.action) for step in again.plan.steps]

    assert [action.split()[0] for action in steps(repair.Selection())] == ["start"]
    assert [action.split()[0] for action in steps(repair.Selection(only=((drained.code, "*"),)))] == ["scontrol"]
    assert steps(repair.Selection(frozenset({fix.Kind.UNITS}), ((drained.code, "*"),))) == [], "a kind narrows it"


def test_a_record_is_decrypted_once_where_it_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}")
    file = tmp_path / ".pulumi/stacks/clusterwright/dev.json"
    file.parent.mkdir(parents=True)

    def recorded(address: str, *, ciphertext: str) -> None:
        outputs = {"addresses": [address], "keys": [{"private": {record.SECRET_SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": ciphertext}}]}
        file.write_text(json.dumps({"checkpoint": {"latest": {"resources": [{"urn": "urn:pulumi:dev::pool", "id": "pool", "outputs": outputs}]}}}))

    recorded("10.0.0.1", ciphertext="once")
    exported: dict[str, object] = {"deployment": {"resources": []}}
    look = convergence.Look(None, checked=dataclasses.replace(found().checked, exported=exported), outputs=state.outputs("dev"))
    recorded("10.0.0.1", ciphertext="again")
    assert look.record_of("dev") is exported
    recorded("10.0.0.2", ciphertext="again")
    assert look.record_of("dev") == {}
    file.unlink()
    assert dataclasses.replace(look, outputs=state.outputs("dev")).record_of("dev") == {}, "another backend says nothing of it"
