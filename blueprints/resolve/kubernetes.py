"""Kubernetes: its version, the addresses inside the cluster, where its API server answers, and its add-ons."""

import ipaddress
from collections.abc import Iterator, Sequence

from .. import addresses, catalog, message_text, spec
from ..catalog import When
from ..codes import Code
from . import counts
from .context import Context

SECTION, KWOK = "kubernetes", "kwok"


def version(context: Context, software: spec.Software) -> str:
    """Choose the version: the blueprint's, the profile's, or the catalogue's. A service of a cloud installs minor versions."""
    asked = context.blueprint.kubernetes.version
    wanted = asked or software.kubernetes
    if counts.kubernetes_offering(context).is_managed:
        return wanted
    known = catalog.kubernetes_version(wanted)
    if known is not None:
        return known.name
    built = [one.name for one in catalog.kubernetes_versions().values() if one.built]
    there = message_text.listed(f"`{name}`" for name in built)
    what = f"clusterwright can't install Kubernetes {wanted}"
    why = f"it installs {there}, a tested set with etcd, CoreDNS and a container runtime"
    remedy = message_text.did_you_mean(wanted, built, allowed="versions")
    context.error(Code.KUBERNETES_VERSION_UNKNOWN, SECTION, "version", what=what, why=why, remedy=remedy)
    usual = catalog.kubernetes_version("")
    return usual.name if usual else ""


def ranges(context: Context) -> tuple[str, str]:
    """Choose the addresses of pods and of services; empty where a service of a cloud does."""
    if counts.kubernetes_offering(context).is_managed:
        return "", ""
    asked, usual = context.blueprint.kubernetes, catalog.kubernetes_ranges()
    return _private(context, "pod_cidr", asked.pod_cidr, usual.pod_cidr), _private(context, "service_cidr", asked.service_cidr, usual.service_cidr)


def _private(context: Context, key: str, asked: str | None, usual: str) -> str:
    if asked is None or addresses.is_private(ipaddress.IPv4Network(asked)):
        return asked or usual
    what, why = f"{asked} is not a private network", "its addresses belong to other hosts on the Internet, which pods could not reach"
    context.error(Code.CIDR_NOT_PRIVATE, SECTION, key, what=what, why=why, remedy=f"write for example `{usual}`, or remove the key")
    return usual


def placed(kubernetes: spec.Kubernetes, *, first: str, shared: str) -> str:
    """Give the address of the API server: the only host's, or the one that several share; empty where a service of a cloud runs it.

    Args:
        first: address of the first host of the control plane.
        shared: address that moves between several hosts; empty: unknown.
    """
    if kubernetes.control is None:
        return ""
    address = first if kubernetes.control.count == 1 else shared
    return f"{address}:{catalog.kubernetes_ranges().port}" if address else ""


def chosen_addons(context: Context, node_sets: Sequence[spec.NodeSet]) -> tuple[spec.Addon, ...]:
    """Choose the add-ons: those that the blueprint asks for, and those that belong to the nodes unless another one excludes them.

    Args:
        node_sets: those of Kubernetes.
    """
    asked = context.blueprint.kubernetes.addons
    _check_known(context)
    wanted = {name for name, is_wanted in asked.items() if is_wanted}
    if context.blueprint.kubernetes.kwok_nodes and KWOK not in asked:
        wanted.add(KWOK)
    if load_balancer_cidr(context) and spec.METALLB not in asked:
        wanted.add(spec.METALLB)
    gpus = [one.hosts.machine.gpus for one in node_sets if one.hosts.machine.gpus]
    present = {
        When.ALWAYS: True,
        When.DEFAULT: True,
        When.ASKED: False,
        When.METRICS: context.blueprint.monitoring.metrics and not counts.kubernetes_offering(context).is_managed,
        When.GPUS: any(not one.simulated for one in gpus),
        When.SIMULATED_GPUS: any(one.simulated for one in gpus),
        When.FABRICS: any(one.fabric is not None and catalog.fabrics()[one.fabric.name].pod_link for one in node_sets),
        When.POD_NETWORK: not counts.kubernetes_offering(context).is_managed,
        When.SECONDARY_NETWORKS: has_secondary_networks(context),
        When.OWN_NETWORK: not counts.kubernetes_offering(context).is_managed,
    }
    return tuple(spec.Addon(one.name, one.version) for one in _installed(context, wanted, present))


