"""What the program that restores the accounting database does with tables that can't be used; the database and systemd are stand-ins. tests/hosts/test_database_dumps.py has real ones."""

import gzip
import os
import subprocess
from pathlib import Path

import pytest

from tests.playbooks import templates

DATABASE = "slurm_acct_db"
WHOLE = "-- Dump completed"
PROGRAMS = {
    "systemctl": """
echo "$*" >>units
runs() { test "$(cat tables/state)" = good && test ! -e broken; }
case "$*" in "start mariadb.service") test ! -d tables || runs ;; is-active*mariadb*) test -d tables && runs ;; esac""",
    "mariadb": 'case "$*" in *"SHOW TABLES"*) test -e empty || echo acct_table ;; *--execute*) echo "$*" >>asked ;; *) test ! -e unloadable && cat >loaded ;; esac',
    "mariadb-dump": f'test ! -e unreadable && echo "$(test -e full || echo "{WHOLE}")"',
    "chown": "true",
}
"""What they do is told by files of the test's folder."""


class Host:
    """A folder in the place of a controller."""

    def __init__(self, folder: Path):
        self.folder, self.tables, self.dumps = folder, folder / "tables", folder / "dumps"
        self.dump = self.dumps / f"{DATABASE}-20261123T120000Z.sql.gz"
        for name in ("bin", "tables", "dumps", "seed"):
            (folder / name).mkdir()
        for name, text in PROGRAMS.items():
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / "bin" / name).chmod(0o755)
        (folder / "seed/state").write_text("good")
        self.dump.write_bytes(gzip.compress(f"accounts\n{WHOLE}\n".encode()))
        text = templates.render(
            "clusterwright-database.sh.j2", role="database_dumps", database_name=DATABASE, database_folder="tables", provided={"dumps": {"folder": "dumps"}}
        )
        (folder / "program").write_text(text.replace("/run/clusterwright/database.lock", "lock").replace("/var/lib/mysql", "seed"))

    def restore(self) -> subprocess.CompletedProcess[str]:
        return self.run("restore", f"dumps/{self.dump.name}")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "program", *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def said(self, name: str) -> list[str]:
        return (self.folder / name).read_text().splitlines()

    def aside(self) -> list[str]:
        return [one.joinpath("state").read_text() for one in self.folder.glob("tables.damaged-*")]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    one = Host(tmp_path)
    (one.tables / "state").write_text("good")
    return one


def is_restored(host: Host) -> bool:
    return WHOLE in (host.folder / "loaded").read_text() if (host.folder / "loaded").exists() else False


def test_what_is_there_is_dumped_before(host: Host) -> None:
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert is_restored(host)
    assert len(list(host.dumps.glob("before-restore-*"))) == 1
    assert host.aside() == []


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
    done = host.restore()
    assert done.returncode == 0, done.stderr
    assert is_restored(host)
    assert host.aside() == ["good"]
    assert (host.tables / "state").read_text() == "good"


def test_a_database_without_tables_is_not_dumped(host: Host) -> None:
    assert host.run("dump").returncode == 0
    before = sorted(host.dumps.iterdir())
    (host.folder / "empty").touch()
    done = host.run("dump")
    assert done.returncode == 1
    assert "the database has no tables" in done.stderr
    assert sorted(host.dumps.iterdir()) == before


def test_tables_come_back_when_new_ones_do_not_start_either(host: Host) -> None:
    (host.tables / "state").write_text("damaged")
    (host.folder / "broken").touch()
    done = host.restore()
    assert done.returncode == 1
    assert "MariaDB does not start with new tables either: nothing was changed" in done.stderr
    assert (host.tables / "state").read_text() == "damaged"
    assert host.aside() == []


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
