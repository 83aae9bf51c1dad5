"""One look at 7,500 instances with 33 interfaces each, on the simulated EC2: processor time of the program, as the simulated service takes its own on the same machine."""

import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3

from components.elastic.fleets.aws import Aws
from components.elastic.fleets.aws.known import Shelf
from tests.elastic import ec2, values
from tests.simcloud.aws import client

from . import bars

MACHINE, CARDS = "p5.48xlarge", 32
SETS, NODES = 15, 500


def instance_listing(home: Path) -> Iterator[dict[str, Any]]:
    """The first look, which reads every instance, and those after it."""
    with client.started(home) as cloud:
        os.environ.update(cloud.environment)
        ground = ec2.ground(cloud)
        rows = [ground.row(f"p5-{number}", machine=MACHINE, cards=CARDS, count=NODES) for number in range(SETS)]
        table = dataclasses.replace(values.table(*rows), cloud={"region": client.REGION})
        service = boto3.client("ec2", region_name=client.REGION)

        def fleet() -> Aws:
            return Aws(table, client=service, shelf=Shelf(home, "bench"))

        for row in rows:
            answer = fleet().launch(dataclasses.replace(values.launch(*row.nodes, token=row.name, at=time.time(), launched=None), node_set=row.name))
            if len(answer.instances) != NODES:
                raise RuntimeError(f"{row.name}: {answer.refusal} {answer.detail}")
        what = f"{SETS * NODES} instances of {MACHINE}"
        for name, limit in ((f"first look at {what}", 60), (f"each later look at {what}", 2)):
            cpu_s, seen = _timed(fleet().view)
            if len(seen.instances) != SETS * NODES:
                raise RuntimeError(f"{len(seen.instances)} instances are seen")
            yield bars.bar(name, round(cpu_s, 2), limit, "CPU-s", "the adapter's view, in a process that has only what was kept")


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.thread_time()
    result = run()
    return time.thread_time() - begun, result
