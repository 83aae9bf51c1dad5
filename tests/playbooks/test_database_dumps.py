"""What the program that restores the accounting database does with tables that can't be used; the database and systemd are stand-ins. tests/hosts/test_database_dumps.py has real ones."""

import fcntl
import gzip
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.playbooks import templates

DATABASE = "slurm_acct_db"
WHOLE = "-- Dump completed"
REFUSED = 3
STEPS = 15
"""A restore changes something more often than this."""
PROGRAMS = {
    "systemctl": f"""
echo "$*" >>units
runs() {{ test -d tables/mysql && test "$(cat tables/state)" = good && test ! -e broken && mkdir -p tables/{DATABASE}; }}
case "$*" in
"start mariadb.service") test ! -d tables/mysql || runs ;;
is-active*mariadb*) test -d tables && runs ;;
"start slurmdbd.service") bash program ready >/dev/null 2>&1 || exit 0; test -e tables/{DATABASE}/jobs || echo none >tables/{DATABASE}/jobs ;;
esac""",
    "mariadb": f"""
case "$*" in
*"SELECT id FROM"*) cat number 2>/dev/null ;;
*"SHOW TABLES"*) test -e empty || ls tables/{DATABASE} ;;
*information_schema*) echo moves ;;
*--execute*) echo "$*" >>asked
  for words in "{DATABASE}_restored" "{DATABASE}"; do
    case "$*" in *"DROP DATABASE"*"\\`$words\\`"*) rm -rf "tables/$words" ;; esac
    case "$*" in *"CREATE DATABASE \\`$words\\`"*) mkdir "tables/$words" ;; esac
  done
  case "$*" in *"RENAME TABLE"*) mv tables/{DATABASE}_restored/jobs tables/{DATABASE}/jobs ;; esac ;;
*) test ! -e unloadable && grep -v Dump >"tables/$1/jobs" ;;
esac""",
    "mariadb-dump": f'test ! -e unreadable -o -e tables/clusterwright-restore && cat tables/{DATABASE}/jobs && echo "$(test -e full || echo "{WHOLE}")"',
    "chown": "true",
}
"""Stand-ins. Files in the test's folder tell them what to do; a database is a folder among the tables with a file of jobs, and slurmdbd creates the file where it finds none."""

CHANGING = "cp|mariadb|mariadb-dump|mv|rm|sql|systemctl|zcat"
KILL = f"""
count=0
at() {{
    [[ $1 != "$KILL_AT"* ]] || kill -9 $$
    [[ $1 =~ ^({CHANGING})([[:space:]]|$) ]] || return 0
    count=$((count + 1))
    [ "$count" != "$KILL_AT" ] || kill -9 $$
}}
set -o functrace
trap 'at "$BASH_COMMAND"' DEBUG
"""
"""What bash reads first: it ends the program, as a power cut does, before a command that begins so, or before the nth that changes something."""


MOUNTED = 'mount --bind tables tables && exec "$@"'
"""In a file system of their own, the tables' folder can't be renamed."""


