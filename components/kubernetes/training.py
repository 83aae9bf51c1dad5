"""Whether a training job runs and learns what it should: a check of acceptance, where the cluster has the Trainer."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..provider.kind import Work
from . import acceptance_jobs, apply, free_gpus, jobs, manifests, readiness
from .api import Api, Key

IMAGE = "clusterwright.invalid/torch"
"""Releases for rehearsals have it. Elsewhere the images of training jobs are users' own, and the check is left out."""
NAME, CHECK = "training", "training job"
ENDS_WITHIN_S = 600
"""With the image's way to the nodes: 1 GB."""
_KEY = Key(jobs.TRAINER, "TrainJob", acceptance_jobs.NAMESPACE, NAME)


def checks(api: Api, inputs: acceptance_jobs.AcceptanceInputs, pool: acceptance_jobs.PoolInputs, work: Work) -> Iterator[dict[str, Any]]:
    """PyTorch's data parallelism over all GPUs of some nodes gives the values that one process gives."""
    image = acceptance_jobs.image(inputs, IMAGE)
    if not image:
        return
    wanted = _words(pool.used * pool.gpus, pool.used)
    if why := free_gpus.no_room(api, pool):
        yield acceptance_jobs.not_judged(pool.name, CHECK, wanted, why)
        return
    job = jobs.Job(
        NAME, image, ("python3", "-c", Path(__file__).with_name("ddp.py").read_text()), nodes=pool.used, gpus_per_node=pool.gpus, account=acceptance_jobs.NAMESPACE,
        pool=pool.name, qos=acceptance_jobs.priority_class(is_high=False) if inputs.has_queues else "", tolerations=pool.tolerations,
    )  # fmt: skip
    for manifest in jobs.manifests(job, "trainjob"):
        manifest["metadata"]["labels"][manifests.PART_OF] = acceptance_jobs.NAMESPACE
        apply.apply_one(api, manifest, work)
    states: list[str] = []

    def is_over() -> bool:
        states[:] = [kind for kind in ("Complete", "Failed") if readiness.condition(api.get(_KEY) or {}, kind) == "True"]
        states.extend("Failed" for one in _pods(api) if acceptance_jobs.ended(one).get("exitCode", 0))
        return bool(states)

    acceptance_jobs.within(work, is_over, within_s=ENDS_WITHIN_S, awaiting="the training job to end")
    pods = _pods(api)
    messages = [str(acceptance_jobs.ended(one).get("message", "")) for one in pods]
    found = [read(one) for one in messages]
    is_right = states[:1] == ["Complete"] and len(found) == pool.used and all(is_as_it_should_be(one, pool.used * pool.gpus, pool.gpus) for one in found)
    measured = wanted if is_right else f"{states[0].lower() if states else 'not ended'}, {len(pods)} pods"
    why = "; ".join(filter(None, messages)) or readiness.pod_trouble(pods) or _trouble(api)
    if not states and (no_room := free_gpus.no_room(api, pool)):
        yield acceptance_jobs.not_judged(pool.name, CHECK, wanted, no_room)
    else:
        yield acceptance_jobs.check(pool.name, CHECK, wanted, measured, why, ok=is_right)


def read(message: str) -> dict[str, Any]:
    """Read the last words of a pod (`ddp.py`); empty: it has none. Pure."""
    try:
        found = json.loads(message)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def is_as_it_should_be(found: Mapping[str, Any], ranks: int, gpus: int) -> bool:
    """Say whether a pod learned what one process learns, with all processes, each with its GPU. Pure."""
    return (found.get("ranks"), found.get("sum"), found.get("gpus"), found.get("close")) == (ranks, ranks * (ranks + 1) // 2, gpus, True)


def _words(processes: int, nodes: int) -> str:
    return f"{processes} processes on {nodes} {'nodes' if nodes > 1 else 'node'} learn what one does"


def _pods(api: Api) -> list[dict[str, Any]]:
    return api.list("v1", "Pod", namespace=acceptance_jobs.NAMESPACE, labels=f"jobset.sigs.k8s.io/jobset-name={NAME}")


def _trouble(api: Api) -> str:
    found = (api.get(_KEY) or {}).get("status") or {}
    said = [one.get("message", "") for one in found.get("conditions") or ()]
    return "; ".join(filter(None, said)) or f"it did not end within {ENDS_WITHIN_S} s"
