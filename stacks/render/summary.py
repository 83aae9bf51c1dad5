"""The summary of a running stack: what it has, how to log in, what acceptance found, and what is simulated. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import spec

from .formatting import counted

PASSED = "pass"
"""The verdict of a check that found what the spec expects."""


def lines(stack: str, outputs: Mapping[str, Any], *, logins: Sequence[str], has_new_checks: bool = True) -> Iterator[str]:
    """Write the summary line by line.

    Args:
        logins: the command that logs in, for each user.
        has_new_checks: acceptance ran just now; otherwise its passed checks are only counted.
    """
    cluster = spec.from_record(outputs["spec"])
    yield ""
    yield f"Cluster {cluster.name} is up (stack {stack} on {cluster.target}, {cluster.software.profile} with {_schedulers(cluster)})"
    yield ""
    if cluster.access.count:
        yield "Log in"
        yield from (f"  {command}" for command in logins)
        yield ""
    if cluster.slurm and cluster.slurm.control and cluster.controllers > 1:
        prefix = cluster.slurm.control.prefix
        yield "Controllers"
        yield f"  {prefix}-0 is active, and {prefix}-1 takes over when it fails; `scontrol ping` shows which of them respond"
        yield ""
    for title, node_sets in _by_scheduler(cluster).items():
        yield title
        for node_set in node_sets:
            yield f"  {_node_set(node_set)}"
        yield ""
    yield "Checked"
    yield from _checks(outputs["acceptance"] or (), are_new=has_new_checks)
    if cluster.simulated:
        yield ""
        yield "Simulated"
        for sentence in cluster.simulated:
            yield f"  {sentence}"


def _schedulers(cluster: spec.ClusterSpec) -> str:
    """Name the schedulers with their versions; where a service runs one, the version can be unknown."""
    versions = {"slurm": cluster.software.slurm, "kubernetes": cluster.software.kubernetes}
    return " and ".join(f"{name.capitalize()} {versions[name]}".strip() for name in cluster.schedulers)


def _by_scheduler(cluster: spec.ClusterSpec) -> dict[str, tuple[spec.NodeSet, ...]]:
    """Put node sets below a title for each scheduler that has any."""
    found = {"Partitions": cluster.slurm.node_sets if cluster.slurm else (), "Kubernetes nodes": cluster.kubernetes.node_sets if cluster.kubernetes else ()}
    return {title: node_sets for title, node_sets in found.items() if node_sets}


def _node_set(node_set: spec.NodeSet) -> str:
    partition, hosts, gpus = node_set.partition, node_set.hosts, node_set.hosts.machine.gpus
    nodes = f"{hosts.count} node{'s' if hosts.count != 1 else ''} {hosts.prefix}-0" + (f"…{hosts.count - 1}" if hosts.count > 1 else "")
    each = f"each {hosts.machine.cpus} CPUs, {hosts.machine.memory_mib} MiB"
    each += f", {gpus.count} × {gpus.type}" + (" (simulated)" if gpus.simulated else "") if gpus else ""
    if partition is None:
        return f"{node_set.pool}: {nodes}, {each}"
    return f"{partition.name}{' (default)' if partition.default else ''}: {nodes}, {each}; at most {partition.max_time} a job"


def _checks(checks: Sequence[Mapping[str, Any]], *, are_new: bool) -> Iterator[str]:
    passed = [check for check in checks if check["verdict"] == PASSED and not are_new]
    if passed:
        yield f"  {counted(len(passed), 'checks')} passed when acceptance last ran; `clusterwright summary` shows them"
    yield from (f"  {_check(check)}" for check in checks if check not in passed)


def _check(check: Mapping[str, Any]) -> str:
    unit = f" {check['unit']}" if check.get("unit") else ""
    verdict = {PASSED: "ok", "reported": "measured, not judged"}.get(check["verdict"], check["verdict"])
    return f"{check['name']} ({check['node']}): {check['measured']}{unit}, {verdict}"
