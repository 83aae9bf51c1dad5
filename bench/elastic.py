"""Elastic pools of 7,500 nodes: the real slurmctld, what the program decides for them, one job of 500 nodes, and one look at as many instances."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.hosts import many
from tests.hosts.deployment import deployment, wait_until

from . import bars

RUNS = 5
JOB_NODES = 500
ASKED_WITHIN_S = 120


def elastic(home: Path) -> Iterator[dict[str, Any]]:
    """A controller with 7,500 nodes that can come and go."""
    with deployment("bench", home, set={"pools.train.nodes": {"min": 0, "max": 2}}) as stack:
        stack.up()
        here = many.install(stack)
        taken = []
        for _ in range(RUNS):
            begun = time.monotonic()
            here.on_controller("sinfo")
            taken.append(time.monotonic() - begun)
        yield bars.bar(
            f"sinfo with {here.nodes} nodes that come and go", round(statistics.median(taken), 3), 1, "s", f"sinfo on the controller, median of {RUNS}"
        )
        looks = [here.decide() for _ in range(RUNS)]
        if looks[0]["nodes"] != here.nodes:
            raise RuntimeError(f"Slurm shows {looks[0]['nodes']} nodes")
        for what, key, how in (
            ("one decision over", "decide_s", "decide.sync"),
            ("what Slurm says of", "look_s", "scontrol, squeue and reading their answers"),
        ):
            seconds = round(statistics.median(one[key] for one in looks), 3)
            yield bars.bar(f"{what} {here.nodes} nodes", seconds, 1, "s", f"{how} on the controller, median of {RUNS}")
        submitted = time.time()
        here.submit(JOB_NODES)
        wait_until(lambda: bool(here.questions("launch")), awaiting=f"the request for {JOB_NODES} nodes", within_s=ASKED_WITHIN_S)
        [launch] = here.questions("launch")
        if len(launch["nodes"]) != JOB_NODES:
            raise RuntimeError(f"asked for {len(launch['nodes'])} nodes")
        yield bars.bar(
            f"from a job of {JOB_NODES} nodes to one request for all of them", round(launch["at"] - submitted, 1), 30, "s", "sbatch to the fleet's launch"
        )