class Host:
    """A folder in the place of a controller; its tables may be a file system of their own."""

    def __init__(self, folder: Path, *, is_mounted: bool = False, dumps_within: str = ""):
        self.is_mounted = is_mounted
        self.folder, self.tables, self.dumps = folder, folder / "tables", folder / "dumps"
        self.dump = self.dumps / f"{DATABASE}-20261123T120000Z.sql.gz"
        for name in ("bin", f"tables/{DATABASE}", "tables/mysql", "dumps", "seed/mysql"):
            (folder / name).mkdir(parents=True)
        (self.tables / DATABASE / "jobs").write_text("precious\n")
        for name in ("access", "slurmdbd.conf"):
            (folder / name).touch()
        (folder / "kill").write_text(KILL)
        for name, text in PROGRAMS.items():
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / "bin" / name).chmod(0o755)
        for name in ("seed", "tables"):
            (folder / name / "state").write_text("good")
        self.dump.write_bytes(gzip.compress(f"accounts\n{WHOLE}\n".encode()))
        text = templates.render(
            "clusterwright-database.sh.j2",
            role="database_dumps",
            database_name=DATABASE,
            database_folder="tables",
            provided={"dumps": {"folder": "dumps", "within": dumps_within}},
        )
        for real, here in {
            "/run/clusterwright/database.lock": "lock",
            "/var/lib/mysql": "seed",
            "/etc/mysql/clusterwright-init.sql": "access",
            "/etc/slurm/slurm.conf": "slurm.conf",
            "/etc/slurm/slurmdbd.conf": "slurmdbd.conf",
        }.items():
            text = text.replace(real, here)
        (folder / "program").write_text(text)

    def restore(self, *, kill_at: int | str = 0) -> subprocess.CompletedProcess[str]:
        """Restore the dump, and end the program before a command that begins so, or before its nth that changes something."""
        done = self.run("restore", f"dumps/{self.dump.name}", **({"BASH_ENV": str(self.folder / "kill"), "KILL_AT": str(kill_at)} if kill_at else {}))
        with (self.folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # what it had started
        return done

    def up(self) -> bool:
        """Do as the roles `database` and `slurmdbd` do; say whether they refused."""
        if self.run("ready", "tables").returncode == REFUSED:
            return True
        if not (self.tables / "mysql").exists():
            shutil.copytree(self.folder / "seed", self.tables, dirs_exist_ok=self.is_mounted)
        if self.systemctl("start", "mariadb.service") != 0 or self.run("ready").returncode == REFUSED:
            return True
        self.systemctl("start", "slurmdbd.service")
        return False

    def systemctl(self, *words: str) -> int:
        return subprocess.run([self.folder / "bin/systemctl", *words], cwd=self.folder, env=self.environment, check=False).returncode

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **more}
        begin = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNTED, "sh"] if self.is_mounted else []
        return subprocess.run([*begin, "bash", "program", *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def said(self, name: str) -> list[str]:
        return (self.folder / name).read_text().splitlines()

    def jobs(self) -> str:
        """Give the jobs of the database in use."""
        file = self.tables / DATABASE / "jobs"
        return file.read_text() if file.exists() else ""

    def kept(self) -> list[str]:
        """Give the jobs that were there before, wherever they are now."""
        files = [*self.folder.glob(f"tables*/{DATABASE}/jobs"), *self.tables.glob(f".clusterwright/*/{DATABASE}/jobs")]
        dumps = [gzip.decompress(one.read_bytes()).decode() for one in self.dumps.glob("before-restore-*")]
        return [text for text in (*(file.read_text() for file in files), *dumps) if "precious" in text]

    def aside(self) -> list[str]:
        folder = self.tables / ".clusterwright" if self.is_mounted else self.folder
        return [one.joinpath("state").read_text() for one in folder.glob("tables.damaged-*")]


@pytest.fixture
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    return Host(tmp_path, is_mounted=getattr(request, "param", False))


both = pytest.mark.parametrize("host", [False, True], ids=["folder", "file-system"], indirect=True)
"""Tables in a folder, and on a file system of their own."""


def is_restored(host: Host) -> bool:
    return host.jobs() == "accounts\n"


def test_what_is_there_is_dumped_before(host: Host) -> None:
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert is_restored(host)
    assert len(list(host.dumps.glob("before-restore-*"))) == 1
    assert host.aside() == []


@both
def test_tables_that_do_not_start_are_set_aside(host: Host) -> None:
    (host.tables / "state").write_text("damaged")
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert is_restored(host)
    assert host.aside() == ["damaged"]
    assert (host.tables / "state").read_text() == "good"


def test_tables_that_can_not_be_read_are_set_aside(host: Host) -> None:
    (host.folder / "unreadable").touch()
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert is_restored(host)
    assert host.aside() == ["good"]


def test_a_restore_that_was_killed_between_old_and_new_tables_goes_on(host: Host) -> None:
    host.tables.rename(host.folder / "tables.damaged-20261123T120000Z")
    (host.folder / "tables.new").mkdir()
    assert host.up(), "without tables, an empty database would begin"
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert is_restored(host)
    assert host.aside() == ["good"]
    assert (host.tables / "state").read_text() == "good"


@pytest.mark.parametrize(
    ("served", "has_dump", "is_refused"), [("starter|326", True, True), ("starter|0", True, False), ("", True, False), ("starter|326", False, False)]
)
def test_slurmdbd_begins_nothing_new_where_somebody_deleted_the_tables_of_a_cluster_that_served(
    host: Host, served: str, has_dump: bool, is_refused: bool
) -> None:
    (host.folder / "slurm.conf").write_text("StateSaveLocation=state\n")
    (host.folder / "state").mkdir()
    (host.folder / "state/clustername").write_text(served)
    if not has_dump:
        host.dump.unlink()
    assert not host.up(), "there are tables"
    (host.tables / DATABASE / "jobs").unlink()
    assert host.up() is is_refused
    assert host.jobs() == ("" if is_refused else "none\n")
    if is_refused:
        assert host.restore().returncode == 0
        assert not host.up()


@pytest.mark.parametrize(("within", "is_refused"), [("dumps", True), ("", False)])
def test_slurmdbd_begins_nothing_new_while_the_file_system_of_the_dumps_is_not_mounted(tmp_path: Path, within: str, is_refused: bool) -> None:
    host = Host(tmp_path, dumps_within=within)
    (host.folder / "slurm.conf").write_text("StateSaveLocation=state\n")
    (host.folder / "state").mkdir()
    (host.folder / "state/clustername").write_text("starter|326")
    host.dump.unlink()  # it is on the file system
    assert not host.up(), "there are tables"
    (host.tables / DATABASE / "jobs").unlink()
    assert host.up() is is_refused
    assert host.jobs() == ("" if is_refused else "none\n")
    done = host.run("ready")
    assert ("dumps, where dumps belong, is not mounted" in done.stderr, done.stdout) == (is_refused, "")


def test_a_database_without_tables_is_not_dumped(host: Host) -> None:
    assert host.run("dump").returncode == 0
    before = sorted(host.dumps.iterdir())
    (host.folder / "empty").touch()
    done = host.run("dump")
    assert done.returncode == 1
    assert "the database has no tables" in done.stderr
    assert sorted(host.dumps.iterdir()) == before


@both
def test_tables_come_back_when_new_ones_do_not_start_either(host: Host) -> None:
    (host.tables / "state").write_text("damaged")
    (host.folder / "broken").touch()
    done = host.restore()
    assert done.returncode == 1
    assert "MariaDB does not start with new tables either: nothing was changed" in done.stderr
    assert (host.tables / "state").read_text() == "damaged"
    assert host.aside() == []


@both
def test_a_database_that_ran_runs_again_when_new_tables_do_not_start(host: Host) -> None:
    (host.folder / "unreadable").touch()
    (host.folder / "seed/state").write_text("bad")
    done = host.restore()
    assert done.returncode == 1
    assert (host.tables / "state").read_text() == "good"
    assert [one for one in host.said("units") if "mariadb" in one and one.startswith(("start", "stop"))][-1] == "start mariadb.service"
    assert host.said("units")[-1] == "start slurmdbd.service"


def test_a_dump_that_can_not_be_loaded_leaves_no_half_of_it(host: Host) -> None:
    (host.folder / "unloadable").touch()
    done = host.restore()
    assert done.returncode == 1
    assert "could not be loaded" in done.stderr
    assert "DROP DATABASE" in host.said("asked")[-1]
    assert "stop slurmdbd.service" not in host.said("units")


def test_a_database_that_can_not_be_dumped_for_lack_of_space_is_left_as_it_is(host: Host) -> None:
    (host.folder / "full").touch()
    done = host.restore()
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert not is_restored(host)
    assert [one.name for one in host.dumps.iterdir()] == [host.dump.name], "no part of a dump takes space"


def damaged(host: Host) -> None:
    (host.tables / "state").write_text("damaged")


def unreadable(host: Host) -> None:
    (host.folder / "unreadable").touch()


def sound(_host: Host) -> None:
    """Leave it as it is."""


def killed_at(host: Host, *steps: int | str) -> bool:
    """Kill one restore after the other, look at what is left after each, and restore; give whether the first was killed at all."""
    for place, step in enumerate(steps):
        if host.restore(kill_at=step).returncode != -signal.SIGKILL:
            return place > 0
        assert host.kept(), f"killed at {steps}: the database of before is gone"
        host.up()
        assert host.jobs() != "none\n", f"killed at {steps}: slurmdbd began an empty database"
    done = host.restore()
    assert (done.returncode, is_restored(host)) == (0, True), f"killed at {steps}: {done.stderr}"
    assert host.kept(), f"killed at {steps}: the database of before is gone"
    assert not host.up(), f"killed at {steps}: the next up refuses"
    assert not (host.folder / "tables.restore").exists()
    return True


def test_a_restore_that_was_killed_while_it_emptied_a_file_system_goes_on(tmp_path: Path) -> None:
    host = Host(tmp_path, is_mounted=True)
    aside = host.tables / ".clusterwright/tables.damaged-20261123T120000Z"
    aside.mkdir(parents=True)
    (host.tables / "mysql").rename(aside / "mysql")
    (host.tables / "state").rename(aside / "state")
    (host.folder / "tables.restore").write_text(f"stage=aside\nfile=dumps/{host.dump.name}\naside={aside.relative_to(host.folder)}\n")
    assert host.up(), "on a part of the tables, an empty database would begin"
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert is_restored(host)
    assert (aside / DATABASE / "jobs").read_text() == "precious\n"
    assert {one.name for one in aside.parent.iterdir()} == {aside.name}


@both
@pytest.mark.parametrize("step", ["note aside", 'put_away "$aside"', 'lay "$beside.new"', "note exchange", 'sql "RENAME', "forget"])
def test_a_restore_that_is_killed_twice_loses_nothing(host: Host, step: str) -> None:
    damaged(host)
    assert killed_at(host, step, 'lay "$beside.new"' if step.startswith("put_away") else step), "no command begins so"


@pytest.mark.soak
@pytest.mark.parametrize("is_mounted", [False, True])
@pytest.mark.parametrize("before", [damaged, unreadable, sound])
def test_a_restore_that_is_killed_at_any_step_and_again_there_loses_nothing(tmp_path: Path, before: Callable[[Host], None], is_mounted: bool) -> None:
    for step in itertools.count(1):
        host = Host(tmp_path / str(step), is_mounted=is_mounted)
        before(host)
        if not killed_at(host, step, step):
            break
    assert step > STEPS


@pytest.mark.parametrize(
    ("saved", "restored", "after"),
    [("starter|17", "326", "starter|326"), ("starter|326", "326", "starter|326"), ("starter", "326", "starter"), ("starter|17", "", "starter|17")],
)
def test_slurmctld_gets_the_number_that_its_cluster_has_in_the_restored_database(host: Host, saved: str, restored: str, after: str) -> None:
    """A controller that was reinstalled has a number of its own new database, and slurmctld would end."""
    (host.folder / "slurm.conf").write_text("ClusterName=starter\nStateSaveLocation=state\n")
    (host.folder / "state").mkdir()
    state = host.folder / "state/clustername"
    state.write_text(saved)
    if restored:
        (host.folder / "number").write_text(restored)
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert state.read_text() == after
    # Also where an earlier run changed the number and was killed before it started slurmctld again.
    assert ("start slurmctld.service" in host.said("units")) is ("|" in saved)


def test_a_controller_that_was_reinstalled_takes_over_once_slurmdbd_runs(host: Host) -> None:
    """Before `up` has configured slurmdbd, the other controller would hand over records of jobs that nobody sends on."""
    (host.folder / "slurm.conf").write_text("ClusterName=starter\nStateSaveLocation=state\n")
    (host.folder / "state").mkdir()
    (host.folder / "state/clustername").write_text("starter|326")
    (host.folder / "slurmdbd.conf").unlink()
    done = host.restore()
    assert (done.returncode, is_restored(host)) == (0, True), done.stderr
    assert [words for words in host.said("units") if words.startswith("start ") and "slurm" in words] == []
    assert not (host.folder / "tables.restore").exists()


def test_a_host_that_never_had_tables_may_begin_some(host: Host) -> None:
    """It lacks even the folder in which they and what was set aside lie."""
    program = host.folder / "program"
    text = program.read_text()
    assert text.count("tables=tables\n") == 1
    program.write_text(text.replace("tables=tables\n", "tables=state/tables\n"))
    done = host.run("ready", "tables")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_restore_beside_another_run_says_at_once_who_has_the_database(host: Host) -> None:
    ready, release = os.pipe()
    with subprocess.Popen(["flock", "lock", "cat"], cwd=host.folder, stdin=ready) as first:  # as a restore holds it
        os.close(ready)
        while subprocess.run(["flock", "--nonblock", "lock", "true"], cwd=host.folder, check=False).returncode == 0:
            assert first.poll() is None
        (host.folder / "lock").write_text("process 17 since 2026-11-23T12:00:00Z, `clusterwright-database restore x.sql.gz`\n")
        done = host.run("restore", f"dumps/{host.dump.name}")
        os.close(release)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].endswith("is in use: process 17 since 2026-11-23T12:00:00Z, `clusterwright-database restore x.sql.gz`")
    assert host.jobs() == "precious\n"
