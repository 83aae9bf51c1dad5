"""`clusterwright drift` where there is nothing to look at: each case its own message and exit status."""

import json
import os
import re
import shlex
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.inspection.layer import Layer
from stacks.cli import drift, main
from stacks.engine import commands
from tests.drift.examples import finding, report

pytestmark = pytest.mark.engine


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}/state")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "it")
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE_FILE", raising=False)
    return tmp_path


def run(backend: Path, *words: str) -> int:
    return main.main(["drift", "--stack", "nosuch", "--history", str(backend / "history"), *words])


def test_no_stack_is_no_drift_and_no_pass(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(backend, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert {one["layer"] for one in found["layers"] if "no stack named 'nosuch'" in one["failure"]} == {"cloud", "hosts", "scheduler", "versions", "capability"}


def test_a_malformed_ignore_file_is_said_beside_what_could_be_checked(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (backend / "ignore.yaml").write_text("ignore: [{code: CW721}]")
    assert run(backend, "--ignore", str(backend / "ignore.yaml"), "--layer", "cloud") == 1
    shown = capsys.readouterr().out
    assert "`where` is missing" in shown
    assert "Cloud: could not be checked" in shown


@pytest.mark.parametrize("words", [("check",), ("fix", "--yes"), ("schedule",)])
def test_an_ignore_file_that_is_named_and_not_there_is_refused(backend: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    missing = backend / "ignore of ours.yaml"
    assert run(backend, *words, "--ignore", str(missing)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"there is no ignore file {missing}" in said.err
    (command,) = re.findall("`(clusterwright [^`]*)`", said.err)
    _, _, action, *options = shlex.split(command)
    assert (action, options) == ("baseline", ["--stack", "nosuch", "--ignore", str(missing)])


@pytest.mark.parametrize("words", [("--only", "CW721"), ("--kind", "files"), ("check", "--yes")])
def test_a_check_refuses_what_only_repairs_read(backend: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert run(backend, *words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"a check has no {words[-1] if words[-1].startswith('--') else words[0]}" in said.err
    assert "clusterwright drift fix --stack nosuch" in said.err


def test_acceptance_that_can_not_run_is_said_and_the_check_goes_on(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(backend, "--accept-every", "7d", "--layer", "cloud") == 1
    said = capsys.readouterr()
    assert "error: acceptance did not run: " in said.err
    assert "no stack named 'nosuch'" in said.err
    assert "Cloud: could not be checked" in said.out


def test_a_report_that_can_not_be_written_hides_no_other_and_is_no_pass(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (backend / "file").write_text("no folder")
    assert run(backend, "--out", str(backend / "file" / "report.json"), "--out", str(backend / "report.md"), "--layer", "cloud") == 1
    said = capsys.readouterr()
    assert f"the report {backend}/file/report.json could not be written" in said.err
    assert "Cloud: could not be checked" in said.out
    assert (backend / "report.md").exists()


def test_one_reason_of_several_layers_is_given_once_where_there_is_no_baseline(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(backend, "baseline") == 1
    assert capsys.readouterr().err.count("no stack named 'nosuch'") == 1


def test_nothing_is_put_right_while_nobody_can_say_what_may_stand(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (backend / "ignore.yaml").write_text("ignore: [{code: CW721}]")
    assert run(backend, "fix", "--ignore", str(backend / "ignore.yaml"), "--yes") == 1
    assert "`where` is missing" in capsys.readouterr().err


def lock(backend: Path, pid: int, host: str) -> None:
    folder = backend / "state/.pulumi/locks/organization/clusterwright/nosuch"
    folder.mkdir(parents=True)
    (folder / "it.json").write_text(json.dumps({"pid": pid, "hostname": host, "username": "ada", "timestamp": "2999-01-01T00:00:00Z"}))


@pytest.mark.parametrize(("host", "pid", "status"), [(socket.gethostname(), os.getpid(), 75), ("elsewhere", 1, 75)], ids=["here", "elsewhere"])
def test_nothing_is_checked_while_an_update_runs(host: str, pid: int, status: int, backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock(backend, pid, host)
    assert run(backend) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert f"is being updated by process {pid} of ada" in said.err


def test_a_lock_whose_holder_is_gone_is_left_and_no_reason_to_wait(backend: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    lock(backend, process.pid, socket.gethostname())
    assert run(backend, "--layer", "cloud") == 1, "there is no such stack, which is said"
    assert (backend / "state/.pulumi/locks/organization/clusterwright/nosuch/it.json").exists()


def test_nothing_is_checked_right_after_an_update(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import datetime as dt

    state = backend / "state/.pulumi/stacks/clusterwright/nosuch.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"checkpoint": {"latest": {"manifest": {"time": dt.datetime.now(dt.UTC).isoformat()}}}}))
    assert run(backend, "--settle", "600") == 75
    assert "to settle" in capsys.readouterr().err


LISTED: list[dict[str, Any]] = [{"name": "acme/prod", "updateInProgress": True}, {"name": "acme/old-prod", "lastUpdate": "2026-11-21T20:00:00.000Z"}]


def test_a_backend_that_lists_updates_is_believed() -> None:
    assert commands.entry_of(LISTED, "prod").get("updateInProgress") is True
    assert commands.entry_of(LISTED, "old-prod").get("updateInProgress") is None
    assert commands.entry_of(LISTED, "nosuch") == {}


def test_what_the_backend_lists_of_a_stack_is_found(backend: Path) -> None:
    (backend / "Pulumi.yaml").write_text("name: clusterwright\nruntime: yaml\n")
    made = subprocess.run(["pulumi", "stack", "init", "made", "--no-select"], cwd=backend, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert commands.listed("made")["name"] == "made"
    assert "lastUpdate" in commands.listed("made")
    assert commands.listed("nosuch") == {}


def test_no_baseline_is_made_of_a_check_with_holes(backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(backend, "baseline", "--ignore", str(backend / "ignore.yaml")) == 1
    assert not (backend / "ignore.yaml").exists()
    assert "no baseline" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--confirm", "0"], ["--settle", "x"], ["--out", "report.pdf"], ["--layer", "moon"], ["dance"], ["--every", "7m"], ["--keep-days", "-5"]]
)
def test_words_that_mean_nothing_are_refused(words: list[str], backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(backend, *words)
    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--as", "kubernetes"]])
def test_a_schedule_without_what_it_needs_is_a_wrong_command_line(words: list[str], backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(backend, "schedule", *words) == 2
    assert f"do:  add --{'image' if words else 'as'}" in capsys.readouterr().err


def test_exit_statuses() -> None:
    assert drift.status(report()) == 0
    assert drift.status(report(finding())) == 7
    assert drift.status(report(finding(), failed=(Layer.CLOUD,))) == 1
