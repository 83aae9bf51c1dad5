"""Finishing and acceptance: which hosts count as finished, what Ansible is told of them, and what a shortfall says."""

import ast
import dataclasses
import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from blueprints.finding import Level
from blueprints.finding.subject import AcceptanceCheck
from blueprints.finding.values import Measurement
from blueprints.project import project_root
from components.finish import acceptance, checks, inspection_results, node_states
from components.finish.acceptance import Acceptance, AcceptanceInputs
from components.finish.group import Group, GroupInputs, marks
from components.finish.inventory import FinishedHost, inventory, known_hosts
from components.provider import codec
from components.provider.kind import PartlyMade, Work
from components.provider.servicer import difference

ONE = FinishedHost("login-0", "127.0.0.1", "disk-a", "ssh-ed25519 AAAAone")
TWO = FinishedHost("login-1", "127.0.0.2", "disk-b", "ssh-ed25519 AAAAtwo")
GROUP = GroupInputs("access", (ONE, TWO), spec={"name": "starter"}, content="c0ffee", secrets={"munge_key": "a"}, private_key="key")


def work() -> Work:
    return Work(show=lambda text, kept: None, stopping=threading.Event(), timeout_s=60, stack="test", purpose="finish-access")


# Marks


def test_a_host_reborn_under_its_name_has_another_mark_and_only_it() -> None:
    reborn = dataclasses.replace(GROUP, hosts=(dataclasses.replace(ONE, incarnation="disk-c"), TWO))
    before, after = marks(GROUP), marks(reborn)
    assert before["login-0"] != after["login-0"]
    assert before["login-1"] == after["login-1"]


@pytest.mark.parametrize(
    "change",
    [{"spec": {"name": "other"}}, {"content": "cafe"}, {"secrets": {"munge_key": "b"}}],
    ids=["the spec", "the playbooks", "a secret"],
)
def test_whatever_the_playbook_reads_changes_every_mark(change: dict[str, Any]) -> None:
    before, after = marks(GROUP), marks(dataclasses.replace(GROUP, **change))
    assert before.keys() == after.keys()
    assert all(before[host] != after[host] for host in before)


@pytest.mark.parametrize(
    "change",
    [{"private_key": "other"}, {"hosts": (dataclasses.replace(ONE, address="127.0.0.9"), TWO)}, {"spec": {"name": "starter"}}, {"at_once": 3}],
    ids=["the key to get in", "an address", "nothing", "how many are upgraded at once"],
)
def test_the_way_to_a_host_is_no_part_of_its_mark(change: dict[str, Any]) -> None:
    assert marks(dataclasses.replace(GROUP, **change)) == marks(GROUP)


def test_the_order_of_keys_is_no_change() -> None:
    spec = {"name": "starter", "target": "local"}
    assert marks(dataclasses.replace(GROUP, spec=spec)) == marks(dataclasses.replace(GROUP, spec=dict(reversed(spec.items()))))


def test_marks_tell_no_secret() -> None:
    assert "hush-hush" not in str(marks(dataclasses.replace(GROUP, secrets={"munge_key": "hush-hush"})))


# The group


def values(inputs: GroupInputs) -> dict[str, Any]:
    return dataclasses.asdict(inputs)


def test_a_group_whose_hosts_are_all_recorded_is_done_without_a_run() -> None:
    moved = dataclasses.replace(GROUP, private_key="a key that opens nothing")
    assert Group().update(moved, {"finished": marks(GROUP)}, work()) == {"finished": marks(GROUP), "repaired": {}}


def test_a_reborn_host_is_a_change_of_the_group_s_output() -> None:
    recorded = {**values(GROUP), "finished": marks(GROUP), "complete": True}
    reborn = dataclasses.replace(GROUP, hosts=(dataclasses.replace(ONE, incarnation="disk-c"), TWO))
    kind: Group = Group()
    assert difference(kind, _wire(recorded), _wire(values(GROUP))) == {}
    assert difference(kind, _wire(recorded), _wire(values(reborn))) == {"hosts": True, "finished": False}


