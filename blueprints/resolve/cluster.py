"""Resolve the whole cluster from its parts; each part has a module of its own."""

import dataclasses
from collections.abc import Sequence

from .. import addresses, catalog, finding, inventory, language, message_text, spec
from ..codes import Code
from ..facts import Facts
from . import control, counts, network, people, place, pools, processors, rehearsal, site, software, storage, subnets, training
from . import kubernetes as kubernetes_parts
from .context import Context, Where


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """Result of resolving. If the findings contain an error, the spec has placeholders and serves further checks only."""

    spec: spec.ClusterSpec
    findings: tuple[finding.Finding, ...]


def resolve(blueprint: language.Blueprint, *, target: str, stack: str, facts: Facts) -> spec.ClusterSpec:
    """Resolve a blueprint for a target.

    Args:
        target: where to provision the cluster (`aws`, `gcp`, `metal`, `local`).
        stack: the stack's name; it selects the default network.
        facts: facts about this machine.
    Raises:
        finding.Invalid: the target, the catalogue or the network can't give what the blueprint asks for. These findings have no positions; those of
            `load.load` have.
    """
    attempted = attempt(blueprint, target=target, stack=stack, facts=facts, where=lambda *_: None)
    if finding.is_fatal(attempted.findings):
        raise finding.Invalid(attempted.findings)
    return attempted.spec


def attempt(blueprint: language.Blueprint, *, target: str, stack: str, facts: Facts, where: Where, outside: inventory.Outside | None = None) -> Attempt:
    """Resolve a blueprint and collect all findings; return a spec even if the blueprint has errors.

    Args:
        outside: what was read beside the blueprint.

    A scheduler that supports `plan` only is a note (`SCHEDULER_NOT_BUILT`).
    """
    unknown = _unknown_target(target)
    known = catalog.target(catalog.machine_target() if unknown else target)
    architecture = processors.architecture(blueprint, known)
    context = Context(blueprint, known, place.region(blueprint, known), architecture, stack, facts, where, outside or inventory.Outside(), findings=unknown)
    _check_built(context)
    place.check(context)
    rehearsal.check_memory(context)
    site.check_counts(context)
    cluster = dataclasses.replace(_placed(context, _unplaced(context)), target=target)
    return Attempt(cluster, tuple(dict.fromkeys(context.findings)))


def _unplaced(context: Context) -> spec.ClusterSpec:
    """Resolve everything except the network and addresses."""
    blueprint = context.blueprint
    node_sets = pools.resolve(context)
    service = training.resolve(context, node_sets)
    if counts.TRAINING in counts.schedulers(context):
        node_sets, chosen = service.node_sets if service else (), software.NONE
    else:
        chosen = software.resolve(context, node_sets)
    slurm = control.slurm(context, node_sets)
    return spec.ClusterSpec(
        version=spec.SPEC_VERSION,
        name=blueprint.name,
        description=blueprint.description,
        target=context.target.name,
        software=chosen,
        network=spec.Network("", "", "", domain=""),
        access=control.access(context),
        storage=training.mounted(service, storage.over_fabric(storage.resolve(context), node_sets, target=context.target.name, profile=chosen.profile)),
        accounts=() if service else people.accounts(blueprint),
        users=() if service else people.users(blueprint, has_os_login=blueprint.access.os_login and bool(context.target.os_login)),
        simulated=software.simulated(chosen),
        slurm=slurm,
        kubernetes=control.kubernetes(context, node_sets, chosen),
        training=service,
        login=_login(blueprint.access, context.target),
        maintenance=() if service else tuple(spec.Window(one.weekday, one.start, one.hours, one.week) for one in blueprint.maintenance),
        monitoring=spec.Monitoring() if service else _monitoring(blueprint.monitoring),
        acceptance=() if service else blueprint.acceptance.gate,
        tags=tuple(blueprint.tags.items()),
    )


def _monitoring(asked: language.Monitoring) -> spec.Monitoring:
    return spec.Monitoring(asked.metrics, asked.retention_days, asked.dashboards, asked.alert_webhook or "")


def _check_built(context: Context) -> None:
    """Note schedulers that support `plan` only."""
    target, built = context.target, context.target.built_schedulers
    if context.blueprint.scheduler == counts.TRAINING:
        training.check_built(context)
    elif any(one not in built for one in counts.schedulers(context)):
        there = message_text.listed(f"`{one}`" for one in built)
        what = f"this version can't provision the scheduler `{context.blueprint.scheduler}` on {target.title}: you can plan the cluster but not provision it"
        why = f"it can provision {there} there"
        context.note(Code.SCHEDULER_NOT_BUILT, "scheduler", what=what, why=why, remedy=f"write `scheduler: {built[0]}` to provision the cluster")
    if context.is_cloud and counts.SLURM in counts.schedulers(context) and counts.slurm_offering(context).name not in target.built:
        what = f"this version can't provision {counts.slurm_offering(context).title} on {target.title}: you can plan the cluster but not provision it"
        why = "it installs Slurm on hosts of the cluster"
        context.note(Code.SCHEDULER_NOT_BUILT, "control", "managed", what=what, why=why, remedy="remove `managed`")
    offered = target.built.get(counts.kubernetes_offering(context).name)
    most = offered.kubernetes_control_max if offered else 0
    if counts.kubernetes_hosts(context) > most > 0:
        what = f"this version can't provision a control plane of {counts.kubernetes_hosts(context)} hosts on {target.title}: you can plan the cluster but not provision it"
        why = f"it provisions {'one host' if most == 1 else f'at most {most} hosts'} for the control plane there"
        asked = "hosts" if context.blueprint.control.hosts else "highly_available"
        remedy = "remove `highly_available`" if asked == "highly_available" else "name one host" if most == 1 else f"name {most} hosts"
        context.note(Code.SCHEDULER_NOT_BUILT, "control", asked, what=what, why=why, remedy=remedy)


