"""The accounting database is dumped, lost and restored."""

import pytest

from components.inspection import role_defaults
from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

HEAD, DATABASE = "control-0", "slurm_acct_db"
FOLDER = "/var/lib/clusterwright/state/dumps"
PROGRAM = "/usr/sbin/clusterwright-database"
KEPT = int(role_defaults.defaults("database_dumps")["database_dumps_kept"])


def dumps(stack: Deployment) -> list[str]:
    return [line.split("\t")[0] for line in stack.inside(HEAD, PROGRAM, "list").splitlines()]


def accounted(stack: Deployment, job: str) -> str:
    """Ask for a job's accounted state; empty while nobody answers."""
    return stack.ssh(f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State 2>/dev/null || true").strip()


def test_a_lost_database_is_restored_from_a_dump(running: Deployment) -> None:
    job = running.ssh("sbatch --parsable --wait --wrap 'srun hostname'").strip()
    wait_until(lambda: accounted(running, job) == "COMPLETED", awaiting="the job to be accounted", within_s=SOON_S)
    running.inside(HEAD, PROGRAM, "dump")
    [*_, newest] = dumps(running)
    assert running.inside(HEAD, "stat", "--format=%a %U", FOLDER, newest).split() == ["700", "root", "600", "root"]

    running.inside(HEAD, "mariadb", "--execute", f"DROP DATABASE {DATABASE}")
    assert accounted(running, job) == ""
    assert f"restored {newest}" in running.inside_all(HEAD, PROGRAM, "restore", newest)
    wait_until(lambda: accounted(running, job) == "COMPLETED", awaiting="the job to be accounted again", within_s=SOON_S)

    # What is there now is kept before it is exchanged.
    running.inside_all(HEAD, PROGRAM, "restore", newest)
    assert [one for one in dumps(running) if one.startswith(f"{FOLDER}/before-restore-")]
    wait_until(lambda: accounted(running, job) == "COMPLETED", awaiting="the job to be accounted again", within_s=SOON_S)


def test_a_dump_that_is_not_whole_changes_nothing(running: Deployment) -> None:
    running.inside(HEAD, PROGRAM, "dump")
    running.inside(HEAD, "sh", "-c", f"head -c 200 {dumps(running)[-1]} >/run/cut.sql.gz")
    said = running.inside_all(HEAD, "/bin/sh", "-c", f"{PROGRAM} restore /run/cut.sql.gz 2>&1 || true")
    assert said.startswith("/run/cut.sql.gz is not a whole dump: nothing was changed")
    assert running.inside_all(HEAD, "systemctl", "is-active", "slurmdbd.service").strip() == "active"


def test_older_dumps_go(running: Deployment) -> None:
    for second in range(KEPT):
        running.inside(HEAD, "install", "--mode=0600", "/dev/null", f"{FOLDER}/{DATABASE}-20200101T0000{second:02}Z.sql.gz")
    running.inside(HEAD, PROGRAM, "dump")
    assert not [one for one in dumps(running) if "-20200101T000000Z" in one]
    assert len([one for one in dumps(running) if one.startswith(f"{FOLDER}/{DATABASE}-")]) == KEPT
