"""Spot nodes that the cloud takes back: the whole way from the notice over a drained node and a job that runs elsewhere to a node that is made anew, with real Slurm on the simulated cloud."""

from collections.abc import Iterator

import pytest

from tests.hosts.deployment import wait_until
from tests.hosts.on_cloud import NODES_WITHIN_S, REPLACED_WITHIN_S, OnCloud, blueprint

pytestmark = [pytest.mark.engine, pytest.mark.hosts, pytest.mark.soak]

STACK = "test-spot"
BLUEPRINT = blueprint(
    "spot-aws",
    network="{cidr: 10.89.0.0/16, region: us-east-1}",
    pool="cpu: {machine: m7i.large, capacity: spot, nodes: {min: 0, max: 2}}",
    software="debian-13-aws",
)
NOTICE_S = 120
"""What EC2 gives (EC2 User Guide, "Spot Instance interruption notices")."""
SEEN_WITHIN_S = 60  # the program looks every 30 s
READ_NOTICE = """
import json, urllib.request as web
service, ttl = "http://169.254.169.254/latest", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
token = web.urlopen(web.Request(service + "/api/token", method="PUT", headers=ttl)).read().decode()
notice = web.Request(service + "/meta-data/spot/instance-action", headers={"X-aws-ec2-metadata-token": token})
print(json.loads(web.urlopen(notice).read())["action"])
"""


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnCloud]:
    with OnCloud.of(STACK, tmp_path_factory.mktemp("spot"), BLUEPRINT) as one:
        yield one


def reason(stack: OnCloud, node: str) -> str:
    return stack.slurm("sinfo", "--noheader", f"--nodes={node}", "--format=%E")


def test_a_node_that_is_taken_back_gives_its_job_away_before_it_goes_and_comes_again(stack: OnCloud) -> None:
    stack.up()
    stack.believe()
    job = stack.ssh("sbatch --parsable --requeue --wrap 'hostname; sleep 45; echo over'").strip()
    wait_until(lambda: stack.state(job) == "RUNNING", awaiting="the job to run", within_s=NODES_WITHIN_S)
    ((node, taken),) = stack.running().items()

    stack.cloud.interrupt(taken, within_s=NOTICE_S)
    assert stack.inside(node, "python3", "-c", READ_NOTICE).strip() == "terminate", "the host itself could read it, too"
    wait_until(lambda: "the cloud takes its instance back" in reason(stack, node), awaiting="the node to be drained", within_s=SEEN_WITHIN_S)
    wait_until(lambda: bool(stack.running().keys() - {node}), awaiting="another node for the job", within_s=NOTICE_S)

    wait_until(lambda: stack.state(job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    (other,) = stack.running().keys() - {node}
    assert stack.ssh(f"cat slurm-{job}.out").split()[-2:] == [other, "over"]
    wait_until(lambda: taken not in stack.running().values(), awaiting="the instance to be taken", within_s=2 * NOTICE_S)
    # Its reason stays to be read until the node is started again.
    state = ("sinfo", "--noheader", f"--nodes={node}", "--format=%T")
    wait_until(lambda: stack.slurm(*state) == "idle~", awaiting="the node to be fit for use again", within_s=REPLACED_WITHIN_S)
    assert stack.ssh(f"srun --nodelist={node} hostname").strip() == node
    assert stack.running()[node] != taken
    stack.down()
    assert stack.cloud.things() == []
