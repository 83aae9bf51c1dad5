"""The scheduler layer: what was configured against what Slurm's daemons say now. Pure.

What was configured is the slurm.conf that the roles wrote (kept by the controller's host, not the file as it is now); accounts, users and QOS are the blueprint's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import hostlist
from components import registry

from ..codes import Code
from ..report import Drift, Layer, Unchecked, drift
from . import accounting, parse

CONF = "/etc/slurm/slurm.conf"
TOPOLOGY_CONF = "/etc/slurm/topology.conf"
RECONFIGURE = "`scontrol reconfigure` on the controller reads slurm.conf again; `clusterwright up` writes it again where it was changed"
OUT_OF_USE = ("DRAIN", "FAIL")
NOT_THERE = ("DOWN", "ERROR", "UNKNOWN", "INVAL", "NOT_RESPONDING")
ASLEEP = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP"})
"""States of nodes that come and go with the work; a powered-down node is no drift."""
CLOUD = "CLOUD"
"""State in slurm.conf of nodes that come and go."""
OWN_REASON, NEEDS_SOMEBODY = "clusterwright:", "`clusterwright"
"""How the elastic program begins the reasons of what it does, and how it names the command that a person has to run (docs/elastic.md)."""
GUARD = "clusterwright: start guard: "
"""How a node's own word begins that it lacks something and takes no jobs (playbooks/roles/guard)."""
OWN_RESERVATIONS = "clusterwright-lease-"
"""With which the elastic program keeps jobs off nodes whose capacity ends."""
PINGED = re.compile(r"^Slurmctld\(\S+\) at (\S+) is DOWN", re.MULTILINE)
WHO = re.compile(r"(?P<reason>.*?)\s*\[(?P<who>[^@\]]+)@(?P<when>[^\]]+)\]$")


def findings(answers: Mapping[str, Mapping[str, str]], configuration: Mapping[str, str], spec: Mapping[str, Any]) -> tuple[list[Drift], list[Unchecked]]:
    """Compare what was configured with what the daemons answered.

    Args:
        answers: as the module `scheduler_facts` gives them: question → `text`, or `error`.
        configuration: path → text of what the roles wrote.
    """
    if reason := _silence(answers):
        return [_silent("slurmctld", reason)], [Unchecked(Layer.SCHEDULER, "configuration, nodes, partitions, accounts", "slurmctld does not answer")]
    found: list[Drift] = [*_waiting(answers["ping"]["text"])]
    unchecked: list[Unchecked] = []
    if CONF in configuration:
        conf = parse.parse_conf(configuration[CONF])
        found += _config(conf, parse.parse_config(answers["config"].get("text", "")))
        nodes = parse.parse_records(answers["nodes"].get("text", ""), "NodeName")
        found += _nodes(conf, nodes)
        unchecked += _kept_out(nodes)
        found += _partitions(conf, parse.parse_records(answers["partitions"].get("text", ""), "PartitionName"))
    else:
        unchecked.append(
            Unchecked(Layer.SCHEDULER, "configuration, nodes, partitions", "the controller's host has no record of the slurm.conf that was written")
        )
    found += _topology(configuration.get(TOPOLOGY_CONF, ""), answers.get("topology", {}).get("text", ""))
    reserved = parse.parse_records(answers["reservations"].get("text", ""), "ReservationName")
    found += _reservations(reserved)
    if "text" in answers["reservations"]:
        found += _leases(spec, reserved)
    errors = [answers[name]["error"] for name in ("associations", "accounts", "users", "qos") if "error" in answers[name]]
    if errors:
        found.append(_silent("slurmdbd", errors[0]))
        unchecked.append(Unchecked(Layer.SCHEDULER, "accounts, users and QOS", "slurmdbd does not answer"))
    else:
        found += accounting.findings(answers, spec)
    return found, unchecked


