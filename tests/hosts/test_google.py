"""A cluster on Google Cloud from `up` to `down`: the project's program and engine, on a simulated Google Cloud whose instances are hosts of this machine.

Everything on the hosts is real: Debian, cloud-init with Google's data source, Slurm, the elastic program. Everything of Google's is simulated and strict.
"""

from collections.abc import Iterator

import pytest

from tests.hosts.deployment import wait_until
from tests.hosts.on_cloud import Steps
from tests.hosts.on_google import NAME, NODES_WITHIN_S, REPLACED_WITHIN_S, OnGoogle
from tests.simcloud.hosted import place

pytestmark = [pytest.mark.engine, pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(1800)]

STACK = "test-google"
BLUEPRINT = """
name: cpu-google
software: debian-13-gcp
control: {machine: n2-standard-2}
access: {login_nodes: 1, machine: n2-standard-2, allowed_cidrs: [198.51.100.0/24]}
accounting: {protect: false}
network: {cidr: 10.89.0.0/16, region: us-central1, zones: [us-central1-a]}
storage:
  home: {kind: nfs, mount: /home, protect: false, on_delete: delete}
  data: {kind: block, mount: /data, size: 100 GiB, protect: false, on_delete: delete}
pools: {train: {machine: n2-standard-8, nodes: {min: 0, max: 4}, capacity: spot, fabric: none}}
accounts: {research: {}}
users: {ada: {uid: 2001, account: research, ssh_keys: []}}
"""
BELIEVED = "update finish-control"
"""What a preview shows of `believe`, which edits Slurm's files on the controller: finishing would write them again."""
IDLE_S = 10
GONE_WITHIN_S = 180


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnGoogle]:
    with OnGoogle.of(STACK, tmp_path_factory.mktemp("google"), BLUEPRINT) as one:
        one.up()
        yield one


def test_what_has_just_come_up_has_not_drifted(stack: OnGoogle) -> None:
    checked = stack.clusterwright("drift")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_login_node_is_rebuilt(stack: OnGoogle) -> None:
    instance, key = stack.instance("login-0").properties["id"], stack.outputs()["login"]["host_key"]
    stack.rebuild("login-0")
    assert stack.instance("login-0").properties["id"] != instance
    assert stack.outputs()["login"]["host_key"] == key
    assert stack.ssh("sinfo --noheader --format=%P").strip() == "train*"
    assert stack.cloud.audit() == []
    assert stack.preview_steps() == []


def test_a_cluster_lives_from_up_to_down(stack: OnGoogle) -> None:
    steps = Steps()
    assert stack.running() == {}
    assert {check["name"]: check["verdict"] for check in stack.outputs()["acceptance"]} == {"nodes on demand": "reported"}
    assert stack.cloud.audit() == []
    assert stack.preview_steps() == []
    steps.over("nothing to change")

    stack.believe()
    words = r"""sbatch --parsable --wait --nodes=2 --wrap 'srun sh -c "hostname; hostname >/data/\$SLURM_PROCID"'"""
    job = stack.ssh(words).strip()
    first = stack.running()
    assert stack.output(job) == sorted(first) == ["train-0", "train-1"]
    assert sorted(stack.ssh("cat /data/0 /data/1").split()) == ["train-0", "train-1"], "a disk that the controller exports is everyone's"
    assert stack.ssh(f"sacct --allocations --noheader --parsable2 --jobs={job} --format=State,User,Account") == "COMPLETED|ada|research\n"
    assert stack.preview_steps() == [BELIEVED], "nodes that come and go are no drift"
    steps.over("a job has started two nodes and run on them")

    job = stack.ssh("sbatch --parsable --nodes=2 --requeue --wrap 'sleep 20; srun hostname'").strip()
    wait_until(lambda: stack.state(job) == "RUNNING", awaiting="the job to run", within_s=NODES_WITHIN_S)
    stack.cloud.fail_host(stack.instance("train-1").id)
    wait_until(lambda: stack.state(job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    second = stack.running()
    assert stack.output(job) == sorted(second)
    assert set(second.values()) - set(first.values()), "one of them has come in the place of the lost one"
    steps.over("a node lost under a job was replaced, and the job has run")

    job = stack.ssh("sbatch --parsable --requeue --wrap 'sleep 20; srun hostname'").strip()
    wait_until(lambda: stack.state(job) == "RUNNING", awaiting="the job to run", within_s=NODES_WITHIN_S)
    node = stack.slurm("squeue", "--noheader", f"--jobs={job}", "--format=%N")
    taken = stack.instance(node)
    stack.cloud.preempt(taken.id)
    wait_until(lambda: stack.state(job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    assert taken.properties["id"] not in stack.running().values()
    assert stack.slurm("sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={job}", "--format=Restarts") == "1"
    steps.over("a spot instance was taken back, and its job has run again")

    stack.slurm("sed", "--in-place", f"s/^SuspendTime=.*/SuspendTime={IDLE_S}/", "/etc/slurm/slurm.conf")
    stack.slurm("scontrol", "reconfigure")
    wait_until(lambda: stack.running() == {}, awaiting="idle nodes to go", within_s=GONE_WITHIN_S)
    steps.over("idle nodes are gone")

    stack.down()
    assert [one.id for one in stack.cloud.things()] == []
    wait_until(lambda: place.left_behind(place.names_of(NAME)) == (), awaiting="the machine to be as it was", within_s=GONE_WITHIN_S)
    steps.over("down: nothing in the cloud, nothing on the machine")
