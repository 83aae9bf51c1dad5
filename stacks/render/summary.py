"""The summary of a running stack: what it has, how to log in, what acceptance found, and what is simulated. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def lines(stack: str, outputs: Mapping[str, Any], *, logins: Sequence[str]) -> Iterator[str]:
    """Write the summary line by line.

    Args:
        logins: the command that logs in, for each user.
    """
    spec = outputs["spec"]
    software = spec["software"]
    yield ""
    yield f"Cluster {spec['name']} is up (stack {stack} on {spec['target']}, {software['profile']} with {_schedulers(spec)})"
    yield ""
    if spec["access"]["count"]:
        yield "Log in"
        yield from (f"  {command}" for command in logins)
        yield ""
    if spec["control"]["count"] > 1:
        prefix = spec["control"]["prefix"]
        yield "Controllers"
        yield f"  {prefix}-0 is active, and {prefix}-1 takes over when it fails; `scontrol ping` shows which of them respond"
        yield ""
    for title, node_sets in _by_scheduler(spec).items():
        yield title
        for node_set in node_sets:
            yield f"  {_node_set(node_set)}"
        yield ""
    yield "Checked"
    for check in outputs["acceptance"] or ():
        yield f"  {_check(check)}"
    if spec["simulated"]:
        yield ""
        yield "Simulated"
        for sentence in spec["simulated"]:
            yield f"  {sentence}"


def _schedulers(spec: Mapping[str, Any]) -> str:
    """Name the schedulers with their versions; where a service runs one, the version can be unknown."""
    wanted = ("slurm", "kubernetes") if spec["scheduler"] == "both" else (spec["scheduler"],)
    return " and ".join(f"{name.capitalize()} {spec['software'].get(name) or ''}".strip() for name in wanted)


def _by_scheduler(spec: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Put node sets below a title for each scheduler that has any."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for node_set in spec["node_sets"]:
        found.setdefault("Partitions" if node_set["partition"] else "Kubernetes nodes", []).append(node_set)
    return found


def _node_set(node_set: Mapping[str, Any]) -> str:
    partition, hosts, machine = node_set["partition"], node_set["hosts"], node_set["hosts"]["machine"]
    cpus = machine["sockets"] * machine["cores_per_socket"] * machine["threads_per_core"]
    nodes = f"{hosts['count']} node{'s' if hosts['count'] != 1 else ''} {hosts['prefix']}-0" + (f"…{hosts['count'] - 1}" if hosts["count"] > 1 else "")
    gpus = machine["gpus"]
    each = f"each {cpus} CPUs, {machine['memory_mib']} MiB" + (
        f", {gpus['count']} × {gpus['type']}" + (" (simulated)" if gpus["simulated"] else "") if gpus else ""
    )
    if partition is None:
        return f"{node_set['pool']}: {nodes}, {each}"
    return f"{partition['name']}{' (default)' if partition['default'] else ''}: {nodes}, {each}; at most {partition['max_time']} a job"


def _check(check: Mapping[str, Any]) -> str:
    unit = f" {check['unit']}" if check.get("unit") else ""
    verdict = {"pass": "ok", "reported": "measured, not judged"}.get(check["verdict"], check["verdict"])
    return f"{check['name']} ({check['node']}): {check['measured']}{unit}, {verdict}"