def _silence(answers: Mapping[str, Mapping[str, str]]) -> str:
    """Say why nothing of the controller can be compared; empty when it can."""
    ping = answers["ping"]
    if "error" in ping:
        return ping["error"]
    if " is UP" not in ping["text"]:
        return ping["text"].strip()
    return next((answers[name]["error"] for name in ("config", "nodes", "partitions") if "error" in answers[name]), "")


def _waiting(ping: str) -> Iterator[Drift]:
    """Find, of two controllers, the one that doesn't answer while the other one does."""
    for host in PINGED.findall(ping):
        yield _silent(f"slurmctld of {host}", "no answer; nobody would take over from the other one")


def taken_over(spec: Mapping[str, Any], serving: Sequence[str]) -> Iterator[Unchecked]:
    """Say that the second of two controllers serves; it is what it is there for, and no drift."""
    first, *others = daemons_of(spec) or ("",)
    if serving and first not in serving and set(serving) <= set(others):
        why = (
            f"{', '.join(serving)} serves in the place of {first}, which serves again as soon as its slurmctld runs; that is what it is there for, and no drift"
        )
        yield Unchecked(Layer.SCHEDULER, "which controller serves", why)


def _silent(daemon: str, reason: str) -> Drift:
    unit = daemon.partition(" ")[0]
    return drift(
        Layer.SCHEDULER,
        Code.SCHEDULER_SILENT,
        daemon,
        f"{daemon} does not answer",
        remedy=f"`journalctl -u {unit}` on the controller says why; `systemctl restart {unit}` or `clusterwright up` starts it",
        desired="answers",
        recorded="answers",
        actual=" ".join(reason.split()),
    )


def _config(conf: parse.Conf, live: Mapping[str, str]) -> Iterator[Drift]:
    configured = {**parse.RUNTIME_DEFAULTS, **{name: value for name, value in conf.parameters.items() if name not in parse.NOT_SHOWN}}
    names = {name.casefold(): name for name in live}
    for name, value in sorted(configured.items()):
        actual = live.get(names.get(name.casefold(), name))
        if actual is not None and not parse.same(name, value, actual):
            yield drift(
                Layer.SCHEDULER,
                Code.CONFIG_VALUE,
                f"slurmctld: {name}",
                "the controller runs with another value than was configured",
                remedy=RECONFIGURE,
                desired=value,
                recorded=value,
                actual=actual,
            )


def _nodes(conf: parse.Conf, live: Mapping[str, Mapping[str, str]]) -> Iterator[Drift]:
    for name in sorted({*conf.nodes, *live}):
        where = f"node {name}"
        if name not in live and conf.nodes[name].get("State", "").upper() == CLOUD:
            continue  # one that is powered down isn't shown (slurm.conf(5), PrivateData)
        if name not in live:
            what = "the scheduler doesn't know the node"
            yield drift(Layer.SCHEDULER, Code.NODE_MISSING, where, what, remedy=RECONFIGURE, desired="known", recorded="known")
        elif name not in conf.nodes:
            remedy = f"`scontrol delete nodename={name}` if nobody needs it; add it to a pool of the blueprint if somebody does"
            yield drift(
                Layer.SCHEDULER, Code.NODE_ADDED, where, "the scheduler knows a node that the blueprint doesn't", remedy=remedy, actual=live[name].get("State")
            )
        else:
            yield from _node_fields(where, conf.nodes[name], live[name])
            yield from _node_state(name, live[name])


def _node_fields(where: str, configured: Mapping[str, str], live: Mapping[str, str]) -> Iterator[Drift]:
    for field, default in parse.NODE_FIELDS.items():
        wanted, actual = configured.get(field, default), live.get(parse.LIVE_NAMES.get(field, field))
        if actual is None or (not wanted and field not in ("Gres", "Feature")):
            continue
        if not parse.same(field, wanted, re.sub(r"\(S:[^)]*\)", "", actual)):
            yield drift(
                Layer.SCHEDULER,
                Code.NODE_CHANGED,
                f"{where}: {field}",
                f"the node's {field} is not as configured",
                remedy=RECONFIGURE,
                desired=wanted or None,
                recorded=wanted or None,
                actual=actual,
            )