def test_hosts_that_a_failed_run_left_behind_are_not_finished() -> None:
    """The contract between spec and playbooks is looked at once for all hosts; a spec that breaks it must leave no host recorded as finished."""
    with pytest.raises(PartlyMade) as failed:
        Group().create(GROUP, work())
    assert failed.value.outputs == {"finished": {}, "repaired": {}}
    assert failed.value.reasons[0].startswith("login-0: task «Validate the variables» failed: ")


def test_hosts_finished_earlier_stay_finished_when_a_later_run_fails() -> None:
    recorded = {"login-0": marks(GROUP)["login-0"], "login-1": "of another disk"}
    with pytest.raises(PartlyMade) as failed:
        Group().update(GROUP, {"finished": recorded}, work())
    assert failed.value.outputs == {"finished": {"login-0": recorded["login-0"]}, "repaired": {}}


def test_hosts_that_were_looked_at_before_the_engine_ran_stay_as_they_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = {**values(GROUP), "finished": marks(GROUP), "complete": True}
    for repaired in ({}, {"login-0": "2026-11-22T20:00:00+00:00"}):
        monkeypatch.setenv(inspection_results.VARIABLE, inspection_results.environment(repaired)[inspection_results.VARIABLE])
        found = Group().read(GROUP, recorded)
        assert found == {"finished": marks(GROUP)}
        assert difference(Group(), _wire({**recorded, **(found or {})}), _wire(values(GROUP))) == {}, "no host has to be finished again"


# What Ansible is told


def test_the_inventory_says_how_to_reach_a_host_and_which_group_it_is_in() -> None:
    assert inventory({"access": [ONE, TWO], "control": []}) == {
        "access": {
            "hosts": {
                "login-0": {"ansible_host": "127.0.0.1", "ansible_user": "root", "incarnation": "disk-a", "node_group": "access"},
                "login-1": {"ansible_host": "127.0.0.2", "ansible_user": "root", "incarnation": "disk-b", "node_group": "access"},
            }
        },
        "control": {"hosts": {}},
    }


def test_hosts_of_a_pool_know_the_name_by_which_the_spec_has_them() -> None:
    told = inventory({"compute": [ONE], "kubernetes": [TWO]}, pool="train")
    assert {group: [host["node_group"] for host in of_group["hosts"].values()] for group, of_group in told.items()} == {
        "compute": ["train"],
        "kubernetes": ["kubernetes"],
    }


def test_an_ssh_server_on_another_port_is_asked_there() -> None:
    moved = dataclasses.replace(ONE, port=2022)
    assert inventory({"access": [moved, TWO]})["access"]["hosts"]["login-0"]["ansible_port"] == 2022
    assert "ansible_port" not in inventory({"access": [moved, TWO]})["access"]["hosts"]["login-1"]
    assert known_hosts([moved]) == ("[127.0.0.1]:2022,[login-0]:2022 ssh-ed25519 AAAAone",)


def test_every_host_s_key_is_known_by_address_and_by_name() -> None:
    assert known_hosts([ONE, TWO]) == ("127.0.0.1,login-0 ssh-ed25519 AAAAone", "127.0.0.2,login-1 ssh-ed25519 AAAAtwo")


# Acceptance


@pytest.mark.parametrize(
    ("check", "line"),
    [
        (
            {"node": "train-0", "name": "gpus", "expected": 8, "measured": 7, "unit": "", "detail": "", "look_at": ""},
            "train-0: gpus: expected 8, measured 7",
        ),
        (
            {"node": "train-1", "name": "busbw", "expected": 400, "measured": 12.5, "unit": "GB/s", "detail": "over TCP", "look_at": "fi_info on train-1"},
            "train-1: busbw: expected 400 GB/s, measured 12.5 GB/s; over TCP; look at: fi_info on train-1",
        ),
        ({"node": "all", "name": "job", "expected": "done", "measured": "none"}, "all: job: expected done, measured none"),
    ],
)
def test_a_shortfall_names_node_expected_and_measured(check: Mapping[str, Any], line: str) -> None:
    assert checks.line(checks.finding(check)) == line


