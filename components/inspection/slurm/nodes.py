"""Nodes as the controller knows them, and what keeps them from running jobs. Pure."""

import re
from collections.abc import Iterator, Mapping

from blueprints import catalog, hostlist, rolling, spec
from blueprints.finding import Finding
from blueprints.finding.subject import ObjectKind, SchedulerObject
from blueprints.finding.values import Setting

from ..codes import Code
from ..finding import Unchecked, drift
from ..layer import Layer
from . import parse
from .parameters import RECONFIGURE

OUT_OF_USE = ("DRAIN", "FAIL")
NOT_THERE = ("DOWN", "ERROR", "UNKNOWN", "INVAL", "NOT_RESPONDING")
ASLEEP = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP"})
"""States of elastic nodes. A node that is powered down is no drift."""
CLOUD = "CLOUD"
"""State in slurm.conf of elastic nodes."""
OWN_REASON, NEEDS_SOMEBODY = "clusterwright:", "`clusterwright"
"""How the elastic program begins the reasons of what it does, and how it names the command that a person has to run (docs/elastic.md)."""
GUARD = "clusterwright: start guard: "
"""How a node's own reason begins that it lacks something and takes no jobs (playbooks/roles/guard)."""
HEALTH = "clusterwright: health: "
"""How the reason begins that an idle node gives when it lost something. The node returns itself to service when it has it again."""
WORTH_A_BRAKE = 4
"""Nodes of a partition: in a smaller one, the finding of its one drained node says enough."""
WHO = re.compile(r"(?P<reason>.*?)\s*\[(?P<who>[^@\]]+)@(?P<when>[^\]]+)\]$")
FIELDS = {"Sockets": "", "CoresPerSocket": "", "ThreadsPerCore": "", "RealMemory": "", "Gres": "", "Feature": "", "Weight": "1"}
"""Fields that are compared, and their values where slurm.conf names none."""
CAN_BE_EMPTY = ("Gres", "Feature")
LIVE_NAMES = {"Feature": "AvailableFeatures"}
"""What scontrol calls a field of slurm.conf."""


def findings(conf: parse.Conf, live: Mapping[str, Mapping[str, str]], target: str) -> Iterator[Finding]:
    """Compare the nodes of slurm.conf with those of the controller.

    Args:
        target: of the cluster: what repairs a node depends on it.
    """
    for name in sorted({*conf.nodes, *live}):
        if name not in live and conf.nodes[name].get("State", "").upper() == CLOUD:
            continue  # the controller does not show nodes that are powered down (slurm.conf(5), PrivateData)
        if name not in live:
            what = "the scheduler does not know the node"
            yield drift(Code.NODE_MISSING, _node(name), what, remedy=RECONFIGURE, desired="known", recorded="known")
        elif name not in conf.nodes:
            what = "the scheduler knows a node that the blueprint does not have"
            remedy = f"`scontrol delete nodename={name}` if nobody needs it; add it to a pool of the blueprint if somebody does"
            yield drift(Code.NODE_ADDED, _node(name), what, remedy=remedy, actual=live[name].get("State"))
        else:
            yield from _fields(name, conf.nodes[name], live[name])
            yield from _state(name, live[name], target)


