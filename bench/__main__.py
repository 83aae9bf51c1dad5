"""Measure the bars and print them as JSON; progress goes to standard error.

python -m bench                   # all but those that take long: `from-nothing`, `instance-listing`, `adopted`, `kubernetes`, `kubernetes-kwok`
python -m bench starter nodes-64  # some
"""

import argparse
import datetime as dt
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from components.local.machine import cgroup
from tests.hosts.deployment import Deployment, deployment, wait_until

from . import machine
from .adopted import adopted
from .aws import aws
from .bars import bar
from .drift import drift_cloud
from .elastic import elastic
from .fresh_clone import fresh_clone
from .gcp import gcp
from .instance_listing import instance_listing
from .jobs import jobs
from .kubernetes import kubernetes, simulated_nodes
from .live_hosts import live_hosts
from .offline import offline

MANY_NODES = 64
UNCHANGED_UP_S = 5.29
"""1.3 times what it took before `up` looked at the hosts first (docs/measurements.md)."""
IDLE_WITHIN_S = 120


def starter(home: Path) -> Iterator[dict[str, Any]]:
    """The starter with warm caches: up, no-op, memory, a killed node, down."""
    with deployment("bench", home) as stack:
        up = _clusterwright(stack, "up")
        yield bar("up of the starter, warm", up.wall_s, 60, "s", "clusterwright up")
        yield bar("output of a first up of the starter", up.lines, 60, "lines", "clusterwright up, without a terminal")
        again = _clusterwright(stack, "up")
        yield bar("up without changes, refreshing", again.wall_s, UNCHANGED_UP_S, "s", "clusterwright up")
        yield bar("output of an up without changes", again.lines, 25, "lines", "clusterwright up, without a terminal")
        for hostname, limit in (("control-0", 350), ("login-0", 60), ("train-0", 60)):
            pids = sorted(cgroup.processes(cgroup.of_host(stack.host(hostname))))
            yield bar(f"memory of {hostname} (PSS)", machine.proportional_memory_mib(pids), limit, "MiB", "sum of Pss in smaps_rollup")
        others = {name: pid for name, pid in stack.leaders().items() if name != "train-1"}
        stack.cut_power("train-1")
        repaired = _clusterwright(stack, "up")
        if {name: pid for name, pid in stack.leaders().items() if name != "train-1"} != others:
            raise RuntimeError("hosts that ran were restarted")
        yield bar("up after a killed compute node", repaired.wall_s, 15, "s", "clusterwright up")
        states = stack.ssh("sinfo --noheader --format='%D %t'").split()
        if states != ["2", "idle"]:
            raise RuntimeError(f"nodes are not idle: {states}")
        yield bar("down of the starter", _clusterwright(stack, "down").wall_s, 8, "s", "clusterwright down")


def many_nodes(home: Path) -> Iterator[dict[str, Any]]:
    """64 baked nodes: no push to any of them."""
    with deployment("bench", home, set={"pools.train.nodes": MANY_NODES}) as stack:
        up = _clusterwright(stack, "up")
        yield bar(f"up with {MANY_NODES} baked nodes", up.wall_s, 180, "s", "clusterwright up, set pools.train.nodes")
        yield bar("engine, plugins and Ansible together, for each node", round(up.cpu_s / MANY_NODES, 3), 0.5, "CPU-s", "cpu accounting of the command's group")
        wait_until(
            lambda: stack.ssh("sinfo --noheader --format='%D %t'").split() == [str(MANY_NODES), "idle"], awaiting="all nodes idle", within_s=IDLE_WITHIN_S
        )
        how = "clusterwright accept; hosts and GPUs are simulated on one machine, and nccl-tests, which needs GPUs, does not run"
        yield bar(f"acceptance of {MANY_NODES} simulated nodes", _clusterwright(stack, "accept").wall_s, 180, "s", how)
        yield bar(f"drift check of {MANY_NODES + 2} hosts", _clusterwright(stack, "drift", "--settle", "0").wall_s, 34, "s", "clusterwright drift --settle 0")
        yield bar(f"down with {MANY_NODES} nodes", _clusterwright(stack, "down").wall_s, 60, "s", "clusterwright down")


def drift(home: Path) -> Iterator[dict[str, Any]]:
    """A drift check of all layers on an untouched cluster of six hosts."""
    with deployment("bench", home, set={"pools.train.nodes": 4}) as stack:
        _clusterwright(stack, "up")
        yield bar("drift check of six hosts, all layers", _clusterwright(stack, "drift", "--settle", "0").wall_s, 8, "s", "clusterwright drift --settle 0")
        _clusterwright(stack, "down")


def from_nothing(home: Path) -> Iterator[dict[str, Any]]:
    """An empty cache and the engine on PATH: base root file system, layer, hosts."""
    cache = home / "cache"
    with deployment("bench", home) as stack:
        up = _clusterwright(stack, "up", CLUSTERWRIGHT_CACHE=str(cache))
        yield bar("up from nothing but the engine", up.wall_s, 300, "s", "clusterwright up with an empty CLUSTERWRIGHT_CACHE")


MEASURES: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    "offline": offline,
    "aws": aws,
    "gcp": gcp,
    "starter": starter,
    "nodes-64": many_nodes,
    "drift": drift,
    "drift-cloud": drift_cloud,
    "elastic": elastic,
    "fresh-clone": fresh_clone,
    "from-nothing": from_nothing,
    "instance-listing": instance_listing,
    "live-hosts": live_hosts,
    "jobs": jobs,
    "adopted": adopted,
    "kubernetes": kubernetes,
    "kubernetes-kwok": simulated_nodes,
}
LONG = ("from-nothing", "instance-listing", "adopted", "kubernetes", "kubernetes-kwok")


def _clusterwright(stack: Deployment, command: str, *words: str, **environment: str) -> machine.Measured:
    return machine.measured(["clusterwright", command, "--stack", stack.stack, *words], environment={**stack.environment, **environment}, cwd=project_root())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the bars and print them as JSON")
    parser.add_argument("measure", nargs="*", choices=[*MEASURES], help=f"some of {', '.join(MEASURES)} (default: all but {' and '.join(LONG)})")
    chosen = parser.parse_args().measure or [name for name in MEASURES if name not in LONG]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=project_root(), capture_output=True, text=True, check=False).stdout.strip()
    report: dict[str, Any] = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "commit": commit,
        "machine": machine.described(),
        "bars": [],
    }
    try:
        for name in chosen:
            with tempfile.TemporaryDirectory(prefix="clusterwright-bench-") as home:
                for one in MEASURES[name](Path(home)):
                    report["bars"].append(one)
    finally:
        print(json.dumps(report, indent=2))
    return 0 if all(one["met"] for one in report["bars"]) else 1


if __name__ == "__main__":
    sys.exit(main())