@pytest.mark.parametrize(
    ("verdict", "level"), [("pass", Level.NOTE), ("reported", Level.NOTE), ("warn", Level.WARNING), ("fail", Level.ERROR), ("error", Level.ERROR)]
)
def test_a_check_is_a_finding_with_its_code_subject_and_measurement(verdict: str, level: Level) -> None:
    found = checks.finding({"node": "train-[0-1]", "name": "all-reduce busbw", "expected": "", "measured": "12.5", "unit": "GB/s", "verdict": verdict})
    assert (found.level, found.code, found.subject) == (level, "CW911", AcceptanceCheck("train-[0-1]", "all-reduce busbw"))
    assert found.measurement == Measurement("", "12.5", "GB/s")


def test_every_check_of_the_program_has_a_code_and_every_code_a_check() -> None:
    program = project_root() / "playbooks" / "roles" / "acceptance" / "files" / "acceptance"
    calls = [
        node
        for name in ("judge", "judge_rails", "judge_collectives", "judge_environment", "judge_storage", "judge_diagnostics", "__main__")
        for node in ast.walk(ast.parse((program / f"{name}.py").read_text()))
        if isinstance(node, ast.Call)
    ]
    of_kubernetes = {name for name, code in checks.NAMES.items() if "CW930" <= code < "CW940" or code == checks.Code.ONE_RACK}  # tests/apiserver runs these
    assert {name for call in calls if (name := _check_name(call))} == {*checks.NAMES} - of_kubernetes
    assert {*checks.Code} - {checks.Code.UNKNOWN} == {*checks.NAMES.values()}


def _check_name(call: ast.Call) -> str:
    """Give the name of the check that a call makes; empty for all other calls."""
    if not isinstance(call.func, ast.Name) or call.func.id not in ("Check", "_check", "_per_node", "_per_rail", "_rate"):
        return ""
    first = next((word.value for word in call.keywords if word.arg == "name"), None) or next(iter(call.args), None)
    if isinstance(first, ast.Starred) and isinstance(first.value, ast.Tuple):
        first = first.value.elts[0]
    return str(first.value) if isinstance(first, ast.Constant) else ""


RECORDED = {"ok": True, "outdated": "", "complete": True}


def test_a_recorded_failure_of_acceptance_is_a_change_until_it_passes() -> None:
    inputs = {"hosts": [], "control": [], "spec": {"name": "starter"}, "content": "c", "secrets": {}, "private_key": "k", "proves": {"boots": [1]}}
    kind: Acceptance = Acceptance()
    assert difference(kind, {**inputs, **RECORDED}, inputs) == {}
    assert difference(kind, {**inputs, **RECORDED, "ok": False, "complete": False}, inputs) == {"ok": False, "complete": False}
    assert difference(kind, {**inputs, **RECORDED}, {**inputs, "proves": {"boots": [2]}}) == {"proves": True}
    assert difference(kind, {**inputs, **RECORDED, "outdated": "train-0 is drained"}, inputs) == {"outdated": False}


STATE_CHECKS = [{"name": "node state", "node": "train-[0-1]", "verdict": "pass"}, {"name": "gpus", "node": "train-2", "verdict": "pass"}]


