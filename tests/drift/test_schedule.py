"""Files for schedulers: what each of them reads, with every word of the user's as it was given."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.inspection.layer import Layer
from stacks.cli import main
from stacks.drift import schedule

WORDS = ("--notify-command", "mail -s '100% \"done\" $HOME' ada")


def made(**changes: Any) -> schedule.Schedule:
    whole = {"stack": "prod", "folder": "/srv/a folder", "every_s": 900, "layers": (Layer.CLOUD,), "words": WORDS, "image": "registry/it:1", **changes}
    return schedule.Schedule(**whole)


def command_of(text: str) -> list[str]:
    """Give the words of `clusterwright …` in a line for a shell."""
    words = shlex.split(text.partition("clusterwright drift")[2])
    return words[: words.index("--out")] if "--out" in words else words


def unescaped(line: str) -> str:
    """Read a command line of a unit as systemd does (systemd.service(5), systemd.unit(5)): specifiers, quotes, variables."""
    return line.replace("%%", "%").replace("$$", "$").replace('\\"', '"').replace("\\\\", "\\")


EXPECTED = ["--stack", "prod", "--settle", "600", "--layer", "cloud", *WORDS]


def test_a_unit_of_systemd_runs_the_command_as_it_was_given() -> None:
    files = schedule.files("systemd", made())
    assert set(files) == {f"/etc/systemd/system/clusterwright-drift-prod.{kind}" for kind in ("service", "timer")}
    service = files["/etc/systemd/system/clusterwright-drift-prod.service"]
    [line] = re.findall(r"^ExecStart=/bin/sh -c \"(.*)\"$", service, flags=re.MULTILINE)
    assert command_of(unescaped(line)) == EXPECTED
    assert "SuccessExitStatus=7 75" in service
    assert "-mtime +30 -delete" in service
    assert "OnUnitActiveSec=900s" in files["/etc/systemd/system/clusterwright-drift-prod.timer"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd's own reader of units is not here")
def test_systemd_has_nothing_to_say_against_the_units(tmp_path: Path) -> None:
    files = schedule.files("systemd", made(folder="/tmp"))
    for path, text in files.items():
        (tmp_path / Path(path).name).write_text(text)
    ended = subprocess.run(["systemd-analyze", "verify", *(str(tmp_path / Path(path).name) for path in files)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_crontab_line_runs_the_command_and_hides_no_percent_sign_from_cron() -> None:
    files = schedule.files("cron", made())
    [line] = [line for line in files["/etc/cron.d/clusterwright-drift-prod"].splitlines() if line.startswith("*")]
    assert line.startswith("*/15 * * * * root flock -n ")
    assert not re.search(r"(?<!\\)%", line), "a bare percent sign ends the command (crontab(5))"
    words = shlex.split(line.replace("\\%", "%").partition("flock")[2])
    shell = words[words.index("-c") + 1]
    assert command_of(shell) == EXPECTED
    assert shell.startswith("set -a; [ ! -r /etc/clusterwright/drift.env ] || . /etc/clusterwright/drift.env; set +a; ")
    assert "rotate 30" in files["/etc/logrotate.d/clusterwright-drift-prod"]


def test_a_workflow_runs_on_time_keeps_reports_and_never_shows_a_secret() -> None:
    [(path, text)] = schedule.files("github", made()).items()
    assert path == ".github/workflows/clusterwright-drift-prod.yml"
    workflow = yaml.load(text, Loader=yaml.BaseLoader)
    assert workflow["on"]["schedule"] == [{"cron": "*/15 * * * *"}]
    assert workflow["permissions"] == {"contents": "read", "security-events": "write"}
    steps = workflow["jobs"]["drift"]["steps"]
    check = next(step for step in steps if step.get("name") == "Check")
    assert command_of(check["run"]) == EXPECTED
    assert all(re.fullmatch(r"\$\{\{ secrets\.\w+ \}\}", value) for value in check["env"].values())
    after = {step["name"]: step["if"] for step in steps[steps.index(check) + 1 :]}
    assert list(after) == ["Remember", "Summary", "Code scanning", "Reports"]
    assert all(condition.startswith("always() && hashFiles(") for condition in after.values()), "drift fails the job, and what it found is kept all the same"


def test_a_workflow_for_a_stack_on_aws_sets_up_what_asks_it_and_logs_in_without_a_key() -> None:
    [text] = schedule.files("github", made(target="aws")).values()
    workflow = yaml.load(text, Loader=yaml.BaseLoader)
    assert workflow["permissions"]["id-token"] == "write"
    steps = workflow["jobs"]["drift"]["steps"]
    assert next(step for step in steps if step.get("name") == "Set up")["run"] == "make setup EXTRAS=aws"
    assert next(step for step in steps if step.get("name") == "Log in to AWS")["with"].keys() == {"role-to-assume", "aws-region"}
    [text] = schedule.files("gitlab", made(target="aws")).values()
    assert yaml.safe_load(text)["clusterwright-drift-prod"]["script"][0] == "make setup EXTRAS=aws"


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (7, 7), (75, 0), (1, 1)])
@pytest.mark.parametrize("kind", ["github", "kubernetes"])
def test_what_is_no_answer_yet_fails_no_job_and_all_else_keeps_its_status(kind: str, status: int, expected: int, tmp_path: Path) -> None:
    """The shell that the job runs, with a program in the check's place that ends as the check would."""
    [text] = schedule.files(kind, made(words=())).values()
    *_, job = yaml.safe_load_all(text)
    if kind == "github":
        line = next(step for step in job["jobs"]["drift"]["steps"] if step.get("name") == "Check")["run"]
        argv = ["bash", "-e", "-c", line]
    else:
        argv = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"]
    (tmp_path / "clusterwright").write_text(f"#!/bin/sh\nexit {status}\n")
    (tmp_path / "clusterwright").chmod(0o755)
    (tmp_path / "activate").write_text(f"PATH={tmp_path}:$PATH\n")
    assert subprocess.run(argv, cwd=tmp_path, check=False).returncode == expected


