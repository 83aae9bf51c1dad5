"""A Kubernetes cluster of one control plane host and three nodes: up, no-op, a gang of pods, down; and the same with simulated nodes beside."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints import spec
from blueprints.project import project_root
from components.kubernetes import jobs, kwok_nodes
from components.kubernetes.api import Api
from components.local.machine import cgroup
from tests.hosts.deployment import Deployment, deployment, wait_until

from . import machine
from .bars import bar

NODES, PODS = 3, 16
ACCOUNT, USER = "research", "ada"
PAUSE = "registry.k8s.io/pause"
GANG_WITHIN_S = 120
KWOK_NODES, KWOK_PODS = 64, 512
MEMORY_MIB = 3 * 1000**3 / 1024**2


def kubernetes(home: Path) -> Iterator[dict[str, Any]]:
    """What a user waits for, with warm caches."""
    with deployment("bench", home, blueprint="starter-kubernetes", set={"pools.train.nodes": NODES}) as stack:
        up = _clusterwright(stack, "up")
        what = f"up of Kubernetes with {NODES} nodes, Kueue and JobSet, with acceptance"
        yield bar(what, up.wall_s, 90, "s", "clusterwright up of starter-kubernetes, set pools.train.nodes")
        again = _clusterwright(stack, "up")
        yield bar("up of Kubernetes without changes, refreshing", again.wall_s, 8, "s", "clusterwright up")
        yield bar(f"a gang of {PODS} pods runs after it is submitted", _gang_s(stack), 3, "s", "a Job of an account, until all its pods run")
        yield bar("down of Kubernetes", _clusterwright(stack, "down").wall_s, 10, "s", "clusterwright down")


def simulated_nodes(home: Path) -> Iterator[dict[str, Any]]:
    """The same cluster with nodes beside that exist in the API alone, and pods for all of them."""
    chosen = {"pools.train.nodes": NODES, "kubernetes.kwok_nodes.train": KWOK_NODES}
    with deployment("bench", home, blueprint="starter-kubernetes", set=chosen) as stack:
        up = _clusterwright(stack, "up")
        what = f"up of Kubernetes with {NODES} nodes and {KWOK_NODES} simulated by kwok, Kueue and JobSet, with acceptance"
        yield bar(what, up.wall_s, 120, "s", "clusterwright up of starter-kubernetes, set pools.train.nodes and kubernetes.kwok_nodes.train")
        took = _gang_s(stack, pods=KWOK_PODS, pool=spec.KwokNodes("train", KWOK_NODES).name, tolerations=({"key": kwok_nodes.MARK, "operator": "Exists"},))
        yield bar(f"{KWOK_PODS} pods run on simulated nodes", took, 15, "s", "a Job of an account, until kwok said of all its pods that they run or have ended")
        yield bar("memory of all hosts and their pods (PSS)", _memory_mib(stack), round(MEMORY_MIB), "MiB", "sum of Pss in smaps_rollup, after those pods")
        yield bar("down of Kubernetes with simulated nodes", _clusterwright(stack, "down").wall_s, 10, "s", "clusterwright down")


def _gang_s(stack: Deployment, *, pods: int = PODS, pool: str = "train", tolerations: tuple[dict[str, str], ...] = ()) -> float:
    done = stack.clusterwright("kubeconfig", "--user", USER)
    if done.returncode:
        raise RuntimeError(done.stderr)
    api = Api(done.stdout)
    job = jobs.Job("gang", _pause(stack), ("/pause",), nodes=pods, gpus_per_node=1, account=ACCOUNT, pool=pool, tolerations=tolerations)
    wanted = jobs.manifests(job, "job")
    started = time.monotonic()
    for manifest in wanted:
        api.apply(manifest)

    def runs() -> bool:
        found = api.list("v1", "Pod", namespace=ACCOUNT, labels=f"batch.kubernetes.io/job-name={job.name}")
        # A pod that really waits never ends; kwok ends those of a Job at once.
        return len([one for one in found if one["status"].get("phase") in ("Running", "Succeeded")]) == pods

    wait_until(runs, awaiting="the gang to run", within_s=GANG_WITHIN_S)
    return round(time.monotonic() - started, 2)


def _memory_mib(stack: Deployment) -> float:
    """Add up the memory of the processes of all hosts, those of pods among them."""
    pids = {pid for hostname in stack.leaders() for pid in cgroup.processes(cgroup.of_host(stack.host(hostname)))}
    return machine.proportional_memory_mib(sorted(pids))


def _pause(stack: Deployment) -> str:
    """Give the image that waits: of the release that the stack runs."""
    exported = json.loads(stack.run("pulumi", "stack", "export", "--stack", stack.stack).stdout)
    resources = exported["deployment"]["resources"]
    folder = next(Path(one["outputs"]["folder"]) for one in resources if one["type"] == "clusterwright:kubernetes:Release")
    known = json.loads((folder / "images.json").read_text())
    return next(f"{name}@{found['digest']}" for name, found in known.items() if name.startswith(f"{PAUSE}:"))


def _clusterwright(stack: Deployment, command: str) -> machine.Measured:
    return machine.measured(["clusterwright", command, "--stack", stack.stack], environment=stack.environment, cwd=project_root())
