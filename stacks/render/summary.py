"""The summary of a running stack: what it has, how to log in, what acceptance found, and what is simulated. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import spec
from components.finish import node_states
from components.finish.node_states import State
from components.inspection.recorded_cluster import Known

from .formatting import counted, kwok_nodes, moment, policy_enforcement, secondary_networks

PASSED, REPORTED = "pass", "reported"
"""The verdicts of a check that found what the spec expects, and of a figure that nothing judges."""


def lines(stack: str, known: Known, *, now: Sequence[State] | str, logins: Sequence[str], has_new_checks: bool = True) -> Iterator[str]:
    """Write the summary line by line; the last ones are what acceptance found, with its time, and the states of the nodes now.

    Args:
        now: the states of Slurm's nodes, or why Slurm does not answer.
        logins: the command that logs in, for each user.
        has_new_checks: acceptance ran just now; otherwise its passed checks are only counted.
    """
    cluster = known.cluster
    yield ""
    yield f"Cluster {cluster.name} is up{_but(now)} (stack {stack} on {cluster.target}, {cluster.software.profile} with {_schedulers(cluster)})"
    yield ""
    if cluster.access.count:
        yield "Log in"
        yield from (f"  {command}" for command in logins)
        yield ""
    if cluster.slurm and cluster.slurm.control and cluster.controllers > 1:
        first, second, *_ = cluster.slurm.control.hostnames
        yield "Controllers"
        yield f"  {first} is active, and {second} takes over when it fails; `scontrol ping` shows which of them respond"
        yield ""
    if cluster.kubernetes:
        yield "Kubernetes"
        yield from (f"  {line}" for line in _kubernetes(cluster.kubernetes))
        yield ""
        yield "Try"
        yield from (f"  {command}" for command in _commands(stack, cluster))
        yield ""
    for title, node_sets in _by_scheduler(cluster).items():
        yield title
        for node_set in node_sets:
            yield f"  {_node_set(node_set)}"
        yield ""
    if cluster.simulated:
        yield "Simulated"
        yield from (f"  {sentence}" for sentence in cluster.simulated)
        yield ""
    yield _checked(known)
    if why := outdated(known, now):
        yield f"  out of date: {why}; `clusterwright up` checks again"
    yield from _checks(known.acceptance, are_new=has_new_checks)
    if now:
        yield ""
        yield "Now"
        yield from (f"  {line}" for line in _now(now))


def _but(now: Sequence[State] | str) -> str:
    """Say beside "is up" what takes no jobs."""
    if isinstance(now, str):
        return ", but Slurm does not answer"
    every = {name for state in now for name in state.names}
    out = {name for state in now if not state.serves for name in state.names}
    return f", but {len(out)} of {counted(len(every), 'nodes')} {'takes' if len(out) == 1 else 'take'} no jobs" if out else ""


def _checked(known: Known) -> str:
    if known.accepted_at is None:
        return "Checked (by a version that recorded no time)" if known.acceptance else "Checked"
    took = "" if known.acceptance_s is None else f", in {known.acceptance_s:.0f} s"
    return f"Checked {moment(known.accepted_at)}{took}"


def outdated(known: Known, now: Sequence[State] | str) -> str:
    """Say why the result of the last acceptance no longer holds."""
    of_nodes = (known.outdated,) if isinstance(now, str) else node_states.contradictions(known.acceptance, now) if now else ()
    return "; ".join(dict.fromkeys(filter(None, (known.repaired, *of_nodes))))


def _now(now: Sequence[State] | str) -> Iterator[str]:
    if isinstance(now, str):
        yield f"Slurm does not answer: {now}"
        return
    for state in sorted(now, key=lambda one: one.serves):
        yield f"{state.nodes}: {state.described}"


def _schedulers(cluster: spec.ClusterSpec) -> str:
    """Name the schedulers with their versions; where a service runs one, the version can be unknown."""
    versions = {"slurm": cluster.software.slurm, "kubernetes": cluster.kubernetes.version if cluster.kubernetes else ""}
    return " and ".join(f"{name.capitalize()} {versions.get(name, '')}".strip() for name in cluster.schedulers)


def _kubernetes(kubernetes: spec.Kubernetes) -> Iterator[str]:
    where = f"https://{kubernetes.endpoint}" if kubernetes.endpoint else kubernetes.product
    hosts = f", on {kubernetes.control.hostlist}" if kubernetes.control else ""
    yield f"API server: {where}, version {kubernetes.version}{hosts}"
    if kubernetes.pod_cidr:
        yield f"Pods: {kubernetes.pod_cidr} by {kubernetes.pod_network}; services: {kubernetes.service_cidr}"
        yield f"Network policies: {policy_enforcement(kubernetes)}"
    if kubernetes.load_balancer_cidr:
        yield f"Load balancers: services of type LoadBalancer have addresses of {kubernetes.load_balancer_cidr}"
    if kubernetes.secondary_networks:
        yield f"Secondary networks: {secondary_networks(kubernetes)}"
    if kubernetes.kwok_nodes:
        yield f"Simulated nodes: {kwok_nodes(kubernetes)}"
    if kubernetes.addons:
        yield f"Add-ons: {', '.join(f'{one.name} {one.version}' for one in kubernetes.addons)}"


def _commands(stack: str, cluster: spec.ClusterSpec) -> Iterator[str]:
    """Give commands to try, as one types them."""
    yield f"clusterwright kubectl --stack {stack} -- get nodes"
    if user := next((one.name for one in cluster.users), ""):
        yield f"clusterwright kubeconfig --stack {stack} --user {user} --to {user}.kubeconfig"
    yield f"clusterwright submit --stack {stack} blueprints/jobs/ddp-training.yaml --print"


def _by_scheduler(cluster: spec.ClusterSpec) -> dict[str, tuple[spec.NodeSet, ...]]:
    """Put node sets below a title for each scheduler that has any."""
    found = {"Partitions": cluster.slurm.node_sets if cluster.slurm else (), "Kubernetes nodes": cluster.kubernetes.node_sets if cluster.kubernetes else ()}
    return {title: node_sets for title, node_sets in found.items() if node_sets}


def _node_set(node_set: spec.NodeSet) -> str:
    partition, hosts, gpus = node_set.partition, node_set.hosts, node_set.hosts.machine.gpus
    nodes = f"{hosts.count} node{'s' if hosts.count != 1 else ''} {hosts.members or hosts.hostname(0)}" + (
        f"…{hosts.count - 1}" if hosts.count > 1 and not hosts.members else ""
    )
    each = f"each {hosts.machine.cpus} CPUs, {hosts.machine.memory_mib} MiB"
    each += f", {gpus.count} × {gpus.type}" + (" (simulated)" if gpus.simulated else "") if gpus else ""
    if partition is None:
        return f"{node_set.pool}: {nodes}, {each}"
    return f"{partition.name}{' (default)' if partition.default else ''}: {nodes}, {each}; at most {partition.max_time} a job"


def _checks(checks: Sequence[Mapping[str, Any]], *, are_new: bool) -> Iterator[str]:
    known = [] if are_new else [check for check in checks if check["verdict"] in (PASSED, REPORTED)]
    if known:
        figures = sum(check["verdict"] == REPORTED for check in known)
        measured = f", and {counted(figures, 'figures')} {'was' if figures == 1 else 'were'} measured" if figures else ""
        yield f"  {counted(len(known) - figures, 'checks')} passed when acceptance last ran{measured}; `clusterwright summary` shows them"
    yield from (f"  {check_line(check)}" for check in checks if check not in known)


def check_line(check: Mapping[str, Any]) -> str:
    """Write one check of acceptance on a line."""
    unit = f" {check['unit']}" if check.get("unit") else ""
    verdict = {PASSED: "ok", REPORTED: "measured, not judged"}.get(check["verdict"], check["verdict"])
    why = f": {check['detail']}" if check.get("detail") and check["verdict"] != PASSED else ""
    return f"{check['name']} ({check['node']}): {check['measured']}{unit}, {verdict}{why}"
