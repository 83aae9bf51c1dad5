"""A fresh clone beside warm caches: how long it takes from `git clone` to a running cluster."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root

from . import machine
from .bars import bar

STACK = "bench-fresh"
SCRIPT = 'git clone --quiet "$1" "$2" && cd "$2" && exec make up STACK="$3"'
OURS = ("PULUMI_", "CLUSTERWRIGHT_", "VIRTUAL_ENV", "EXTRAS")
"""Variables of this checkout, which a new user doesn't have."""


def fresh_clone(home: Path) -> Iterator[dict[str, Any]]:
    """Clone this checkout's commit, and bring the starter up with one command."""
    clone = home / "clone"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment["PATH"] = os.pathsep.join(place for place in os.environ["PATH"].split(os.pathsep) if not _is_ours(place))
    argv = ["sh", "-c", SCRIPT, "sh", str(project_root()), str(clone), STACK]
    try:
        up = machine.measured(argv, environment=environment, cwd=home)
    finally:
        if (clone / "Makefile").exists():
            subprocess.run(["make", "--silent", "down", f"STACK={STACK}"], cwd=clone, env=environment, stdout=subprocess.DEVNULL, check=True)
    yield bar("fresh clone to a running cluster, warm caches", up.wall_s, 45, "s", "git clone, make up")
    yield bar("processor time of that", up.cpu_s, 45, "CPU-s", "cpu accounting of the command's group")


def _is_ours(place: str) -> bool:
    return Path(place).is_relative_to(project_root()) or (Path(place) / "pulumi").exists()
