"""Blueprint + target + facts to the concrete cluster. Pure: the same arguments always give the same spec.

What can't be resolved becomes a finding, and a stand-in takes its place in the spec, so that one run finds everything that is wrong.
"""

import dataclasses
import ipaddress
from collections.abc import Callable
from typing import TypeAlias

from . import addresses, catalog, display, facts, finding, model, rehearsal, spec, values
from .codes import Code

TARGETS = {"local": True, "aws": False, "gcp": False, "metal": False}
"""Targets of the vocabulary, and whether they are built."""
SCHEDULERS = {"slurm": True, "kubernetes": False, "both": False}

Where: TypeAlias = Callable[..., finding.Position | None]
"""Finds the place of a value by its path (`document.Document.where`)."""

_ERROR = finding.Level.ERROR


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """What resolving came to. With an error among the findings the spec holds stand-ins and is good for further checks only."""

    spec: spec.ClusterSpec
    findings: tuple[finding.Finding, ...]


def resolve(blueprint: model.Blueprint, *, target: str, stack: str, facts: facts.Facts) -> spec.ClusterSpec:
    """Resolve a blueprint for a target.

    Args:
        target: where the cluster will stand (`local`).
        stack: the stack's name; the default network is chosen by it.
        facts: what was looked up about the place.
    Raises:
        finding.Invalid: the target, the catalogue or the network can't give what the blueprint asks for. These findings have no positions; those of
            `load.load` have.
    """
    attempted = attempt(blueprint, target=target, stack=stack, facts=facts, where=lambda *_: None)
    if finding.is_fatal(attempted.findings):
        raise finding.Invalid(attempted.findings)
    return attempted.spec


def attempt(blueprint: model.Blueprint, *, target: str, stack: str, facts: facts.Facts, where: Where) -> Attempt:
    """Resolve as far as it goes: a spec in any case, and everything that is wrong with it."""
    findings: list[finding.Finding] = [*_target_findings(target), *_scheduler_findings(blueprint.scheduler, where)]
    software = _software(blueprint.software, where, findings)
    plan = _address_plan(blueprint, stack, where, findings)
    hosts = 1 + blueprint.access.login_nodes + _nodes(blueprint)
    machine = rehearsal.machine(facts, hosts=hosts)
    cluster = spec.ClusterSpec(
        version=spec.SPEC_VERSION,
        name=blueprint.name,
        description=blueprint.description,
        target=target,
        scheduler=blueprint.scheduler,
        software=software,
        network=spec.Network(str(plan.network), plan.gateway, plan.balancer, domain=f"{blueprint.name}.internal"),
        control=spec.HostGroup("control", "control", "control", 1, plan.control, machine),
        access=spec.HostGroup("access", "access", "login", blueprint.access.login_nodes, plan.access, machine),
        node_sets=_node_sets(blueprint, plan, machine, facts, where, findings),
        storage=tuple(spec.FileSystem(name, entry.kind, entry.mount, entry.protect, simulated=True) for name, entry in blueprint.storage.items()),
        database=spec.Database(placement="embedded", protect=blueprint.accounting.protect),
        accounts=tuple(spec.Account(name, entry.description, _members(blueprint, name)) for name, entry in blueprint.accounts.items()),
        users=tuple(spec.User(name, entry.uid, entry.account, entry.ssh_keys) for name, entry in blueprint.users.items()),
        simulated=(),
    )
    simulated = rehearsal.simulated(cluster, facts, database=blueprint.accounting.database)
    return Attempt(dataclasses.replace(cluster, simulated=simulated), tuple(findings))


def _target_findings(target: str) -> list[finding.Finding]:
    where = finding.Position("stack setting clusterwright:target", text=f"clusterwright:target: {target}")
    if target not in TARGETS:
        what = f"there is no target {display.quoted(target)}"
        why = "the target is the place where a stack's cluster stands; the stack setting clusterwright:target names it"
        return [finding.Finding(_ERROR, Code.TARGET_UNKNOWN, where, what, why, display.did_you_mean(target, TARGETS, allowed="targets"))]
    if not TARGETS[target]:
        what = f"the target `{target}` is not built yet"
        why = "it is planned; what is built so far is the target `local`"
        return [finding.Finding(_ERROR, Code.TARGET_NOT_BUILT, where, what, why, "set clusterwright:target to `local`")]
    return []


def _scheduler_findings(scheduler: str, where: Where) -> list[finding.Finding]:
    if SCHEDULERS[scheduler]:
        return []
    what = f"the scheduler `{scheduler}` is not built yet"
    why = "it is planned; what is built so far is `slurm`"
    return [finding.Finding(_ERROR, Code.SCHEDULER_NOT_BUILT, where("scheduler"), what, why, "write `scheduler: slurm`")]


def _software(name: str, where: Where, findings: list[finding.Finding]) -> spec.Software:
    known = catalog.software_names()
    if name in known:
        return catalog.software(name)
    what = f"there is no software profile {display.quoted(name)}"
    why = "a profile is one tested set of versions (blueprints/catalog/software)"
    remedy = display.did_you_mean(name, known, allowed="profiles")
    findings.append(finding.Finding(_ERROR, Code.SOFTWARE_UNKNOWN, where("software"), what, why, remedy))
    return catalog.software(known[0])


