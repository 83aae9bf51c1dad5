"""Releasing a host: what leaves with the stack, what stays because others changed it or data is kept, and how a release goes on that was cut off."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest

from components.metal import guest_program
from tests.components.metal.guest_host import KEY, KILL, OURS, THEIRS, adopted, finish, host, sent, some_of, tree

__all__ = ["host"]


@pytest.mark.parametrize(("status", "stays"), [(0, []), (1, ["what kubernetes runs"])])
def test_what_runs_beside_units_is_ended_before_files_leave(host: Path, status: int, stays: list[str]) -> None:
    adopted(host)
    program = host / "usr/lib/clusterwright/leave.d/kubernetes"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nls "$CLUSTERWRIGHT_ROOT/usr/lib/clusterwright" >"$CLUSTERWRIGHT_ROOT/run/there"\nexit {status}\n')
    program.chmod(0o700)
    answer = sent(host, "release", token="aaaa")
    assert [one["what"] for one in answer["stays"]] == stays
    assert "boot" in (host / "run/there").read_text().split()
    assert not (host / "usr/lib/clusterwright").exists()


def test_what_others_changed_since_stays_and_is_said(host: Path) -> None:
    adopted(host)
    (host / "etc/hosts").write_text("127.0.0.1 localhost\n10.0.0.1 head\n10.9.9.9 printer\n")
    (host / "etc/passwd").write_text((host / "etc/passwd").read_text() + "ada:x:1001:1001::/home/ada:/bin/sh\n")
    (host / "etc/motd").unlink()
    (host / "etc/motd").write_text("our own again\n")
    (host / "etc/cron.d").mkdir()
    (host / "etc/cron.d/backup").write_text("0 1 * * * root backup\n")
    answer = sent(host, "release", token="aaaa")
    assert answer["stays"] == [{"what": "/etc/motd", "why": "somebody changed it since the stack did"}]
    assert (host / "etc/hosts").read_text() == "127.0.0.1 localhost\n10.9.9.9 printer\n"
    assert [line.partition(":")[0] for line in (host / "etc/passwd").read_text().splitlines()] == ["root", "ubuntu", "ada"]
    assert (host / "etc/motd").read_text() == "our own again\n"
    assert (host / "etc/cron.d/backup").exists()
    assert (host / "etc/localtime").readlink() == Path("/usr/share/zoneinfo/Europe/Berlin")


def test_what_its_owner_changed_between_two_finishings_is_how_the_host_was(host: Path) -> None:
    adopted(host)
    (host / "etc/timezone").write_text("Europe/Rome\n")
    (host / "usr/local/bin/tool").unlink()
    assert sent(host, "open", token="aaaa")["ok"]
    (host / "etc/slurm/slurm.conf").write_text("ClusterName=lab\nNodeName=a\n")
    (host / "etc/timezone").write_text("UTC\n")
    assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert (host / "etc/timezone").read_text() == "Europe/Rome\n"
    assert not (host / "usr/local/bin/tool").exists()
    assert not (host / "etc/slurm").exists()


@pytest.mark.parametrize("rounds", [1, 2])
def test_what_a_daemon_creates_after_finishing_was_recorded_leaves_with_the_stack(host: Path, rounds: int) -> None:
    before = tree(host)
    adopted(host)
    (host / "var/spool/slurmd").mkdir()
    (host / "var/spool/slurmd/cred_state").write_text("jobs\n")
    for _ in range(1, rounds):
        assert sent(host, "open", token="aaaa")["ok"]
        assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


@pytest.mark.parametrize(("also", "stays"), [((), []), (("pip",), ["/root/.cache"])])
def test_what_logging_in_as_root_leaves_goes_unless_more_is_there(host: Path, also: tuple[str, ...], stays: list[str]) -> None:
    before = tree(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]
    assert sent(host, "open", token="aaaa")["ok"]
    finish(host)
    for name in ("motd.legal-displayed", *also):
        (host / "root/.cache").mkdir(exist_ok=True)
        (host / "root/.cache" / name).write_text("")
    assert sent(host, "record", token="aaaa")["ok"]
    assert [one["what"] for one in sent(host, "release", token="aaaa")["stays"]] == stays
    assert (tree(host) == before) is (not stays)


def test_the_folder_of_a_daemon_that_was_there_before_stays(host: Path) -> None:
    (host / "var/spool/slurmd").mkdir()
    before = tree(host)
    adopted(host)
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


def test_a_record_outside_of_a_round_leaves_to_the_owner_what_they_changed(host: Path) -> None:
    adopted(host)
    (host / "etc/timezone").write_text("Europe/Rome\n")
    assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert (host / "etc/timezone").read_text() == "Europe/Rome\n"


def test_a_finishing_that_was_cut_off_counts_as_the_stacks(host: Path) -> None:
    before = tree(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]
    finish(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]  # the next `up`
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


def test_a_host_that_another_group_of_the_stack_has_by_now_is_not_released(host: Path) -> None:
    settings = {"path": "/etc/clusterwright/node.env", "content": base64.b64encode(b"CLUSTERWRIGHT_GROUP=large\n").decode(), "mode": 0o644}
    assert sent(host, "adopt", **OURS, admin_key=KEY, files=[settings])["ok"]
    assert sent(host, "release", token="aaaa", group="train")["state"] == "moved"
    assert sent(host, "look")["token"] == "aaaa"
    assert sent(host, "release", token="aaaa", group="large")["state"] == "released"


@pytest.mark.parametrize("number", some_of([*range(12), *range(12, 60, 6)]))
def test_a_release_that_was_killed_goes_on(host: Path, number: int) -> None:
    before = tree(host)
    adopted(host)
    first = sent(host, "release", token="aaaa", before=KILL.format(number=number))
    assert first.get("killed") == 9 or number > 12, first
    again = sent(host, "release", token="aaaa")
    assert again["state"] in ("released", "free")
    assert again["stays"] == []
    assert tree(host) == before


def test_job_state_stays_in_a_named_place_and_comes_back(host: Path) -> None:
    adopted(host)
    state = host / "var/lib/clusterwright/state/mysql"
    state.mkdir(parents=True)
    (state / "jobs.ibd").write_text("17 jobs")
    kept = sent(host, "release", token="aaaa")["kept"]
    assert kept == ["/var/lib/clusterwright/kept/lab/var/lib/clusterwright/state"]
    assert (host / kept[0].lstrip("/") / "mysql/jobs.ibd").read_text() == "17 jobs"
    assert not state.exists()
    assert sent(host, "adopt", **{**OURS, "token": "cccc"}, admin_key=KEY)["ok"]
    assert (state / "jobs.ibd").read_text() == "17 jobs"


def test_a_folder_that_a_link_took_the_place_of_is_there_again(host: Path) -> None:
    (host / "var/lib/extrausers").mkdir()
    before = tree(host)
    assert sent(host, "adopt", **OURS, admin_key=KEY)["ok"]
    (host / "var/lib/extrausers").rmdir()
    (host / "var/lib/extrausers").symlink_to("/var/lib/clusterwright/cluster/users")
    assert sent(host, "record", token="aaaa")["ok"]
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


def test_data_on_a_mounted_file_system_stays_where_it_is(host: Path) -> None:
    adopted(host)
    state = host / "var/lib/clusterwright/state/slurmctld"
    state.mkdir(parents=True)
    (state / "job_state").write_text("x")
    (host / "proc/self/mountinfo").write_text("30 1 0:30 / /var/lib/clusterwright/state/slurmctld rw - nfs nas:/state rw\n")
    answer = sent(host, "release", token="aaaa")
    assert answer["kept"] == ["/var/lib/clusterwright/state"]
    assert (state / "job_state").read_text() == "x"


def test_what_is_kept_is_roots_alone(host: Path) -> None:
    adopted(host)
    (host / "var/lib/clusterwright/state").mkdir(parents=True)
    (host / "var/lib/clusterwright/state/job_state").write_text("x")
    sent(host, "release", token="aaaa")
    assert (host / "var/lib/clusterwright/kept/lab").stat().st_mode & 0o777 == 0o700


def test_a_release_that_goes_on_names_the_data_that_the_first_one_kept(host: Path) -> None:
    adopted(host)
    (host / "var/lib/clusterwright/state").mkdir(parents=True)
    (host / "var/lib/clusterwright/state/job_state").write_text("x")
    assert sent(host, "release", token="aaaa", before=KILL.format(number=14))["killed"] == 9
    assert not (host / "var/lib/clusterwright/state").exists()
    assert sent(host, "release", token="aaaa")["kept"] == ["/var/lib/clusterwright/kept/lab/var/lib/clusterwright/state"]


def test_another_stack_does_not_get_the_state_of_one_that_left(host: Path) -> None:
    adopted(host)
    state = host / "var/lib/clusterwright/state"
    state.mkdir(parents=True)
    (state / "job_state").write_text("x")
    assert sent(host, "release", token="aaaa")["kept"]
    assert sent(host, "adopt", **{**THEIRS, "stack": "lab"}, admin_key=KEY)["ok"]
    assert not state.exists()


def test_folders_for_data_that_is_elsewhere_leave_with_the_stack(host: Path) -> None:
    """The second controller has the state on a shared file system alone."""
    before = tree(host)
    adopted(host)
    (host / "var/lib/clusterwright/state/slurmctld").mkdir(parents=True)
    assert sent(host, "release", token="aaaa")["kept"] == []
    assert tree(host) == before


def test_data_goes_with_the_host_when_nothing_is_to_be_kept(host: Path) -> None:
    before = tree(host)
    adopted(host)
    (host / "var/lib/clusterwright/state").mkdir(parents=True)
    (host / "var/lib/clusterwright/state/job_state").write_text("x")
    assert sent(host, "release", token="aaaa", keep=[])["kept"] == []
    assert tree(host) == before


def test_a_folder_with_too_many_files_is_left_alone(host: Path) -> None:
    """Also where it came to have so many, or to have fewer, while the stack had the host."""
    for name in "abc":
        (host / "opt" / name).write_text("theirs")
    adopted(host)
    (host / "opt/d").write_text("theirs, too")
    program = guest_program.text({"do": "release", "root": str(host), "token": "aaaa"}).decode()
    assert "LISTED_AT_MOST = 50_000" in program
    small = program.replace("LISTED_AT_MOST = 50_000", "LISTED_AT_MOST = 3")
    answer = guest_program.answer(subprocess.run([sys.executable, "-IS", "-"], input=small.encode(), capture_output=True, check=True).stdout)
    assert answer["stays"] == []
    assert sorted(path.name for path in (host / "opt").iterdir()) == ["a", "b", "c", "d"]


def test_a_file_that_cant_be_restored_stays_and_the_others_are_restored(host: Path) -> None:
    adopted(host)
    refusing = """