@pytest.mark.parametrize(
    ("said", "contradictions"),
    [
        ("idle|Unknown|Unknown|train-[0-1]|none\n", ()),
        ("mixed|Unknown|Unknown|train-0|none\nmaint|root|now|train-1|none\n", ()),
        ("idle~|Unknown|Unknown|train-[0-1]|none\n", ()),
        (
            "idle|Unknown|Unknown|train-0|none\ndrained|ada(2001)|2026-01-02T03:04:05|train-1|two|bars\n",
            ("train-1 is drained (two|bars, by ada at 2026-01-02T03:04:05)",),
        ),
        ("drained*|root(0)|2026-01-02T03:04:05|train-[0-1]|gone\n", ("train-[0-1] are drained, not responding (gone, by root at 2026-01-02T03:04:05)",)),
        ("idle*|Unknown|Unknown|train-[0-1]|none\n", ("train-[0-1] are idle, not responding",)),
        ("idle|Unknown|Unknown|train-0|none\n", ("train-1 is unknown to Slurm",)),
        ("down|slurm|2026-01-02T03:04:05|train-2|what acceptance did not judge\nidle|Unknown|Unknown|train-[0-1]|none\n", ()),
    ],
)
def test_nodes_that_passed_and_are_out_of_service_now_contradict_the_result(said: str, contradictions: tuple[str, ...]) -> None:
    assert node_states.contradictions(STATE_CHECKS, node_states.parse(said)) == contradictions


@pytest.mark.parametrize(
    ("said", "contradictions"),
    [("drained|root|now|train-3|clusterwright: roll\n", ()), ("idle|Unknown|Unknown|train-3|none\n", ("train-3 is back in service and was not tested",))],
)
def test_a_node_that_was_left_to_a_roll_and_serves_now_contradicts_the_result(said: str, contradictions: tuple[str, ...]) -> None:
    left = [{"name": "node left to the roll", "node": "train-3", "verdict": "reported"}]
    assert node_states.contradictions(left, node_states.parse(said)) == contradictions


def test_nodes_that_are_left_to_a_roll_reach_the_acceptance_program(monkeypatch: pytest.MonkeyPatch) -> None:
    assert inspection_results.left_to_roll() == []
    for name, value in inspection_results.left_to_roll_environment(("train-3",)).items():
        monkeypatch.setenv(name, value)
    assert inspection_results.left_to_roll() == ["train-3"]


def test_a_login_node_that_does_not_answer_makes_the_result_outdated_and_the_measurements_stay() -> None:
    nobody = dataclasses.replace(ONE, address="127.0.0.1", host_key="ssh-ed25519 AAAA")
    found = Acceptance().read(AcceptanceInputs((nobody,), (), {"name": "starter"}, "c", {}, "key", {}), {"ok": True, "checks": STATE_CHECKS, "began": "then"})
    assert found is not None
    assert (found["checks"], found["began"]) == (STATE_CHECKS, "then")
    assert found["outdated"].startswith("Slurm does not answer: login-0: ")


@pytest.mark.parametrize(
    ("repaired", "said"),
    [
        ({}, ""),
        ({"train-0": "2026-11-22T19:59:59+00:00"}, ""),
        ({"train-0": "2026-11-22T20:00:00+00:00"}, ""),
        ({"train-0": "2026-11-22T20:00:01+00:00"}, "train-0 was repaired since"),
        (
            {"train-1": "2026-11-22T22:00:01+00:00", "train-0": "2026-11-22T21:00:30+01:00", "login-0": "2026-11-22T20:30:00+01:00"},
            "train-[0-1] were repaired since",
        ),
    ],
    ids=["nothing repaired", "before", "in the second in which it began", "after", "some of them"],
)
def test_what_was_repaired_after_acceptance_began_makes_its_result_outdated(repaired: dict[str, str], said: str) -> None:
    assert inspection_results.repaired_after("2026-11-22T20:00:00+00:00", repaired) == said
    assert inspection_results.repaired_after("", repaired) == "", "an older version recorded no time"


def answers(monkeypatch: pytest.MonkeyPatch, folder: Path, said: str) -> None:
    """Let every host answer over SSH with the same text."""
    (folder / "said").write_text(said)
    (folder / "ssh").write_text(f"#!/bin/sh\ncat > /dev/null\ncat {folder / 'said'}\n")
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_acceptance_runs_again_after_repairs_also_where_no_resource_configured_the_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers(monkeypatch, tmp_path, "idle|Unknown|Unknown|train-[0-1]|none\n")
    inputs = AcceptanceInputs((ONE,), (), {"name": "starter"}, "c", {}, "key", {})
    recorded = {**RECORDED, "checks": STATE_CHECKS, "began": "2026-11-22T20:00:00+00:00"}

    def outdated() -> str:
        return str((Acceptance().read(inputs, recorded) or {})["outdated"])

    for moment, why in (("2026-11-22T19:00:00+00:00", ""), ("2026-11-22T21:00:00+00:00", "train-0 was repaired since")):
        monkeypatch.setenv(inspection_results.VARIABLE, inspection_results.environment({"train-0": moment})[inspection_results.VARIABLE])
        assert outdated() == why
    monkeypatch.delenv(inspection_results.VARIABLE)
    assert outdated() == "", "a bare refresh knows of no repairs"


