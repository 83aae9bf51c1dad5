"""Whether a pod opens its own GPUs and no others: a check of acceptance."""

import functools
import re
from collections.abc import Iterator
from typing import Any

from ..provider.kind import Work
from . import acceptance_jobs, apply, free_gpus, readiness
from .api import Api, Key

IMAGE = "registry.k8s.io/kube-proxy"
"""It runs on every node already, and `cat` is in it."""
NAME = "GPUs of a pod"
DEVICES = "/host-dev"
"""Where the pod sees the node's device files: those that it was not given, too."""
ANSWERS_WITHIN_S = 120
REFUSED = ("Operation not permitted", "Permission denied")
LACKS = "No such file or directory"
_COMPLAINT = re.compile(rf"^cat: {DEVICES}/nvidia(\d+): (.*)$", re.MULTILINE)


def checks(api: Api, inputs: acceptance_jobs.AcceptanceInputs, pool: acceptance_jobs.PoolInputs, work: Work) -> Iterator[dict[str, Any]]:
    """On some nodes that have them free, a pod with a quarter of the GPUs tries to open all of them."""
    given = pool.gpus // 4
    wanted = verdict(given, pool.gpus)
    free = free_gpus.of_pool(api, pool)
    if why := free_gpus.lacking(free, pool, given):
        yield acceptance_jobs.not_judged(pool.name, NAME, f"{wanted} on {pool.used} nodes", why)
    names = {f"devices-{number}": node for number, node in enumerate([node for node, count in free.items() if count >= given][: pool.used])}
    for name, node in names.items():
        container = {
            "name": "devices",
            "image": acceptance_jobs.image(inputs, IMAGE),
            "command": ["/usr/bin/cat", *(f"{DEVICES}/nvidia{number}" for number in range(pool.gpus))],
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [{"name": "devices", "mountPath": DEVICES, "readOnly": True}],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsUser": 0},
        }
        volume = {"name": "devices", "hostPath": {"path": "/dev", "type": "Directory"}}
        apply.apply_one(api, acceptance_jobs.job(name, inputs, pool, container, gpus=given, node=node, volumes=(volume,)), work)
    for name, node in names.items():
        has_ended = acceptance_jobs.within(
            work, functools.partial(_has_ended, api, name), within_s=ANSWERS_WITHIN_S, awaiting=f"a pod to open the GPUs of {node}"
        )
        pods = acceptance_jobs.pods(api, name)
        message = str(next((acceptance_jobs.ended(one).get("message", "") for one in pods), ""))
        found = read(message, pool.gpus)
        why = f"it says: {message.strip()}" if has_ended else readiness.pod_trouble(pods) or f"its pod did not end within {ANSWERS_WITHIN_S} s"
        if not has_ended and not any(one["spec"].get("nodeName") for one in pods) and free_gpus.of_pool(api, pool).get(node, 0) < given:
            yield acceptance_jobs.not_judged(node, NAME, wanted, "another job took its GPUs first")
        else:
            yield acceptance_jobs.check(node, NAME, wanted, found if has_ended else "no answer", why, ok=has_ended and found == wanted)
        api.delete(Key("batch/v1", "Job", acceptance_jobs.NAMESPACE, name), foreground=True)


def _has_ended(api: Api, name: str) -> bool:
    return any(map(acceptance_jobs.ended, acceptance_jobs.pods(api, name)))


def read(message: str, gpus: int) -> str:
    """Say what `cat` of all devices says. Opening a device file without hardware fails, too, but with another reason than one that the pod may not open. Pure."""
    said = {int(number): why for number, why in _COMPLAINT.findall(message)}
    lacking = [number for number, why in said.items() if why == LACKS]
    if lacking:
        return f"the node lacks {', '.join(f'/dev/nvidia{number}' for number in lacking)}"
    refused = sum(why in REFUSED for why in said.values())
    return verdict(gpus - refused, gpus)


def verdict(opened: int, gpus: int) -> str:
    """Write how many of all devices are open to a pod. Pure."""
    return f"{opened} of {gpus} open, {gpus - opened} refused"
