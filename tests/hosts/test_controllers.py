"""Two controllers: one serves, the other takes over when it is lost, jobs run on, and what was lost comes back to serve."""

from collections.abc import Iterator

import pytest

from components.local.machine import host as hosts
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = pytest.mark.hosts

TAKEN_OVER_WITHIN_S = 150
"""SlurmctldTimeout (60 s), the look of the waiting controller every third of it, and the state that it reads."""
ENDED_WITHIN_S = 240
MARK = "/run/slurmctld/serves"
CONF = "/etc/slurm/slurmdbd.conf"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("test-pair", tmp_path_factory.mktemp("pair"), set={"control.highly_available": True}) as one:
        one.up()
        yield one


def serving(stack: Deployment) -> set[str]:
    """Name the controllers that have the mark of the one that serves."""
    there = {host for host in stack.leaders() if host.startswith("control-") and hosts.is_running(stack.host(host))}
    return {host for host in there if stack.inside(host, "sh", "-c", f"test ! -e {MARK} || echo serves").strip()}


def incarnations(stack: Deployment) -> dict[str, str]:
    """Host → its disk."""
    return {one["name"]: one["incarnation"] for group in stack.outputs()["inventory"].values() for one in group}


def state(stack: Deployment, job: str) -> str:
    """Ask a login node, past the host that may be gone; while nobody serves there is no answer."""
    return stack.ssh(f"squeue --noheader --jobs={job} --format=%T --states=all 2>/dev/null || true").strip()


def test_one_of_two_serves(stack: Deployment) -> None:
    assert serving(stack) == {"control-0"}
    assert [line.split()[-1] for line in stack.ssh("scontrol ping").splitlines()] == ["UP", "UP"]
    assert stack.preview_changes() == {}


def test_what_a_database_of_both_controllers_left_on_the_second_goes_with_the_next_up(stack: Deployment) -> None:
    """As it is after the database was outside: the second controller has a configuration, and a daemon that waits for the first one's to fail."""
    conf = stack.inside("control-0", "cat", CONF)
    stack.inside("control-1", "install", "--owner=slurm", "--group=slurm", "--mode=0600", "/dev/stdin", CONF, stdin=f"{conf}DbdBackupHost=control-1\n")
    stack.inside_all("control-1", "systemctl", "start", "slurmdbd.service")
    stack.choose("accounts.research.description", "Another text")  # so that controllers are configured again
    stack.up()
    assert stack.inside_all("control-1", "systemctl", "show", "--property=ActiveState", "--value", "slurmdbd.service").strip() == "inactive"
    assert stack.inside("control-1", "sh", "-c", f"test -e {CONF} || echo gone").strip() == "gone"
    assert stack.inside_all("control-0", "systemctl", "is-active", "slurmdbd.service", "mariadb.service").split() == ["active"] * 2
    assert stack.preview_changes() == {}


@pytest.mark.soak  # two runs of the engine
def test_controllers_are_rebuilt_one_after_the_other_and_jobs_run_on(stack: Deployment) -> None:
    before = incarnations(stack)
    job = stack.ssh("sbatch --parsable --nodes=2 --wrap 'srun hostname; sleep 60; srun hostname'").strip()
    wait_until(lambda: state(stack, job) == "RUNNING", awaiting="the job to run", within_s=SOON_S)
    done = stack.clusterwright("rebuild", "control-[0-1]", "--yes")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert [line for line in done.stdout.splitlines() if line.startswith("rebuilding ")] == ["rebuilding control-1", "rebuilding control-0"]
    assert {name for name, disk in incarnations(stack).items() if disk != before[name]} == {"control-0", "control-1"}
    assert serving(stack) == {"control-0"}
    wait_until(
        lambda: stack.ssh(f"sacct --jobs={job} --allocations --noheader --parsable2 --format=State").split() == ["COMPLETED"],
        awaiting="the job to end and to be accounted",
        within_s=ENDED_WITHIN_S,
    )
    # srun says there that it waits, where its step begins while no controller serves.
    assert stack.ssh(f"grep --invert-match '^srun: ' slurm-{job}.out | sort").split() == ["train-0", "train-0", "train-1", "train-1"]
    assert stack.preview_changes() == {}


@pytest.mark.soak  # four minutes, most of them Slurm's own waiting
def test_a_lost_controller_is_replaced_and_jobs_run_on(stack: Deployment) -> None:
    # The job outlasts the time in which the second controller takes over.
    job = stack.ssh("sbatch --parsable --nodes=2 --wrap 'srun hostname; sleep 200; srun hostname'").strip()
    wait_until(lambda: state(stack, job) == "RUNNING", awaiting="the job to run", within_s=SOON_S)
    stack.cut_power("control-0")
    wait_until(lambda: serving(stack) == {"control-1"}, awaiting="the second controller to serve", within_s=TAKEN_OVER_WITHIN_S)
    wait_until(lambda: state(stack, job) == "RUNNING", awaiting="the job to be known to it", within_s=SOON_S)

    during = stack.ssh("sbatch --parsable --wait --nodes=2 --wrap 'srun hostname'").strip()
    assert stack.ssh(f"sort slurm-{during}.out").split() == ["train-0", "train-1"]
    wait_until(lambda: state(stack, job) == "COMPLETED", awaiting="the job that ran all the time to end", within_s=ENDED_WITHIN_S)
    assert stack.ssh(f"sort slurm-{job}.out").split() == ["train-0", "train-0", "train-1", "train-1"]

    assert stack.preview_changes().get("update", 0) >= 1, "a controller that is gone shows"
    stack.up()
    assert serving(stack) == {"control-0"}, "what came back serves"
    wait_until(
        lambda: stack.ssh(f"sacct --jobs={job},{during} --allocations --noheader --parsable2 --format=State").split() == ["COMPLETED"] * 2,
        awaiting="what happened meanwhile to be accounted",
        within_s=SOON_S,
    )
    assert stack.preview_changes() == {}
