"""Kubernetes on hosts: the addresses inside the cluster, versions that don't fit, and quotas of accounts."""

import ipaddress
import itertools
from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document, Path
from . import addons, lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_KUEUE, _ENFORCER = "kueue", spec.POLICY_ENFORCER
_FEWEST_SERVICES = 20
"""The longest prefix of services that kubeadm takes is that of at least 10 addresses; these leave room for add-ons."""
_SLURMS_OWN_ACCOUNT = "root"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find what can't work in a Kubernetes cluster."""
    kubernetes = cluster.kubernetes
    if kubernetes is None:
        if blueprint.kubernetes != language.Kubernetes() and blueprint.scheduler != "training":
            what, why = "the blueprint describes Kubernetes, and only Slurm schedules", "without Kubernetes these settings have no effect"
            remedy = "remove `kubernetes`, or write `scheduler: kubernetes` or `scheduler: both`"
            yield finding.Finding(_WARNING, Code.KUBERNETES_ONLY, source.where_key("kubernetes"), what, why, remedy)
        return
    yield from addons.check(cluster, kubernetes, source)
    yield from _versions(cluster, kubernetes, source)
    yield from _quotas(cluster, kubernetes, blueprint, source)
    yield from _without_queue(kubernetes, blueprint, source)
    yield from _not_enforced(cluster, kubernetes, source)
    yield from _without_metrics(cluster, source)
    yield from _overlaps(cluster, kubernetes, blueprint.kubernetes, source)
    if kubernetes.pod_cidr:
        yield from _sizes(kubernetes, source)


def _versions(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    """Find a container runtime or add-ons that the version of Kubernetes doesn't run with."""
    at = source.where("kubernetes", "version")
    known, runtime = catalog.kubernetes_versions().get(kubernetes.version), catalog.containerd(cluster.software.os)
    if kubernetes.control is not None and known is not None and runtime and _numbers(runtime) < _numbers(known.containerd_min):
        what = f"Kubernetes {kubernetes.version} doesn't fit the software profile `{cluster.software.profile}`, which has containerd {runtime}"
        why = f"this version has run with containerd {known.containerd_min} or later"
        target = lookup.target_of(cluster)
        built = target.built.get(kubernetes.run_by) if target else None
        remedy = f"write `software: {built.software[0]}`" if built else "choose a software profile with a later containerd"
        yield finding.Finding(_ERROR, Code.SOFTWARE_CONFLICT, source.where("software"), what, why, remedy)
    for one in kubernetes.addons:
        least = catalog.addons()[one.name].kubernetes_min
        if least and _numbers(kubernetes.version)[:2] < _numbers(least):
            what = f"the add-on {one.name} {one.version} doesn't run on Kubernetes {kubernetes.version}"
            why = f"it needs Kubernetes {least} or later"
            yield finding.Finding(_ERROR, Code.SOFTWARE_CONFLICT, at, what, why, f"choose Kubernetes {least} or later, or leave the add-on out")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split(".") if part.isdecimal())