def brakes(cluster: spec.ClusterSpec, live: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Find partitions in which so many nodes drained themselves that no further one does: nodes that lack something go on with jobs there."""
    of_partition: dict[str, list[spec.NodeSet]] = {}
    for node_set, partition in cluster.slurm_node_sets:
        of_partition.setdefault(partition.name, []).append(node_set)
    for name, node_sets in of_partition.items():
        alike = [node for node, fields in live.items() if name in fields.get("Partitions", "").split(",")]
        drained = sorted(node for node in alike if live[node].get("Reason", "").startswith(HEALTH))
        most = min(rolling.at_once(one.health_brake or rolling.HEALTH_BRAKE, len(alike)) for one in node_sets)
        if len(alike) >= WORTH_A_BRAKE and len(drained) >= most:
            what = f"{len(drained)} of {len(alike)} nodes are drained by their checks ({hostlist.compress(drained)}): a further node that lacks something goes on with jobs"
            remedy = "`sinfo -R` shows the reasons: what many nodes lack at once is rarely a fault of each. `health.brake` of the pool is the limit"
            subject = SchedulerObject(ObjectKind.PARTITION, name)
            yield drift(Code.BRAKE_REACHED, subject, what, remedy=remedy, desired=f"fewer than {most}", actual=str(len(drained)))


def kept_out(nodes: Mapping[str, Mapping[str, str]]) -> Iterator[Unchecked]:
    """Name the nodes that the elastic program keeps out for a while."""
    for name, live in sorted(nodes.items()):
        states = states_of(live.get("State", ""))
        if not states & ASLEEP and _is_own(live) and any(state.startswith((*OUT_OF_USE, *NOT_THERE)) for state in states):
            matched = WHO.match(live["Reason"])
            why = (matched["reason"] if matched else live["Reason"]).removeprefix(OWN_REASON).strip()
            yield Unchecked(Layer.SCHEDULER, f"node {name}", f"the elastic program keeps it out: {why}")


def states_of(text: str) -> frozenset[str]:
    """Read a node's state as scontrol writes it (`IDLE+CLOUD+POWERED_DOWN`, `MIXED#`)."""
    return frozenset(re.split(r"[+*~#!%$@^-]+", text))


def _node(name: str, field: str = "") -> SchedulerObject:
    return SchedulerObject(ObjectKind.NODE, name, field)


def _fields(name: str, configured: Mapping[str, str], live: Mapping[str, str]) -> Iterator[Finding]:
    for field, default in FIELDS.items():
        value, actual = configured.get(field, default), live.get(LIVE_NAMES.get(field, field))
        if actual is None or (not value and field not in CAN_BE_EMPTY):
            continue
        if not parse.same(field, value, re.sub(r"\(S:[^)]*\)", "", actual)):
            wanted = Setting(value) if value else None
            what = f"the node's {field} is not as configured"
            yield drift(Code.NODE_CHANGED, _node(name, field), what, remedy=RECONFIGURE, desired=wanted, recorded=wanted, actual=actual)


def _state(name: str, live: Mapping[str, str], target: str) -> Iterator[Finding]:
    states = states_of(live.get("State", ""))
    if states & ASLEEP or _is_own(live):
        return
    matched = WHO.match(live.get("Reason", ""))
    reason = matched["reason"] if matched else live.get("Reason", "")
    by = f" by {matched['who']} at {matched['when']}" if matched else ""
    because = f" ({reason})" if reason else ""
    if reason.startswith(GUARD):
        code, state = Code.NODE_DOWN, "start guard"
        what = f"the node takes no jobs, since it found less than it should have: {reason.removeprefix(GUARD)}"
        remedy = f"repair or replace the host; `systemctl restart clusterwright-guard slurmd` on {name} checks it again"
    elif reason.startswith(HEALTH):
        code, state = Code.NODE_DRAINED, "health check"
        what = f"the node takes no jobs, since it lost something between jobs: {reason.removeprefix(HEALTH)}"
        steps = "; ".join(one.by_hand(target, name) for one in catalog.wanted_repairs(reason)) or "repair or replace the host"
        remedy = f"{steps}; the node returns to service by itself when its next check finds it complete"
    elif any(one.startswith(OUT_OF_USE) for one in states):
        code, state = Code.NODE_DRAINED, "drained"
        what = f"the node takes no jobs: it was drained{by}{because}"
        remedy = f"when the reason is gone: `scontrol update nodename={name} state=resume`"
    elif any(one.startswith(NOT_THERE) for one in states):
        code, state = Code.NODE_DOWN, "down"
        what = f"the node is down{by}{because}"
        remedy = f"`journalctl -u slurmd` on {name} shows the reason; `clusterwright up` starts or rebuilds the host"
    else:
        return
    yield drift(code, _node(name, state), what, remedy=remedy, desired="in use", recorded="in use", actual=live["State"])


def _is_own(live: Mapping[str, str]) -> bool:
    """Say whether the elastic program keeps a node out for a while, and returns it to use by itself."""
    reason = live.get("Reason", "")
    return reason.startswith(OWN_REASON) and not reason.startswith((GUARD, HEALTH)) and NEEDS_SOMEBODY not in reason
