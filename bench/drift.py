"""A drift check's cloud layer on AWS: the largest blueprint's target on the simulated cloud, which answers at once."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from tests.components.aws.standing import Standing
from tests.drift.simulated import PROGRAM
from tests.simcloud.aws import client

from . import bars, machine

BLUEPRINT = "scale-7500"
CHECK = """
import pathlib, sys
from stacks.drift import detect
from components.inspection.layer import Layer
report = detect.detect("dev", layers=[Layer.CLOUD], folder=pathlib.Path(sys.argv[1])).report
sys.exit("\\n".join([*(f"{one.code} {one.where}" for one in report.findings), *(one.failure for one in report.failures)]) or 0)
"""


def drift_cloud(home: Path) -> Iterator[dict[str, Any]]:
    """The cloud layer of a stack with 16 pools: a previewed refresh, a preview of the program, and the list of instances."""
    (home / "cloud").mkdir()
    with client.started(home / "cloud") as cloud, Standing.of(home / "stack", cloud, BLUEPRINT) as stack:
        stack.set_program(PROGRAM)
        stack.up()
        resources = len(cloud.things())
        command = [sys.executable, "-c", CHECK, str(stack.folder)]
        environment = {**stack.environment, "PYTHONPATH": str(project_root())}
        machine.measured(command, environment=environment, cwd=project_root())  # compiles what Python has not compiled yet
        done = machine.measured(command, environment=environment, cwd=project_root())
        how = f"stacks.drift.check, cloud layer, {resources} resources on the simulated cloud, {done.cpu_s} CPU-s"
        yield bars.bar("drift check of the cloud layer, 16 pools on AWS", done.wall_s, 12, "s", how)