def test_a_job_of_gitlab_reports_drift_without_failing_the_pipeline() -> None:
    [(_, text)] = schedule.files("gitlab", made()).items()
    [(name, job)] = yaml.safe_load(text).items()
    assert name == "clusterwright-drift-prod"
    assert job["allow_failure"] == {"exit_codes": [7, 75]}
    assert job["artifacts"]["reports"] == {"junit": "drift/report.xml"}
    assert job["artifacts"]["expire_in"] == "30 days"
    assert job["cache"]["when"] == "always", "a job that found drift has failed, and what it found is remembered all the same"
    assert command_of(job["script"][1]) == EXPECTED


def test_a_cronjob_runs_one_check_at_a_time_and_keeps_its_history() -> None:
    [(_, text)] = schedule.files("kubernetes", made(stack="Prod_1")).items()
    claim, cron = yaml.safe_load_all(text)
    assert cron["metadata"]["name"] == claim["metadata"]["name"] == made(stack="Prod_1").name
    assert cron["spec"]["concurrencyPolicy"] == "Forbid"
    pod = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] in pod["containers"][0]["command"][2]
    assert pod["automountServiceAccountToken"] is False


def test_no_two_stacks_have_files_of_one_name_and_kubernetes_takes_each() -> None:
    stacks = ("prod", "Prod", "prod-1", "prod_1", "prod.1", "Prod_1", "a" * 32, "a" * 33, "a" * 100, "a" * 99)
    names = [made(stack=stack).name for stack in stacks]
    assert len(set(names)) == len(stacks)
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name) and len(name) <= 52 for name in names)
    assert names[0] == "clusterwright-drift-prod"


@pytest.mark.parametrize(
    ("word", "seconds", "cron"), [("15m", 900, "*/15 * * * *"), ("1h", 3600, "17 */1 * * *"), ("6h", 21600, "17 */6 * * *"), ("1d", 86400, "17 3 * * *")]
)
def test_times_that_every_scheduler_can_keep(word: str, seconds: int, cron: str) -> None:
    assert schedule.every_s(word) == seconds
    [text] = schedule.files("github", made(every_s=seconds)).values()
    assert yaml.safe_load(text)["on"]["schedule"] == [{"cron": cron}]


@pytest.mark.parametrize("word", ["", "7m", "90m", "5h", "2d", "-1h", "1", "30s", "0m"])
def test_times_that_cron_can_not_keep_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match="minutes that divide an hour"):
        schedule.every_s(word)


def test_files_are_written_where_they_are_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["drift", "schedule", "--stack", "prod", "--as", "systemd", "--every", "6h", "--to", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.rglob("*.*") if path.is_file()) == ["clusterwright-drift-prod.service", "clusterwright-drift-prod.timer"]
    assert "systemctl enable --now clusterwright-drift-prod.timer" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["schedule"], ["schedule", "--as", "kubernetes"]])
def test_what_is_missing_for_a_schedule_is_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["drift", *words]) == 2
    assert "do:" in capsys.readouterr().err


def test_a_stack_named_with_a_blank_and_a_percent_sign_is_one_word_for_systemd() -> None:
    service = next(text for path, text in schedule.files("systemd", made(stack="a %n")).items() if path.endswith(".service"))
    assert 'ExecStopPost=-/usr/bin/find "/var/log/clusterwright-drift/a %%n" -name' in service
    assert "Description=clusterwright: drift check of stack a %%n" in service


def test_a_schedule_that_runs_acceptance_says_so_to_each_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["drift", "schedule", "--as", "cron", "--accept-every", "7d"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "clusterwright drift --stack" in line]
    assert "--accept-every 168h" in line


def test_an_interval_of_acceptance_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.main(["drift", "--accept-every", "15m"])
    assert "write hours or days, as 12h or 7d" in capsys.readouterr().err