def kwok_nodes(context: Context, node_sets: Sequence[spec.NodeSet]) -> tuple[spec.KwokNodes, ...]:
    """Give the nodes that exist in the API alone, for pools that Kubernetes has."""
    pools = {one.pool for one in node_sets}
    asked = context.blueprint.kubernetes.kwok_nodes
    for name in asked:
        if name not in pools:
            what = f"there is no pool {message_text.quoted(name)} of Kubernetes that simulated nodes could be like"
            why = "a node of kwok has the processors, memory and GPUs of the pool's machine"
            remedy = message_text.did_you_mean(name, sorted(pools), allowed="pools")
            context.error(Code.KWOK_POOL_UNKNOWN, SECTION, "kwok_nodes", name, what=what, why=why, remedy=remedy)
    return tuple(spec.KwokNodes(name, count) for name, count in asked.items() if name in pools)


def load_balancer_cidr(context: Context) -> str:
    """Give the addresses of services that are reached from outside; empty where there are none, or a service of a cloud has load balancers of its own."""
    return "" if counts.kubernetes_offering(context).is_managed else context.blueprint.kubernetes.load_balancer_cidr or ""


def has_secondary_networks(context: Context) -> bool:
    """Say whether pods can ask for further interfaces; a service of a cloud has its own way."""
    return bool(context.blueprint.kubernetes.secondary_networks) and not counts.kubernetes_offering(context).is_managed


def secondary_networks(context: Context) -> tuple[spec.SecondaryNetwork, ...]:
    """Give the networks in which pods can ask for an interface, each as wide as the addresses of its pods until the inventory says more (`as_known`)."""
    if not has_secondary_networks(context):
        return ()
    return tuple(_secondary_network(name, pods, pods) for name, pods in context.blueprint.kubernetes.secondary_networks.items())


def as_known(networks: Sequence[spec.SecondaryNetwork], site: spec.Site) -> tuple[spec.SecondaryNetwork, ...]:
    """Give networks as wide as those in which hosts have addresses by the inventory."""
    known: dict[str, str] = {}
    for host in site.hosts:
        for one in host.interfaces:
            if one.address:
                known.setdefault(one.name, str(ipaddress.IPv4Interface(one.address).network))
    return tuple(_secondary_network(one.name, known.get(one.name, one.cidr), one.pods) for one in networks)


def _secondary_network(name: str, cidr: str, pods: str) -> spec.SecondaryNetwork:
    """Give a network with the part of it that pods get, without the addresses that stand for all of it."""
    whole, part = ipaddress.IPv4Network(cidr), ipaddress.IPv4Network(pods)
    first, last = max(int(part[0]), int(whole[0]) + 1), min(int(part[-1]), int(whole[-1]) - 1)
    usable = (str(ipaddress.IPv4Address(first)), str(ipaddress.IPv4Address(last))) if first <= last else ("", "")
    return spec.SecondaryNetwork(name, cidr, pods, *usable)


def _installed(context: Context, wanted: set[str], present: dict[When, bool]) -> Iterator[catalog.Addon]:
    asked = context.blueprint.kubernetes
    for one in catalog.addons().values():
        if not one.can_be_chosen:
            is_wanted = present[one.when] and (one.when != When.POD_NETWORK or one.name == asked.pod_network)
        else:
            is_wanted = one.name in wanted or asked.addons.get(one.name, present[one.when] and not wanted & {*one.excludes})
        if is_wanted and not (context.is_rehearsal and one.when in (When.GPUS, When.FABRICS)):
            yield one


def _check_known(context: Context) -> None:
    """Find add-ons that the catalogue doesn't have, and those that nobody can choose."""
    known = catalog.addons()
    for name in context.blueprint.kubernetes.addons:
        if name not in known:
            choices = [one.name for one in known.values() if one.can_be_chosen]
            remedy = message_text.did_you_mean(name, choices, allowed="add-ons")
            what = f"there is no add-on {message_text.quoted(name)}"
            why = "an add-on is one of the catalogue, in a version that is tested with the others (blueprints/catalog/addons.yaml)"
            context.error(Code.ADDON_UNKNOWN, SECTION, "addons", name, what=what, why=why, remedy=remedy)
        elif not known[name].can_be_chosen:
            what = f"a blueprint can't switch the add-on {name} on or off"
            keys = {When.POD_NETWORK: "`kubernetes.pod_network` chooses it", When.SECONDARY_NETWORKS: "`kubernetes.secondary_networks` asks for it"}
            why = keys.get(known[name].when, "a cluster has it where its nodes need it")
            context.error(Code.ADDON_FIXED, SECTION, "addons", name, what=what, why=why, remedy="remove it from `addons`")
