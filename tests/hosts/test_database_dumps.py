"""The accounting database is dumped, lost and restored."""

import pytest

from components.inspection import role_defaults
from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

HEAD, DATABASE = "control-0", "slurm_acct_db"
FOLDER = "/var/lib/clusterwright/state/dumps"
PROGRAM = "/usr/sbin/clusterwright-database"
TABLES = str(role_defaults.defaults("database")["database_folder"])
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


@pytest.mark.soak
def test_a_restore_that_is_killed_twice_is_gone_on_with(running: Deployment) -> None:
    job = running.ssh("sbatch --parsable --wait --wrap 'srun hostname'").strip()
    wait_until(lambda: accounted(running, job) == "COMPLETED", awaiting="the job to be accounted", within_s=SOON_S)
    running.inside(HEAD, PROGRAM, "dump")
    newest = dumps(running)[-1]
    running.inside_all(HEAD, "systemctl", "stop", "mariadb.service")
    running.inside(HEAD, "sh", "-c", f"echo 'no table space' >{TABLES}/ibdata1")
    for begins in ('lay "$beside.new"', "note exchange"):
        running.inside(
            HEAD,
            "sh",
            "-c",
            "cat >/run/kill",
            stdin=f"at() {{ [[ $1 != '{begins}'* ]] || kill -9 $$; }}\nset -o functrace\ntrap 'at \"$BASH_COMMAND\"' DEBUG\n",
        )
        killed = running.inside_all(HEAD, "/bin/sh", "-c", f"BASH_ENV=/run/kill bash {PROGRAM} restore {newest} >/dev/null 2>&1; echo $?")
        assert killed.strip() == "137"
        running.inside_all(HEAD, "systemctl", "start", "slurmdbd.service")
        assert running.inside_all(HEAD, "/bin/sh", "-c", "systemctl is-active slurmdbd.service || true").strip() == "inactive"
        up = running.clusterwright("up")
        goes_on = f"clusterwright restore --stack {running.stack} {HEAD}/{newest.rpartition('/')[2]}"
        assert (up.returncode, goes_on in up.stdout + up.stderr) == (1, True), up.stdout[-3000:] + up.stderr[-3000:]
    done = running.run(*goes_on.split(), "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until(lambda: accounted(running, job) == "COMPLETED", awaiting="the job to be accounted again", within_s=SOON_S)
    assert f"the tables that were there are in {TABLES}.damaged-" in done.stdout
    running.up()


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
