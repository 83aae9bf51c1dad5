"""A bare refresh of the engine shows the hosts that finishing would change."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from components.finish import changed_hosts, inspection_results
from components.finish.group import Group, GroupInputs, marks
from components.finish.inventory import FinishedHost
from components.inspection import payload
from components.provider import codec
from tests.drift import examples, test_scheduler
from tests.playbooks import clusters

VIEW = codec.decode(codec.encode(spec.slurm_view(clusters.resolved())))
"""As the engine gives it back."""
FIRST, SECOND = (FinishedHost(f"control-{number}", f"127.0.0.{number + 1}", f"disk-{number}", "ssh-ed25519 AAAA") for number in range(2))
CONTROL = GroupInputs("control", (FIRST, SECOND), VIEW, "c", {}, "key")
OTHER_ROOT = "cluster-admin:x:61000:ada"


def place(path: str) -> dict[str, Any]:
    state = {"kind": "file", "mode": "0644", "owner": "root", "group": "root"}
    return {"path": path, "recorded": {**state, "sha256": "a", "text": "as written"}, "actual": {**state, "sha256": "b", "text": "edited"}, "written": True}


def facts(**changes: Any) -> dict[str, Any]:
    return examples.facts("control", **changes)


@pytest.mark.parametrize(
    ("host", "facts", "differs"),
    [
        ("control-0", facts(), False),
        ("control-0", facts(places=[place("/etc/slurm/slurm.conf")]), True),
        ("control-0", facts(places=[place("/etc/nsswitch.conf")]), False),
        ("control-0", facts(pending=["slurm"]), True),
        ("control-0", facts(users={}), True),
        ("control-0", facts(users={"ada": "ada:x:2001:2001::/home/ada:/bin/sh"}), True),
        ("control-0", facts(groups={"cluster-admin": OTHER_ROOT}), True),
        ("login-0", facts(users={}, groups={"cluster-admin": OTHER_ROOT}), False),
    ],
    ids=[
        "as it was",
        "a file of the roles",
        "a file of the image",
        "not in use",
        "a user lost",
        "another shell",
        "another administrator",
        "the controller writes the users",
    ],
)
def test_a_host_differs_in_what_finishing_restores(host: str, facts: dict[str, Any], differs: bool) -> None:
    assert changed_hosts.differs(host, facts, VIEW) is differs


@pytest.mark.parametrize(
    ("answers", "differs"),
    [
        ({}, False),
        ({"associations": test_scheduler.ASSOCIATIONS.replace("research|ada", "research|eve")}, True),
        ({"accounts": "research|other|clusterwright|\n"}, True),
        ({"users": "ada|other|None\n"}, True),
        ({"qos": ""}, True),
        ({"qos": "normal|0||||||\nfast|0||||||\n"}, False),
        ({"associations": {"error": "Connection refused"}}, False),
    ],
    ids=["as it was", "a member lost", "a description", "a default account", "a QOS lost", "a QOS that somebody added stays", "slurmdbd is silent"],
)
def test_a_controller_differs_in_the_accounting_that_finishing_restores(answers: dict[str, Any], differs: bool) -> None:
    assert changed_hosts.differs("control-0", facts(), VIEW, test_scheduler.answers(**answers)) is differs
    assert changed_hosts.differs("login-0", facts(), VIEW, test_scheduler.answers(**answers)) is False


def test_people_of_a_record_that_cannot_be_read_are_not_compared() -> None:
    assert changed_hosts.differs("control-0", facts(users={}), {**VIEW, "users": [{"name": "ada", "later": 1}]}) is False


def answer(monkeypatch: pytest.MonkeyPatch, folder: Path, **said: Any) -> None:
    """Let hosts answer over SSH; all others refuse the connection."""
    for address, one in said.items():
        (folder / address.replace("_", ".")).write_text(f"\n{payload.MARK}{json.dumps(one)}\n")
    (folder / "ssh").write_text(
        f'#!/bin/sh\nwhile [ "$#" -gt 0 ]; do case $1 in root@*) host=${{1#root@}} ;; esac; shift; done\ncat > /dev/null\ncat "{folder}/$host" || exit 255\n'
    )
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv(inspection_results.VARIABLE, raising=False)


def scheduler(**changes: Any) -> dict[str, Any]:
    return {"answers": test_scheduler.answers(**changes), "configuration": {}, "serves": False}


def test_a_refresh_leaves_hosts_that_differ_out_of_those_that_are_finished(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer(monkeypatch, tmp_path, **{"127_0_0_1": {"host": facts()}, "127_0_0_2": {"host": facts(places=[place("/etc/slurm/slurm.conf")])}})
    assert Group().read(CONTROL, {"finished": marks(CONTROL)}) == {"finished": {FIRST.name: marks(CONTROL)[FIRST.name]}}


def test_a_refresh_compares_accounting_with_the_answers_of_the_controller_that_serves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    serving, cut_off = {**scheduler(accounts="research|other|x|\n"), "serves": True}, scheduler(accounts="research|stale|x|\n")
    answer(monkeypatch, tmp_path, **{"127_0_0_1": {"host": facts(), "scheduler": cut_off}, "127_0_0_2": {"host": facts(), "scheduler": serving}})
    assert Group().read(CONTROL, {"finished": marks(CONTROL)}) == {"finished": {FIRST.name: marks(CONTROL)[FIRST.name]}}


def test_a_host_that_does_not_answer_stays_as_it_is_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer(monkeypatch, tmp_path, **{"127_0_0_1": {"host": facts()}})
    assert Group().read(CONTROL, {"finished": marks(CONTROL)}) == {"finished": marks(CONTROL)}
