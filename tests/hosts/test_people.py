"""People: shares, limits, qualities of service, administrators and partitions of their own do what the blueprint says, on a cluster that stands."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts import shared_by_groups
from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

LONG = "--wrap 'sleep 600'"


@pytest.fixture
def queue(shared: Deployment) -> Iterator[Deployment]:
    """The cluster without a job, before and after."""
    yield shared
    shared.inside("control-0", "scancel", "--user=ada")
    shared.inside("control-0", "scancel", "--user=alan")
    wait_until(lambda: not shared.inside("control-0", "squeue", "--noheader").strip(), awaiting="all jobs to be gone", within_s=SOON_S)


def submit(stack: Deployment, words: str, *, user: str) -> str:
    return stack.ssh(f"sbatch --parsable {words}", user=user).strip()


def state(stack: Deployment, job: str) -> list[str]:
    """Ask for a job's state, and for the reason why it waits."""
    return stack.inside("control-0", "squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T %r").split()


def wait_for(stack: Deployment, job: str, *expected: str) -> None:
    wait_until(lambda: state(stack, job) == list(expected), awaiting=f"job {job} to be {' '.join(expected)}", within_s=SOON_S)


def answer(stack: Deployment, command: str, *, user: str) -> str:
    """What a command says that may fail."""
    return stack.ssh(f"{command} 2>&1 || true", user=user)


def drift(stack: Deployment) -> list[str]:
    done = stack.clusterwright("drift", "--history", str(stack.home / "history"), "--json", "--layer", "hosts", "--layer", "scheduler")
    assert done.returncode in (0, 7), done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return sorted(f"{one['code']} {one['where']}" for one in found["findings"])


def test_a_new_cluster_is_as_the_blueprint_says(shared: Deployment) -> None:
    """Also the packages of the REST API, which came after the image was recorded."""
    assert drift(shared) == []
    assert shared.preview_changes() == {}


def test_a_job_beyond_the_limit_of_its_account_waits(queue: Deployment) -> None:
    first, second = submit(queue, f"--gpus=4 {LONG}", user="alan"), submit(queue, f"--gpus=1 {LONG}", user="alan")
    wait_for(queue, first, "RUNNING", "None")
    wait_for(queue, second, "PENDING", "AssocGrpGRES")


def test_a_job_beyond_the_gpus_of_a_user_waits(queue: Deployment) -> None:
    first, second = submit(queue, f"--qos=urgent --gpus=5 {LONG}", user="ada"), submit(queue, f"--qos=urgent --gpus=2 {LONG}", user="ada")
    wait_for(queue, first, "RUNNING", "None")
    wait_for(queue, second, "PENDING", "QOSMaxGRESPerUser")


def test_jobs_have_the_qualities_of_service_of_their_account_alone(queue: Deployment) -> None:
    assert "Invalid qos" in answer(queue, f"sbatch --qos=urgent {LONG}", user="alan")
    named = submit(queue, "--hold --wrap true", user="ada")
    unnamed = submit(queue, "--hold --wrap true", user="alan")
    given = queue.inside("control-0", "squeue", "--noheader", f"--jobs={named},{unnamed}", "--sort=i", "--format=%q").split()
    assert given == ["normal", "idle"], "a job that names none has the first of its account"


def test_an_urgent_job_takes_the_place_of_one_that_can_wait(queue: Deployment) -> None:
    idle = submit(queue, f"--ntasks=8 {LONG}", user="alan")
    wait_for(queue, idle, "RUNNING", "None")
    urgent = submit(queue, f"--qos=urgent --ntasks=8 {LONG}", user="ada")
    wait_for(queue, urgent, "RUNNING", "None")
    assert state(queue, idle)[0] == "PENDING", "it starts over later"


def test_a_job_of_an_exclusive_partition_has_the_whole_node_and_other_accounts_have_none_there(queue: Deployment) -> None:
    job = submit(queue, f"--partition=whole --ntasks=1 {LONG}", user="ada")
    wait_for(queue, job, "RUNNING", "None")
    shown = queue.inside("control-0", "scontrol", "--oneliner", "show", "job", job)
    assert "NumCPUs=8 " in shown
    assert "gres/gpu=8" in shown
    wait_for(queue, submit(queue, f"--partition=whole {LONG}", user="alan"), "PENDING", "PartitionConfig")


def test_administrators_become_root_and_others_do_not(queue: Deployment) -> None:
    assert queue.ssh("sudo -n id -u; srun sudo -n id -u").split() == ["0", "0"]
    assert queue.inside("control-0", "su", "ada", "-c", "sudo -n id -u").strip() == "0"
    assert "password is required" in answer(queue, "sudo -n id -u", user="alan")


def test_administrators_rule_the_scheduler_and_others_do_not(queue: Deployment) -> None:
    named = "scontrol update nodename=train-0 comment"
    assert "Invalid user id" in answer(queue, f"{named}=alans", user="alan")
    queue.ssh(f"{named}=adas", user="ada")
    assert "Comment=adas" in queue.inside("control-0", "scontrol", "--oneliner", "show", "node", "train-0")
    assert "denied" in answer(queue, "sacctmgr --immediate modify account physics set grpjobs=1", user="alan").lower()
    queue.ssh("sacctmgr --immediate modify account physics set grpjobs=1", user="ada")
    assert drift(queue) == ["CW762 account physics: grpjobs"]


BY_HAND = (
    "sacctmgr --immediate modify account physics set grptres=gres/gpu=99",
    "sacctmgr --immediate modify qos urgent set maxtresperuser=gres/gpu=99",
    "sacctmgr --immediate modify user alan set adminlevel=administrator",
    "scontrol update partitionname=whole oversubscribe=no",
)


def test_what_was_changed_by_hand_is_found_and_the_next_change_of_the_blueprint_takes_it_back_in_place(shared: Deployment) -> None:
    """What the blueprint no longer names goes, too."""
    for command in BY_HAND:
        shared.inside("control-0", "sh", "-c", command)
    found = ["CW759 partition whole: OverSubscribe", "CW762 account physics: grptres", "CW767 QOS urgent: maxtrespu", "CW768 user alan: admin level"]
    assert set(found) <= set(drift(shared))
    before = shared.leaders()
    changed = shared_by_groups.BLUEPRINT.replace("limits: {gpus: 4, jobs: 2}, qos: [idle]", "limits: {gpus: 6}").replace(", admin: true", "")
    (shared.home / shared_by_groups.FILE).write_text(changed)
    shared.up()
    assert shared.leaders() == before, "no host is made anew"
    asked = ("show", "associations", "where", "account=teaching", "user=", "format=grptres,grpjobs,defaultqos")
    assert shared.inside("control-0", "sacctmgr", "--noheader", "--parsable2", *asked).split() == ["gres/gpu=6||normal"]
    assert "password is required" in answer(shared, "sudo -n id -u", user="ada")
    shared.inside("control-0", "scontrol", "update", "partitionname=whole", "oversubscribe=exclusive")
    assert drift(shared) == []
    assert shared.preview_changes() == {}