def _unknown_target(target: str) -> list[finding.Finding]:
    if target in catalog.target_names():
        return []
    where = finding.Position("stack setting clusterwright:target", text=f"clusterwright:target: {target}")
    what = f"the target {message_text.quoted(target)} does not exist"
    why = "the target is where a stack's cluster runs; the stack setting clusterwright:target names it"
    remedy = message_text.did_you_mean(target, catalog.target_names(), allowed="targets")
    return [finding.Finding(finding.Level.ERROR, Code.TARGET_UNKNOWN, where, what, why, remedy)]


def _placed(context: Context, cluster: spec.ClusterSpec) -> spec.ClusterSpec:
    """Add the network, and the parts that depend on it."""
    if context.is_rehearsal:
        plan = network.local_plan(context)
        addressed = _addressed(cluster, plan)
        simulated = rehearsal.simulated(addressed, context.facts, context.blueprint)
        return dataclasses.replace(addressed, network=network.local(context, plan), simulated=simulated)
    if cluster.training:
        return training.placed(context, cluster)
    own_hosts = cluster.access.count + cluster.controllers + counts.kubernetes_hosts(context)
    if not context.is_cloud:
        known = site.site(context, cluster)
        its_network = dataclasses.replace(network.site(context, own_hosts), balancer_address=site.balancer(context, cluster, known))
        return dataclasses.replace(cluster, network=its_network, site=known, kubernetes=_answering(cluster.kubernetes, known))
    chosen = subnets.divided(context, cluster, own_hosts=own_hosts)
    return dataclasses.replace(cluster, network=chosen, services=control.services(context, cluster, chosen))


def _addressed(cluster: spec.ClusterSpec, plan: addresses.Plan) -> spec.ClusterSpec:
    """Assign an address to every host on this machine, in the order of the blueprint's pools."""
    slurm, kubernetes, nodes_before = cluster.slurm, cluster.kubernetes, 0
    if slurm:
        node_sets = _pools_at(slurm.node_sets, plan, nodes_before)
        slurm = dataclasses.replace(slurm, control=_at(slurm.control, plan.control), node_sets=node_sets)
    if kubernetes:
        if slurm:
            nodes_before = plan.before_kubernetes(slurm_nodes=_nodes(slurm.node_sets), kubernetes_nodes=_nodes(kubernetes.node_sets))
        node_sets = _pools_at(kubernetes.node_sets, plan, nodes_before)
        endpoint = kubernetes_parts.placed(kubernetes, first=plan.kubernetes, shared=plan.endpoint)
        kubernetes = dataclasses.replace(kubernetes, control=_at(kubernetes.control, plan.kubernetes), node_sets=node_sets, endpoint=endpoint)
    access = dataclasses.replace(cluster.access, first_address=plan.access)
    return dataclasses.replace(cluster, access=access, slurm=slurm, kubernetes=kubernetes)


def _answering(kubernetes: spec.Kubernetes | None, known: spec.Site | None) -> spec.Kubernetes | None:
    """Add the address of the API server on hosts that exist already: the only host's own, or the one that several share."""
    if kubernetes is None or kubernetes.control is None or known is None:
        return kubernetes
    name = kubernetes.control.hostname(0)
    host = known.by_name.get(name)
    first = host.address if host else ""
    endpoint = kubernetes_parts.placed(kubernetes, first=first, shared=known.address)
    return dataclasses.replace(kubernetes, endpoint=endpoint, secondary_networks=kubernetes_parts.as_known(kubernetes.secondary_networks, known))


def _pools_at(node_sets: Sequence[spec.NodeSet], plan: addresses.Plan, nodes_before: int) -> tuple[spec.NodeSet, ...]:
    found = []
    for node_set in node_sets:
        found.append(dataclasses.replace(node_set, hosts=dataclasses.replace(node_set.hosts, first_address=plan.pool(nodes_before))))
        nodes_before += node_set.hosts.count
    return tuple(found)


def _nodes(node_sets: Sequence[spec.NodeSet]) -> int:
    return sum(one.hosts.count for one in node_sets)


def _at(group: spec.HostGroup | None, first_address: str) -> spec.HostGroup | None:
    return dataclasses.replace(group, first_address=first_address) if group else None


def _login(access: language.Access, target: catalog.Target) -> spec.Login:
    directory, tunnel = access.ldap, access.tunnel and target.tunnel is not None
    return spec.Login(
        load_balancer=access.load_balancer and not tunnel,
        allowed_cidrs=access.allowed_cidrs,
        ldap_uri=directory.uri if directory else None,
        ldap_base=directory.base if directory else None,
        rest_api=access.rest_api,
        tunnel=tunnel,
        os_login=access.os_login and bool(target.os_login),
    )