def _address_plan(blueprint: model.Blueprint, stack: str, where: Where, findings: list[finding.Finding]) -> addresses.Plan:
    nodes = _nodes(blueprint)
    prefix = addresses.prefix_for(nodes)
    if prefix is None:
        most = addresses.room_for_nodes(addresses.SHORTEST_PREFIX)
        what = f"{nodes} compute nodes are more than a network holds"
        why = f"the largest network of the address plan, a /{addresses.SHORTEST_PREFIX}, has room for {most}"
        findings.append(finding.Finding(_ERROR, Code.CLUSTER_TOO_LARGE, where("pools"), what, why, "ask for fewer nodes, or make several clusters"))
        prefix = addresses.SHORTEST_PREFIX
    default = addresses.default_network(stack, prefix)
    if blueprint.network.cidr is None:
        return addresses.Plan(default)
    given = ipaddress.IPv4Network(blueprint.network.cidr)
    faults = _network_findings(given, nodes, default, where("network", "cidr"))
    findings.extend(faults)
    return addresses.Plan(default if faults else given)


def _network_findings(given: ipaddress.IPv4Network, nodes: int, default: ipaddress.IPv4Network, where: finding.Position | None) -> list[finding.Finding]:
    instead = f"write for example `{default}`, or leave the key out"
    found = []
    if not addresses.is_private(given):
        why = "its addresses belong to others on the Internet, whom the hosts could then not reach"
        found.append(finding.Finding(_ERROR, Code.CIDR_NOT_PRIVATE, where, f"{given} is not a private network", why, instead))
    if not addresses.SHORTEST_PREFIX <= given.prefixlen <= addresses.LONGEST_PREFIX:
        what = f"a /{given.prefixlen} is no size for the hosts' network"
        why = f"the address plan works in a /{addresses.SHORTEST_PREFIX} to a /{addresses.LONGEST_PREFIX}"
        found.append(finding.Finding(_ERROR, Code.CIDR_SIZE, where, what, why, instead))
    elif nodes > addresses.room_for_nodes(given.prefixlen):
        needed = addresses.prefix_for(nodes, longest=addresses.LONGEST_PREFIX)
        what = f"{given} is too small for {nodes} compute nodes"
        why = f"beside the cluster's own hosts a /{given.prefixlen} has room for {addresses.room_for_nodes(given.prefixlen)}"
        if needed is not None:
            instead = f"these nodes need a /{needed}: {instead}"
        found.append(finding.Finding(_ERROR, Code.CIDR_TOO_SMALL, where, what, why, instead))
    return found


def _node_sets(
    blueprint: model.Blueprint,
    plan: addresses.Plan,
    machine: spec.Machine,
    facts: facts.Facts,
    where: Where,
    findings: list[finding.Finding],
) -> tuple[spec.NodeSet, ...]:
    """Resolve each pool to its node set; addresses follow the order of the blueprint."""
    default = default_partition(blueprint)
    node_sets = []
    nodes_before = 0
    for name, pool in blueprint.pools.items():
        gpus = _gpus(name, pool, where, findings)
        memory_mib = values.memory_mib(pool.memory) if pool.memory else None
        declared = rehearsal.declared(machine, facts, cpus=pool.cpus_per_node, memory_mib=memory_mib, gpus=gpus)
        hosts = spec.HostGroup(name, "compute", name, pool.nodes, plan.pool(nodes_before), declared)
        is_default = pool.partition.default is True or name == default
        partition = spec.Partition(name, is_default, pool.partition.max_time)
        node_sets.append(spec.NodeSet(name, partition, hosts, features=(gpus.type,) if gpus else ()))
        nodes_before += pool.nodes
    return tuple(node_sets)


def default_partition(blueprint: model.Blueprint) -> str | None:
    """Find the pool whose partition takes jobs that name none: the one that says so, else the first that doesn't say `default: false`."""
    asking = [name for name, pool in blueprint.pools.items() if pool.partition.default]
    silent = [name for name, pool in blueprint.pools.items() if pool.partition.default is None]
    return next(iter([*asking, *silent]), None)


def _gpus(name: str, pool: model.Pool, where: Where, findings: list[finding.Finding]) -> spec.Gpus | None:
    if pool.accelerator is None and pool.gpus_per_node is None:
        return None
    if pool.accelerator is None or pool.gpus_per_node is None:
        there, missing = ("gpus_per_node", "accelerator") if pool.accelerator is None else ("accelerator", "gpus_per_node")
        what = f"pools.{name} has `{there}` and no `{missing}`"
        why = "GPUs are asked for by type and number, so that neither changes when a catalogue does"
        findings.append(finding.Finding(_ERROR, Code.GPU_COUNT_MISSING, where("pools", name, there), what, why, f"write `{missing}: …`, or leave out both"))
        return None
    known = catalog.accelerators()
    entry = known.get(pool.accelerator)
    if entry is None:
        what = f"there is no accelerator {display.quoted(pool.accelerator)}"
        why = "accelerators are named in the catalogue (blueprints/catalog/accelerators.yaml)"
        remedy = display.did_you_mean(pool.accelerator, known, allowed="accelerators")
        findings.append(finding.Finding(_ERROR, Code.ACCELERATOR_UNKNOWN, where("pools", name, "accelerator"), what, why, remedy))
    elif pool.gpus_per_node not in entry.per_node:
        what = f"no known machine has {pool.gpus_per_node} {entry.name} GPUs"
        why = f"known are machines with {display.listed(entry.per_node)}; on the target `local` it works, as GPUs are simulated there"
        position = where("pools", name, "gpus_per_node")
        remedy = "choose one of these counts if the blueprint shall ever stand on real machines"
        findings.append(finding.Finding(finding.Level.WARNING, Code.GPU_COUNT_UNKNOWN, position, what, why, remedy))
    return spec.Gpus(pool.accelerator, pool.gpus_per_node, simulated=True)


def _nodes(blueprint: model.Blueprint) -> int:
    return sum(pool.nodes for pool in blueprint.pools.values())


def _members(blueprint: model.Blueprint, account: str) -> tuple[str, ...]:
    return tuple(name for name, user in blueprint.users.items() if user.account == account)
