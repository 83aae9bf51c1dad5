"""The engine on Google Cloud: 16 pools on the simulated cloud, which answers at once, so that what is measured is ours and the engine's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.components.gcp.standing import Standing
from tests.simcloud.google import client

from . import bars, machine

POOLS, NODES = 16, 7_500
QUIET = ("--yes", "--skip-preview", "--suppress-outputs", "--suppress-progress")


def gcp(home: Path) -> Iterator[dict[str, Any]]:
    """16 pools of 7,500 nodes without GPUs: preview, up, no changes, destroy."""
    (home / "cloud").mkdir()
    blueprint = home / "large.yaml"
    blueprint.write_text(json.dumps(_blueprint()))
    with client.started(home / "cloud") as cloud, Standing.of(home / "stack", cloud, str(blueprint)) as stack:

        def timed(*words: str) -> tuple[float, str]:
            done = machine.measured(["pulumi", *words, "--non-interactive", "--stack", "dev"], environment=stack.environment, cwd=stack.folder)
            return done.wall_s, f"pulumi {' '.join(words)}, simulated cloud, {done.cpu_s} CPU-s"

        timed("preview")  # compiles what Python has not compiled yet
        for what, limit_s, words in (
            ("preview of 16 pools on Google Cloud", 10, ("preview",)),
            ("simulated up of 16 pools on Google Cloud", 30, ("up", *QUIET)),
            ("up without changes of 16 pools on Google Cloud, refreshing", 20, ("up", "--refresh", "--expect-no-changes", *QUIET)),
            ("destroy of 16 pools on Google Cloud", 30, ("destroy", *QUIET)),
        ):
            wall_s, how = timed(*words)
            yield bars.bar(what, wall_s, limit_s, "s", how)
        if left := cloud.things():
            raise RuntimeError(f"destroy left {left}")


def _blueprint() -> dict[str, Any]:
    """Write the largest cluster that the target provisions, as JSON, which YAML is too."""
    pools = {
        f"pool-{number:02}": {"machine": "n2-standard-8", "nodes": {"min": 0, "max": NODES // POOLS + (number < NODES % POOLS)}, "fabric": "none"}
        for number in range(POOLS)
    }
    storage = {"home": {"kind": "nfs", "mount": "/home", "protect": False, "on_delete": "delete"}}
    return {
        "name": "large",
        "scheduler": "slurm",
        "software": "debian-13-gcp",
        "network": {"cidr": "10.64.0.0/16"},
        "access": {"login_nodes": 2},
        "accounting": {"database": "embedded", "protect": False},
        "storage": storage,
        "pools": pools,
    }