def _quotas(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find accounts that may use more than all nodes of Kubernetes have; where Slurm shares the accounts, its nodes count too."""
    sets = cluster.node_sets if cluster.slurm else kubernetes.node_sets
    room = {
        "gpus": sum(one.hosts.count * one.hosts.machine.gpus.count for one in sets if one.hosts.machine.gpus),
        "nodes": sum(one.hosts.count for one in sets),
    }
    for name, account in blueprint.accounts.items():
        for limit, most in room.items():
            asked = getattr(account.limits, limit)
            if asked is not None and asked > most:
                what = f"the account {name} has a quota of {asked} {limit}, and the nodes have {most}"
                why = "nobody can use more than the nodes have: the account gets what they have"
                where = source.where("accounts", name, "limits", limit)
                yield finding.Finding(_WARNING, Code.QUOTA_OVER_CAPACITY, where, what, why, f"write at most {most}, or add nodes")


def _without_queue(kubernetes: spec.Kubernetes, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find accounts whose jobs no queue takes."""
    has_queues = any(one.name == _KUEUE for one in kubernetes.addons)
    if blueprint.accounts and not has_queues:
        what = f"the accounts {message_text.listed([*blueprint.accounts][:5])} have no queue: Kueue is left out"
        why = "without Kueue nothing keeps the quotas of accounts; jobs start in any order, and large ones may start in part"
        where = source.where("kubernetes", "addons", _KUEUE)
        yield finding.Finding(_WARNING, Code.ACCOUNT_WITHOUT_QUEUE, where, what, why, "remove `kueue: false`, or remove the accounts")
    for name, user in blueprint.users.items() if has_queues and blueprint.scheduler == "kubernetes" else ():
        if user.account == _SLURMS_OWN_ACCOUNT and user.account not in blueprint.accounts:
            what = f"the user {name} has the account root, which has no queue"
            why = "root is Slurm's own account; in Kubernetes each account of the blueprint is a namespace with a queue"
            where = source.where("users", name, "account")
            yield finding.Finding(_WARNING, Code.ACCOUNT_WITHOUT_QUEUE, where, what, why, "write an account of the blueprint")


def _not_enforced(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    """Find accounts whose pods anybody in the cluster reaches."""
    if kubernetes.control is None or not cluster.accounts or kubernetes.enforces_policies:
        return
    what = f"nothing enforces the network policies of accounts: {_ENFORCER} is left out"
    why = f"{kubernetes.pod_network} ignores them, so that pods of all accounts reach each other, the hosts and what listens there"
    where = source.where("kubernetes", "addons", _ENFORCER)
    yield finding.Finding(_WARNING, Code.POLICIES_NOT_ENFORCED, where, what, why, f"remove `{_ENFORCER}: false`")


def _without_metrics(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find a receiver of alerts that nothing raises."""
    if cluster.monitoring.alert_webhook and not cluster.monitoring.metrics:
        what, why = "`alert_webhook` gets no alerts: metrics are not collected", "Prometheus raises the alerts, and `metrics: true` installs it"
        remedy = "write `metrics: true`, or remove `alert_webhook`"
        yield finding.Finding(_ERROR, Code.ALERTS_WITHOUT_METRICS, source.where("monitoring", "alert_webhook"), what, why, remedy)


def _overlaps(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, asked: language.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    """Compare the ranges that Kubernetes has. A service of a cloud chooses those that the blueprint does not name."""
    written: tuple[tuple[str, str | None, Path], ...] = (
        ("the hosts' network", cluster.network.cidr, ("network", "cidr")),
        ("the range of pods", kubernetes.pod_cidr or asked.pod_cidr, ("kubernetes", "pod_cidr")),
        ("the range of services", kubernetes.service_cidr or asked.service_cidr, ("kubernetes", "service_cidr")),
    )
    ranges = [(title, ipaddress.IPv4Network(cidr), path) for title, cidr, path in written if cidr]
    for (first, its_range, at_first), (second, other, at_second) in itertools.combinations(ranges, 2):
        if its_range.overlaps(other):
            blamed = at_second if source.at(*at_second) is not None else at_first
            what = f"{second} {other} overlaps with {first} {its_range}"
            why = "an address must lead to one place: pods and services in the overlap would hide hosts or each other"
            usual = catalog.kubernetes_ranges()
            remedy = f"write ranges apart from each other, such as {usual.pod_cidr} for pods and {usual.service_cidr} for services"
            yield finding.Finding(_ERROR, Code.KUBERNETES_RANGES, source.where(*blamed), what, why, remedy)


def _sizes(kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    pods, services = ipaddress.IPv4Network(kubernetes.pod_cidr), ipaddress.IPv4Network(kubernetes.service_cidr)
    node_prefix = catalog.kubernetes_ranges().node_prefix
    room = 1 << max(0, node_prefix - pods.prefixlen) if pods.prefixlen <= node_prefix else 0
    nodes = sum(one.hosts.count for one in kubernetes.node_sets) + (kubernetes.control.count if kubernetes.control else 0)
    nodes += sum(one.count for one in kubernetes.kwok_nodes)
    if nodes > room:
        what = f"{pods} has room for {room} nodes, and the cluster can have {nodes}"
        why = f"each node, of the control plane too, has a /{node_prefix} of the pods' range"
        needed = node_prefix - (nodes - 1).bit_length()
        remedy = f"write a /{needed} or larger, or remove `kubernetes.pod_cidr`"
        yield finding.Finding(_ERROR, Code.POD_RANGE_SMALL, source.where("kubernetes", "pod_cidr"), what, why, remedy)
    if services.num_addresses < _FEWEST_SERVICES:
        what = f"{services} has {services.num_addresses} addresses for services"
        why = "the API server, DNS and the add-ons take an address each"
        yield finding.Finding(_ERROR, Code.POD_RANGE_SMALL, source.where("kubernetes", "service_cidr"), what, why, "write a /24 or larger")
