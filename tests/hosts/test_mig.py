"""MIG instances on hosts with real Slurm: given out by profile, and kept from other jobs. The GPUs and their instances are simulated."""

from collections.abc import Iterator

import pytest

from blueprints.project import project_root
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

NODE = "train-1"
DEVICES = "/dev/clusterwright-mig"
REPAIR = ("drift", "fix", "--yes", "--layer", "capability")
OPENED = f"for one in {DEVICES}/*-compute; do (: <$one) 2>&1; done; true"


@pytest.fixture(scope="module")
def divided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    home = tmp_path_factory.mktemp("mig")
    starter = (project_root() / "blueprints/library/starter.yaml").read_text()
    whole = "    gpus_per_node: 8\n"
    assert starter.count(whole) == 1
    blueprint = home / "divided.yaml"
    blueprint.write_text(starter.replace(whole, "    gpus_per_node: 2\n    fabric: none\n    mig: {1g.10gb: 2, 3g.40gb: 1}\n"))
    with deployment("test-mig", home, blueprint=str(blueprint)) as one:
        one.up()
        yield one


def test_acceptance_counts_instances_and_tries_their_confinement(divided: Deployment) -> None:
    measured = {check["name"]: (check["measured"], check["verdict"]) for check in divided.outputs()["acceptance"]}
    assert measured["GPUs known to Slurm"] == ("4 x 1g.10gb, 2 x 3g.40gb", "pass")
    assert measured["GPUs in a job"] == ("6 x MIG instance", "pass")
    assert measured["confinement of GPUs"] == ("refused", "pass")


def test_a_job_gets_instances_by_profile_and_opens_no_others(divided: Deployment) -> None:
    said = divided.ssh(f"srun --nodelist={NODE} --gpus=3g.40gb:1 sh -c '{OPENED}'").splitlines()
    refused = [line for line in said if "not permitted" in line]
    assert (len(said), len(refused)) == (6, 5), "a simulated instance that may be opened has no device behind it"
    (own,) = [line for line in said if line not in refused]
    assert "3g.40gb" in own
    shown = divided.ssh(f"srun --nodelist={NODE} --gpus=1g.10gb:2 sh -c 'echo $CUDA_VISIBLE_DEVICES'")
    assert len(shown.strip().split(",")) == 2


def test_instances_that_are_lost_are_made_again_soon_after_a_job_and_not_under_one(divided: Deployment) -> None:
    job = divided.ssh(f"sbatch --parsable --nodelist={NODE} --gpus=1g.10gb:1 --wrap 'sleep 600'").strip()
    wait_until(lambda: divided.ssh(f"squeue --noheader --format=%T --job={job}").strip() == "RUNNING", awaiting="the job to run", within_s=SOON_S)
    divided.inside(NODE, "sh", "-c", "rm /dev/nvidia-caps/*")
    assert divided.clusterwright(*REPAIR).returncode == 7
    assert _instances(divided) == 0, "the job may be about to open them"
    divided.ssh(f"scancel {job}")
    wait_until(lambda: divided.clusterwright(*REPAIR).returncode == 0, awaiting="a repair that finds no job on the node", within_s=SOON_S)
    assert _instances(divided) == 6
    divided.wait_for_idle(2)
    said = divided.ssh(f"srun --nodelist={NODE} --gpus=1g.10gb:1 sh -c '{OPENED}'").splitlines()
    assert (len(said), len([line for line in said if "not permitted" in line])) == (6, 5)


def _instances(divided: Deployment) -> int:
    return int(divided.inside(NODE, "sh", "-c", f"for one in {DEVICES}/*-compute; do [ ! -e $one ] || echo $one; done | wc -l"))