def _node_state(name: str, live: Mapping[str, str]) -> Iterator[Drift]:
    states = states_of(live.get("State", ""))
    if states & ASLEEP:
        return
    if _is_own(live):
        return
    matched = WHO.match(live.get("Reason", ""))
    reason = matched["reason"] if matched else live.get("Reason", "")
    by = f" by {matched['who']} at {matched['when']}" if matched else ""
    if reason.startswith(GUARD):
        remedy = f"mend or replace the host; `systemctl restart clusterwright-guard slurmd` on {name} counts again"
        what = f"the node takes no jobs, since it found less than it should have: {reason.removeprefix(GUARD)}"
        yield drift(
            Layer.SCHEDULER, Code.NODE_DOWN, f"node {name}: start guard", what, remedy=remedy, desired="in use", recorded="in use", actual=live["State"]
        )
    elif any(state.startswith(OUT_OF_USE) for state in states):
        remedy = f"when the reason is gone: `scontrol update nodename={name} state=resume`"
        what = f"the node takes no jobs: it was drained{by}" + (f" ({reason})" if reason else "")
        yield drift(Layer.SCHEDULER, Code.NODE_DRAINED, f"node {name}: drained", what, remedy=remedy, desired="in use", recorded="in use", actual=live["State"])
    elif any(state.startswith(NOT_THERE) for state in states):
        remedy = f"look at slurmd on {name} (`journalctl -u slurmd`); `clusterwright up` starts or rebuilds the host"
        what = f"the node is down{by}" + (f" ({reason})" if reason else "")
        yield drift(Layer.SCHEDULER, Code.NODE_DOWN, f"node {name}: down", what, remedy=remedy, desired="in use", recorded="in use", actual=live["State"])


def _is_own(live: Mapping[str, str]) -> bool:
    """Say whether the elastic program keeps a node out for a while, and brings it back by itself."""
    reason = live.get("Reason", "")
    return reason.startswith(OWN_REASON) and not reason.startswith(GUARD) and NEEDS_SOMEBODY not in reason


def _kept_out(nodes: Mapping[str, Mapping[str, str]]) -> Iterator[Unchecked]:
    for name, live in sorted(nodes.items()):
        states = states_of(live.get("State", ""))
        if not states & ASLEEP and _is_own(live) and any(state.startswith((*OUT_OF_USE, *NOT_THERE)) for state in states):
            matched = WHO.match(live["Reason"])
            why = (matched["reason"] if matched else live["Reason"]).removeprefix(OWN_REASON).strip()
            yield Unchecked(Layer.SCHEDULER, f"node {name}", f"the elastic program keeps it out: {why}")


def states_of(text: str) -> frozenset[str]:
    """Read a node's state as scontrol writes it (`IDLE+CLOUD+POWERED_DOWN`, `MIXED#`)."""
    return frozenset(re.split(r"[+*~#!%$@^-]+", text))


def _partitions(conf: parse.Conf, live: Mapping[str, Mapping[str, str]]) -> Iterator[Drift]:
    for name in sorted({*conf.partitions, *live}):
        where = f"partition {name}"
        if name not in live:
            what = "the partition is gone"
            yield drift(Layer.SCHEDULER, Code.PARTITION_MISSING, where, what, remedy=RECONFIGURE, desired="there", recorded="there")
        elif name not in conf.partitions:
            remedy = f"`scontrol delete partition={name}`, or add a pool to the blueprint"
            actual = f"nodes {live[name].get('Nodes', '')}"
            yield drift(Layer.SCHEDULER, Code.PARTITION_ADDED, where, "the partition was added by hand", remedy=remedy, actual=actual)
        else:
            yield from _partition_fields(where, conf.partitions[name], live[name])


