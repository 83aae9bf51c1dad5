"""Judge what DCGM's diagnostic says of each node's GPUs (pure). A tool that fails is no fault of the node: it warns."""

from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import hostlist

from . import dcgm
from .document import Check, Verdict, merged
from .expectation import NodeSet

LIMIT_S = {1: 120, 2: 720, 3: 1080}
"""Level → how long it may take: about 30 s, 2 min and 15 min (NVSentinel, preflight), level 2 with eight GPUs up to 10.5 min (awsome-distributed-ai, gpu-cluster-healthcheck)."""
SIMULATED = "simulated"
"""Version of the program that stands in for dcgmi."""
FEW = 3


def diagnostics(node_set: NodeSet, tested: Sequence[str], outcome: Mapping[str, Any]) -> list[Check]:
    """Give a check for all nodes that are alike; none where the node set has no DCGM."""
    if not node_set.diagnostics:
        return []
    seen = {line["node"]: line for line in outcome["lines"]}
    silent = {"error": f"no answer: {outcome['error'] or 'the step printed nothing'}"}
    return merged([_of_node(node_set, name, seen.get(name, silent)) for name in tested])


def _of_node(node_set: NodeSet, node: str, line: Mapping[str, Any]) -> Check:
    if line.get("error"):
        look_at = f"on {node}: `systemctl status nvidia-dcgm`, `dcgmi discovery -l`"
        return _check(node_set, node, "not judged", Verdict.WARN, f"the diagnostic failed, which says nothing of the GPUs: {line['error']}", look_at)
    simulated = "simulated: the program stands in for dcgmi, and no GPU was tested" if line["version"] == SIMULATED else ""
    look_at = f"on {node}: `dcgmi diag --run {node_set.diagnostics}`, `nvidia-smi -q`, `dmesg | grep -i xid`"
    unfit = [one for one in line["faults"] if dcgm.is_unfit(one)]
    if unfit:
        return _check(node_set, node, _told(unfit), Verdict.FAIL, simulated, look_at)
    if line["gpus"] != node_set.gpu_count:
        return _check(node_set, node, f"DCGM knows {line['gpus']} of {node_set.gpu_count} GPUs", Verdict.FAIL, simulated, look_at)
    if line["faults"]:
        return _check(node_set, node, _told(line["faults"]), Verdict.WARN, simulated, look_at)
    passed = [name for name, counted in line["tests"].items() if counted.get("pass")]
    skipped = [name for name in line["tests"] if name not in passed]
    left_out = f"; left out by DCGM: {', '.join(skipped)}" if skipped else ""
    if not passed:
        return _check(node_set, node, f"nothing was tested{left_out}", Verdict.WARN, simulated, look_at)
    return _check(node_set, node, f"passed: {', '.join(passed)}{left_out}", Verdict.PASS, simulated, "")


def _told(faults: Sequence[Mapping[str, Any]]) -> str:
    told = [f"{one['test']} of {one['where']}: {one['words']}" for one in faults]
    return "; ".join(told[:FEW]) + (f"; and {len(told) - FEW} more" if len(told) > FEW else "")


def _check(node_set: NodeSet, node: str, measured: str, verdict: Verdict, detail: str, look_at: str) -> Check:
    expected = f"`dcgmi diag --run {node_set.diagnostics}` passes on {node_set.gpu_count} GPUs"
    return Check(name="GPU diagnostics", node=hostlist.compress([node]), expected=expected, measured=measured, verdict=verdict, detail=detail, look_at=look_at)
