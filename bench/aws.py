"""The engine on AWS: the largest blueprint's target on the simulated cloud, which answers at once, so that what is measured is ours and the engine's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.components.aws.standing import Standing
from tests.simcloud.aws import client

from . import bars, machine

BLUEPRINT = "scale-7500"
QUIET = ("--yes", "--skip-preview", "--suppress-outputs", "--suppress-progress")


def aws(home: Path) -> Iterator[dict[str, Any]]:
    """16 pools of 7,500 nodes: preview, up, no changes, destroy."""
    (home / "cloud").mkdir()
    with client.started(home / "cloud") as cloud, Standing.of(home / "stack", cloud, BLUEPRINT) as stack:

        def timed(*words: str) -> tuple[float, str]:
            done = machine.measured(["pulumi", *words, "--non-interactive", "--stack", "dev"], environment=stack.environment, cwd=stack.folder)
            return done.wall_s, f"pulumi {' '.join(words)}, simulated cloud, {done.cpu_s} CPU-s"

        timed("preview")  # compiles what Python has not compiled yet
        for what, limit_s, words in (
            ("preview of 16 pools on AWS", 6, ("preview",)),
            ("simulated up of 16 pools on AWS", 30, ("up", *QUIET)),
            ("up without changes of 16 pools on AWS, refreshing", 20, ("up", "--refresh", "--expect-no-changes", *QUIET)),
            ("destroy of 16 pools on AWS", 30, ("destroy", *QUIET)),
        ):
            wall_s, how = timed(*words)
            yield bars.bar(what, wall_s, limit_s, "s", how)
        if left := cloud.things():
            raise RuntimeError(f"destroy left {left}")