def _partition_fields(where: str, configured: Mapping[str, str], live: Mapping[str, str]) -> Iterator[Drift]:
    defaults = {field: value for field, value in parse.PARTITION_DEFAULTS.items() if field not in parse.FOLLOWS_CONFIG}
    for field, wanted in {**defaults, **configured}.items():
        actual = live.get(field)
        if actual is None:
            continue
        equal = sorted(hostlist.expand(wanted)) == sorted(hostlist.expand(actual)) if field == "Nodes" else parse.same(field, wanted, actual)
        if not equal:
            yield drift(
                Layer.SCHEDULER,
                Code.PARTITION_CHANGED,
                f"{where}: {field}",
                f"{field} of the partition is not as configured",
                remedy=RECONFIGURE,
                desired=wanted,
                recorded=wanted,
                actual=actual,
            )


def _topology(configured: str, answer: str) -> Iterator[Drift]:
    """Compare switches (or blocks) with topology.conf(5); without one, the controller is to know none."""
    for kind in ("Switch", "Block"):
        wanted, live = (parse.parse_records(text, f"{kind}Name") for text in (configured, answer))
        for name in sorted({*wanted, *live}):
            sides = [_members(records.get(name)) for records in (wanted, live)]
            if sides[0] != sides[1]:
                what = (
                    f"the {kind.lower()} is gone"
                    if name not in live
                    else f"the {kind.lower()} has other members"
                    if name in wanted
                    else f"the {kind.lower()} was added"
                )
                yield drift(
                    Layer.SCHEDULER, Code.TOPOLOGY, f"{kind.lower()} {name}", f"{what}: jobs are placed by it", remedy=RECONFIGURE, desired=sides[0], recorded=sides[0], actual=sides[1]
                )  # fmt: skip


def _members(fields: Mapping[str, str] | None) -> str | None:
    """Write who is connected to a switch: nodes, or other switches."""
    if fields is None:
        return None
    switches = fields.get("Switches", "")
    named = switches if switches not in ("", "(null)") else fields.get("Nodes", "")
    return ", ".join(sorted(hostlist.expand(named)))


def _reservations(live: Mapping[str, Mapping[str, str]]) -> Iterator[Drift]:
    for name, fields in sorted(live.items()):
        if name.startswith(OWN_RESERVATIONS):
            continue
        what = f"a reservation keeps {fields.get('Nodes', 'nodes')} from ordinary jobs until {fields.get('EndTime', 'it is deleted')}"
        remedy = f"`scontrol delete reservation={name}` when it is over"
        yield drift(Layer.SCHEDULER, Code.RESERVATION, f"reservation {name}", what, remedy=remedy, actual=fields.get("Users") or fields.get("Accounts"))


def _leases(spec: Mapping[str, Any], live: Mapping[str, Mapping[str, str]]) -> Iterator[Drift]:
    """Find blocks of capacity whose end no reservation keeps free; the elastic program makes one with its first look."""
    target = registry.discovery(spec["target"])
    if target is None or not target.leases_end:
        return
    for node_set in spec["node_sets"]:
        name = f"{OWN_RESERVATIONS}{node_set['hosts']['name']}"
        is_leased = node_set["capacity"]["kind"] == "block" and node_set["capacity"].get("id") and node_set["hosts"]["count"]
        if is_leased and node_set["partition"] and name not in live:
            what = f"jobs may start that outlive the capacity {node_set['capacity']['id']}, and end with it: Slurm has no reservation {name}"
            remedy = "`journalctl -t clusterwright-elastic` on the controller says why it could not be made"
            yield drift(Layer.SCHEDULER, Code.LEASE_UNRESERVED, f"reservation {name}", what, remedy=remedy, desired="from the end of the capacity on")


def daemons_of(spec: Mapping[str, Any]) -> Sequence[str]:
    """Name the hosts that Slurm's controllers run on; empty where the cloud runs Slurm or nothing does."""
    control = spec["control"]
    return [f"{control['prefix']}-{number}" for number in range(int(control["count"]))]