def test_a_failed_result_is_read_without_asking() -> None:
    inputs = AcceptanceInputs((ONE,), (), {"name": "starter"}, "c", {}, "key", {})
    assert Acceptance().read(inputs, {"ok": False, "checks": []}) == {"ok": False, "checks": [], "outdated": ""}


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "it printed nothing"),
        ("Traceback (most recent call last):\nKeyError: 'ada'", "it printed «Traceback (most recent call last): KeyError: 'ada'»"),
        ('{"ok": true}', "it printed «{"),
        ("[1, 2]", "it printed «[1, 2]»"),
        ('{"ok": false, "seconds": 1, "checks": []}', "it reports a failure without a failed check"),
    ],
)
def test_what_is_no_document_is_said_in_one_line(printed: str, said: str) -> None:
    with pytest.raises(acceptance.Unusable) as unusable:
        acceptance.result({acceptance.DOCUMENT_TASK: {"stdout": printed}})
    assert str(unusable.value).startswith(said)


# Records of older versions


def _version_2(blueprint: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((project_root() / "tests/blueprints/spec/records/version2" / f"{blueprint}.json").read_text())
    return record


def _as_recorded(values: Mapping[str, Any]) -> dict[str, Any]:
    return codec.decode(codec.encode(values))


@pytest.mark.parametrize(("group", "view"), [("access", spec.login_view), ("control", spec.slurm_view)])
def test_hosts_that_were_finished_by_the_whole_spec_of_version_2_are_finished(group: str, view: Callable[[spec.ClusterSpec], dict[str, Any]]) -> None:
    then = _as_recorded(dataclasses.asdict(dataclasses.replace(GROUP, group=group, spec=_version_2("research-shared.aws"))))
    finished = {**marks(dataclasses.replace(GROUP, spec=then["spec"])), "login-1": "half-way"}
    recorded = _as_recorded(Group().upgrade({**then, "finished": finished, "complete": True}))
    now = _as_recorded({**then, "spec": view(spec.from_record(then["spec"]))})
    assert difference(Group(), recorded, now) == {"finished": False}, "one host was not finished"
    assert recorded["finished"]["login-0"] == marks(dataclasses.replace(GROUP, spec=now["spec"]))["login-0"]
    assert recorded["finished"]["login-1"] == "half-way"
    other = {**now, "spec": {**now["spec"], "users": []}}
    assert difference(Group(), recorded, other) == {"spec": True, "finished": False}


def test_acceptance_of_version_2_is_no_change() -> None:
    inputs = {"hosts": [], "control": [], "content": "c", "secrets": {}, "private_key": "k", "proves": {}}
    record = _version_2("starter.local")
    then, now = {**inputs, "spec": record, "ok": True, "complete": True}, {**inputs, "spec": spec.slurm_view(spec.from_record(record))}
    assert difference(Acceptance(), _as_recorded(Acceptance().upgrade(_as_recorded(then))), _as_recorded(now)) == {}


def test_what_this_version_recorded_stays_as_it_is() -> None:
    recorded = {**dataclasses.asdict(GROUP), "finished": marks(GROUP), "complete": True}
    assert Group().upgrade(recorded) is recorded
    broken = {**recorded, "spec": {"version": 2, "name": "cut off"}}
    assert Group().upgrade(broken) is broken


def _wire(plain: Mapping[str, Any]) -> dict[str, Any]:
    """As values are after they crossed to the provider: tuples are lists there."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
