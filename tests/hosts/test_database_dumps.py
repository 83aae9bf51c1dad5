"""The accounting database is dumped, lost and restored."""

import pytest

from tests.hosts.deployment import SOON_S, Deployment, wait_until
from tests.playbooks import templates

pytestmark = pytest.mark.hosts

HEAD, DATABASE = "control-0", "slurm_acct_db"
FOLDER = "/var/lib/clusterwright/state/dumps"
PROGRAM = "/run/clusterwright-database"
"""Where the test puts the program: this stack's own controller has none."""


@pytest.fixture(scope="module", autouse=True)
def program(running: Deployment) -> None:
    text = templates.render(
        "clusterwright-database.sh.j2", role="database_dumps", database_name=DATABASE, provided={"dumps": {"folder": FOLDER}}, database_dumps_kept=2
    )
    running.inside(HEAD, "install", "--mode=0755", "/dev/stdin", PROGRAM, stdin=text)


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
    for second in range(3):
        running.inside(HEAD, "install", "--mode=0600", "/dev/null", f"{FOLDER}/{DATABASE}-20200101T00000{second}Z.sql.gz")
    running.inside(HEAD, PROGRAM, "dump")
    assert not [one for one in dumps(running) if "-20200101T00000" in one and not one.endswith("2Z.sql.gz")]
    assert len([one for one in dumps(running) if one.startswith(f"{FOLDER}/{DATABASE}-")]) == 2
