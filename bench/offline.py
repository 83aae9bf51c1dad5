"""What needs no engine: whole cold processes with warm .pyc files, as a user types them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from tests.hosts.deployment import Deployment

from . import bars, machine

SCALE = "scale-7500"
LONG_LINES = 2000


def offline(home: Path) -> Iterator[dict[str, Any]]:
    """The commands that only think."""
    environment = Deployment("bench", home).environment

    def timed(*argv: str) -> tuple[float, float]:
        return machine.cold_process(["clusterwright", *argv], environment=environment, cwd=project_root())

    for name, options in (("the starter", ("--blueprint", "starter")), ("7,500 nodes in 16 pools", ("--blueprint", SCALE, "--target", "aws"))):
        wall_s, peak_mib = timed("plan", *options)
        yield bars.bar(f"plan of {name}, cold process", wall_s, 0.35, "s", f"clusterwright plan {' '.join(options)}, median of 5")
        yield bars.bar(f"memory of plan of {name}", peak_mib, 45, "MiB", "VmHWM of the process, median of 5")
    wall_s, _ = machine.cold_process(["tools/setup", "python", "engine"], environment=environment, cwd=project_root())
    yield bars.bar("setup of a warm checkout", wall_s, 0.2, "s", "tools/setup python engine, median of 5")
    wall_s, _ = timed("compare", "--blueprint", "llm-pretraining")
    yield bars.bar("compare over four targets", wall_s, 1.2, "s", "clusterwright compare --blueprint llm-pretraining, median of 5")
    long = home / "long.yaml"
    long.write_text(_long())
    wall_s, _ = timed("check", "--blueprint", str(long))
    yield bars.bar(f"check of a blueprint of {len(long.read_text().splitlines())} lines", wall_s, 1, "s", "clusterwright check, median of 5")


def _long() -> str:
    """Write a blueprint of some two thousand lines: pools, accounts, and users in them."""
    lines = ["name: long", "storage:", "  home: {kind: nfs, mount: /home}", "pools:"]
    for number in range(16):
        lines += [f"  pool{chr(97 + number)}:", "    nodes: 4", "    accelerator: h100", "    gpus_per_node: 8", "    partition:", "      max_time: 1-00:00:00"]
    lines += ["accounts:", "  research:", "    description: All of them", "users:"]
    number = 0
    while len(lines) < LONG_LINES:
        lines += [f"  user{number}:", f"    uid: {2001 + number}", "    account: research", "    ssh_keys: []"]
        number += 1
    return "\n".join(lines) + "\n"
