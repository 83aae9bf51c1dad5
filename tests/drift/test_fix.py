"""What is put right, with which command, and what is left to a person."""

import pytest

from stacks.drift import fix
from stacks.drift.codes import Code
from stacks.drift.report import Drift, Layer
from tests.drift.examples import finding

COMPUTE = {"train-0", "train-1"}


def plan(*findings: Drift, kinds: set[fix.Kind] | None = None, busy: frozenset[str] | None = frozenset()) -> fix.Plan:
    return fix.plan(findings, kinds=set(fix.Kind) if kinds is None else kinds, controller="control-0", busy=busy, compute=COMPUTE)


def on_host(code: Code, place: str, recorded: str | None = None, actual: str | None = None, host: str = "train-0") -> Drift:
    return finding(f"{host}: {place}", code=code, recorded=recorded, desired=recorded, actual=actual)


COMMANDS = [
    (on_host(Code.UNIT_STOPPED, "unit munge.service", "active"), "train-0: systemctl start munge.service"),
    (on_host(Code.UNIT_FAILED, "unit x.service", "active"), "train-0: systemctl restart x.service"),
    (on_host(Code.UNIT_ENABLEMENT, "unit x.service", "enabled", "disabled"), "train-0: systemctl enable x.service"),
    (on_host(Code.UNIT_ENABLEMENT, "unit x.service", "disabled", "enabled"), "train-0: systemctl disable x.service"),
    (on_host(Code.UNIT_ENABLEMENT, "unit x.service", "masked", "plain"), "train-0: systemctl mask x.service"),
    (on_host(Code.UNIT_ENABLEMENT, "unit x.service", "plain", "masked"), "train-0: systemctl unmask x.service"),
    (on_host(Code.SYSCTL, "sysctl net.ipv4.ip_forward", "0", "1"), "train-0: sysctl -w net.ipv4.ip_forward=0"),
    (on_host(Code.PACKAGE_HOLD, "package slurmd", "24.11, held", "24.11"), "train-0: apt-mark hold slurmd"),
    (on_host(Code.PACKAGE_HOLD, "package bash", "5.2", "5.2, held"), "train-0: apt-mark unhold bash"),
    (finding("partition train: MaxTime", layer=Layer.SCHEDULER, code=Code.PARTITION_CHANGED, desired="1-00:00:00"), "control-0: scontrol update partitionname=train MaxTime=1-00:00:00"),
    (finding("node train-0: Weight", layer=Layer.SCHEDULER, code=Code.NODE_CHANGED, desired="1"), "control-0: scontrol update nodename=train-0 weight=1"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "command"), COMMANDS)
def test_the_command_for_each_kind(found: Drift, command: str) -> None:
    [step] = plan(found).steps
    assert f"{step.host}: {' '.join(step.argv)}" == command


def test_a_place_gets_owner_and_mode_back_whatever_its_name_is() -> None:
    found = on_host(Code.FILE_ATTRIBUTES, "/etc/a $(reboot)", "file, 0640 root:slurm", "file, 0666 root:slurm")
    [step] = plan(found).steps
    assert step.argv[:2] == ("sh", "-c")
    assert "reboot" not in step.argv[2]
    assert step.argv[4:] == ("root:slurm", "0640", "/etc/a $(reboot)")


@pytest.mark.parametrize("code", [Code.UNIT_STOPPED, Code.UNIT_FAILED])
@pytest.mark.parametrize("unit", ["mariadb.service", "home.mount", "data.automount"])
def test_what_holds_data_is_left_to_a_person(code: Code, unit: str) -> None:
    made = plan(on_host(code, f"unit {unit}", "active", host="control-0"))
    assert (made.steps, [one.why for one in made.left]) == ((), ["put it back"])


def test_nothing_is_done_unasked() -> None:
    made = plan(*(found for found, _ in COMMANDS), kinds={fix.Kind.UNITS})
    assert {step.finding.code for step in made.steps} == {Code.UNIT_STOPPED, Code.UNIT_FAILED}
    assert plan(COMMANDS[0][0], kinds=set()).left[0].why == "add --kind units to put it right"


def test_hosts_with_jobs_are_left_alone_and_all_of_them_when_nobody_knows() -> None:
    found = [on_host(Code.UNIT_STOPPED, "unit a.service", "active", host=host) for host in ("login-0", "train-0", "train-1")]
    assert [step.host for step in plan(*found, busy=frozenset({"train-1"})).steps] == ["login-0", "train-0"]
    assert [step.host for step in plan(*found, busy=None).steps] == ["login-0"]


def test_without_a_controller_that_answers_nobody_is_told_anything() -> None:
    found = finding("node train-0: Weight", layer=Layer.SCHEDULER, code=Code.NODE_CHANGED, desired="1")
    made = fix.plan([found], kinds=set(fix.Kind), controller="", busy=frozenset(), compute=COMPUTE)
    assert (made.steps, [one.why for one in made.left]) == ((), ["put it back"])


LEFT = (
    Code.FILE_CHANGED, Code.FILE_GONE, Code.PACKAGE_VERSION, Code.USER_ADDED, Code.ROOT_KEY, Code.NODE_DRAINED, Code.ACCOUNT_CHANGED, Code.MOUNT_MISSING, Code.GPU_MISSING,
)  # fmt: skip


@pytest.mark.parametrize("code", LEFT)
def test_what_needs_a_person_is_left_with_its_remedy(code: Code) -> None:
    made = plan(finding(code=code))
    assert made.steps == ()
    assert made.left[0].why == "put it back"


def test_who_has_jobs_is_read_from_the_scheduler_and_unknown_is_not_nobody() -> None:
    assert fix.busy_nodes({"jobs": {"text": "train-[0-1]\ntrain-7\n\n"}}) == frozenset({"train-0", "train-1", "train-7"})
    assert fix.busy_nodes({"jobs": {"text": ""}}) == frozenset()
    assert fix.busy_nodes({"jobs": {"error": "refused"}}) is None
    assert fix.busy_nodes({}) is None
