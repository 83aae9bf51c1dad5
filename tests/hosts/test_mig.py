"""MIG instances on hosts with real Slurm: given out by profile, and kept from other jobs. The GPUs and their instances are simulated."""

from collections.abc import Iterator

import pytest

from blueprints.project import project_root
from tests.hosts.deployment import Deployment, deployment

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

NODE = "train-1"
DEVICES = "/dev/clusterwright-mig"
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
