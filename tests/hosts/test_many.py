"""A real slurmctld with the 7,500 nodes of the largest blueprint."""

from collections.abc import Iterator

import pytest

from tests.hosts import many
from tests.hosts.deployment import deployment, wait_until

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

JOB_NODES = 500
OTHER = "h100-b"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[many.ManyNodes]:
    with deployment("test-many", tmp_path_factory.mktemp("many"), set={"pools.train.nodes": {"min": 0, "max": 2}}) as stack:
        stack.up()
        yield many.install(stack)


def shown(here: many.ManyNodes, *words: str) -> str:
    return here.on_controller(*words).strip()


def test_nothing_is_to_be_done_while_no_job_waits(here: many.ManyNodes) -> None:
    decided = here.decide()
    assert (here.nodes, decided["nodes"], decided["steps"]) == (7500, 7500, 0)


def test_a_job_of_500_nodes_is_one_request_for_all_of_them(here: many.ManyNodes) -> None:
    here.submit(JOB_NODES)
    wait_until(lambda: bool(here.questions("launch")), awaiting="the request for the nodes of the job", within_s=300)
    [launch] = here.questions("launch")
    assert set(launch["nodes"]) == {f"{here.partition}-{number}" for number in range(JOB_NODES)}
    assert launch["whole"] is True
    addressed = "scontrol --oneliner show nodes | grep -c 'NodeAddr=192.0.2.1 ' || true"
    wait_until(lambda: shown(here, "sh", "-c", addressed) == str(JOB_NODES), awaiting="Slurm to know the addresses", within_s=300)


def test_a_job_for_which_its_pool_has_no_room_waits_and_others_go_on(here: many.ManyNodes) -> None:
    here.limit(OTHER, 3)
    asked = len(here.questions("launch"))
    job = here.submit(5, partition=OTHER)
    listed = ("sinfo", "--noheader", f"--partition={OTHER}", "--format=%D %E")
    wait_until(lambda: f"5 clusterwright: pool {OTHER} has its 3 nodes already" in shown(here, *listed), awaiting="the refusal", within_s=300)
    waiting = ("squeue", "--noheader", f"--jobs={job}", "--format=%T %r")
    wait_until(lambda: shown(here, *waiting) == "PENDING BeginTime", awaiting="the job to wait for another try", within_s=60)
    wait_until(lambda: released(here), awaiting="its nodes to be given back", within_s=300)
    here.submit(3, partition=OTHER)
    wait_until(lambda: len(here.questions("launch")) > asked, awaiting="the request for the other job", within_s=300)
    assert [len(launch["nodes"]) for launch in here.questions("launch")[asked:]] == [3]


def test_a_job_larger_than_its_pool_may_become_is_held_by_slurm_with_its_reason(here: many.ManyNodes) -> None:
    here.declare(OTHER, 3)
    asked = len(here.questions("launch"))
    job = here.submit(4, partition=OTHER)
    waiting = ("squeue", "--noheader", f"--jobs={job}", "--format=%T %r")
    wait_until(lambda: shown(here, *waiting) == "PENDING PartitionNodeLimit", awaiting="Slurm to hold the job", within_s=60)
    released(here)
    assert (shown(here, *waiting), len(here.questions("launch"))) == ("PENDING PartitionNodeLimit", asked)


def released(here: many.ManyNodes) -> bool:
    """Look once, as the timer does, and say whether all nodes are fit for use."""
    here.on_controller("systemd-run", "--quiet", "--wait", "--pipe", "--uid=slurm", "clusterwright-elastic", "sync")
    return "down" not in shown(here, "sinfo", "--noheader", f"--partition={OTHER}", "--format=%T")