import os
_real = os.replace
def _refuse(source, target):
    if target.endswith("/etc/hosts"):
        raise PermissionError(1, "Operation not permitted")
    _real(source, target)
os.replace = _refuse
"""
    answer = sent(host, "release", before=refusing, token="aaaa")
    assert answer["stays"] == [{"what": "/etc/hosts", "why": "it can't be restored: operation not permitted"}]
    assert (host / "etc/motd").read_text() == "our server\n"


def test_what_was_in_the_stacks_folders_before_stays(host: Path) -> None:
    (host / "var/lib/clusterwright/other-stack").mkdir(parents=True)
    (host / "var/lib/clusterwright/other-stack/disk").write_text("x")
    before = tree(host)
    adopted(host)
    assert sent(host, "release", token="aaaa")["stays"] == []
    assert tree(host) == before


def test_releasing_a_host_that_nobody_has_changes_nothing(host: Path) -> None:
    before = tree(host)
    assert sent(host, "release", token="aaaa")["state"] == "free"
    assert tree(host) == before


def test_an_administrator_releases_a_host_without_the_stack(host: Path) -> None:
    adopted(host)
    program = (host / "var/lib/clusterwright/adoption/release.py").read_text()
    assert program == guest_program.by_hand()
    compile(program, "release.py", "exec")


def test_files_that_a_host_has_before_it_is_finished_leave_with_the_stack(host: Path) -> None:
    before = tree(host)
    files = [{"path": "/etc/clusterwright/secrets/munge.key", "content": base64.b64encode(b"k").decode(), "mode": 0o400}]
    assert sent(host, "adopt", **OURS, files=files)["ok"]
    assert (host / "etc/clusterwright/secrets/munge.key").read_bytes() == b"k"
    assert (host / "etc/clusterwright/secrets").stat().st_mode & 0o777 == 0o700
    assert sent(host, "release", token="aaaa")["state"] == "released"
    assert tree(host) == before
