"""PyTorch's data parallelism over gloo on two nodes of a real cluster, as a TrainJob: acceptance judges what its processes summed and learned."""

from pathlib import Path

import pytest

from tests.hosts.deployment import deployment
from tests.hosts.test_kubernetes import GPUS, NODES

pytestmark = [pytest.mark.hosts, pytest.mark.soak]


def test_acceptance_trains_over_two_nodes(tmp_path: Path) -> None:
    with deployment("test-kubernetes-train", tmp_path, blueprint="starter-kubernetes", set={"kubernetes.addons": {"trainer": True}}) as stack:
        stack.up()
        [trained] = [one for one in stack.outputs()["acceptance"] if one["name"] == "training job"]
        assert (trained["verdict"], trained["measured"]) == ("pass", f"{len(NODES) * GPUS} processes on {len(NODES)} nodes learn what one does")
