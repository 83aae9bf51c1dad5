"""The hosts' network: a full address plan on this machine, the given network at a site; `subnets` divides a cloud's network."""

import dataclasses
import ipaddress

from .. import addresses, catalog, spec
from ..codes import Code
from . import counts
from .context import Context

CLUSTER = "cluster"
"""The role of the hosts' subnet."""
FEWER = "write fewer nodes, or several clusters"


def local(context: Context, plan: addresses.Plan) -> spec.Network:
    """Describe the network inside this machine."""
    return dataclasses.replace(unaddressed(context), cidr=str(plan.network), gateway=plan.gateway, balancer_address=plan.balancer)


def local_plan(context: Context) -> addresses.Plan:
    """Plan the network inside this machine, with an address of every host."""
    nodes = counts.nodes(context.blueprint)
    prefix = addresses.prefix_for(nodes)
    if prefix is None:
        prefix = addresses.SHORTEST_PREFIX
        why = f"the largest network of the address plan, a /{prefix}, has room for {addresses.room_for_nodes(prefix)}"
        context.error(Code.CLUSTER_TOO_LARGE, "pools", what=f"{nodes} compute nodes don't fit into one network", why=why, remedy=FEWER)
    default = addresses.default_network(context.stack, prefix)
    if context.blueprint.network.cidr is None:
        return addresses.Plan(default)
    given = ipaddress.IPv4Network(context.blueprint.network.cidr)
    return addresses.Plan(given if _is_local_fit(context, given, nodes, default) else default)


def site(context: Context, own_hosts: int) -> spec.Network:
    """Return the site's network as given."""
    needed = own_hosts + counts.nodes(context.blueprint)
    given = context.blueprint.network.cidr
    room = None
    if given is not None:
        network = ipaddress.IPv4Network(given)
        room = usable(context.target, network.prefixlen)
        check_private(context, network, "write the network of the hosts")
        if needed > room:
            why = f"a /{network.prefixlen} has {room} addresses for hosts, and {needed} hosts need one each"
            context.error(
                Code.CIDR_TOO_SMALL, "network", "cidr", what=f"{given} is too small for the cluster", why=why, remedy="name a larger network, or fewer nodes"
            )
    subnet = spec.Subnet("cluster", CLUSTER, given or spec.Late("the network of the site's hosts"), "", needed=needed, usable=room)
    return dataclasses.replace(unaddressed(context), cidr=given or "", subnets=(subnet,))


def unaddressed(context: Context) -> spec.Network:
    """Describe the network without its addresses."""
    asked = context.blueprint.network
    existing = asked.existing if context.is_cloud else None
    domain = f"{context.blueprint.name}.internal"
    host = host_project(context)
    if host and existing and "/" not in existing and context.target.networks:
        existing = context.target.networks.shared_network.format(project=host, name=existing)
    network = spec.Network("", "", "", domain, existing=existing, host_project=host)
    return dataclasses.replace(network, egress=asked.egress, private_endpoints=asked.private_endpoints) if context.is_cloud else network


def host_project(context: Context) -> str:
    """Name the project whose network the cluster uses; empty: its own, or the target has no shared networks."""
    networks = context.target.networks
    return context.blueprint.network.host_project or "" if networks and networks.shared_network else ""


def usable(target: catalog.Target, prefix: int) -> int:
    """Count the addresses of a subnet that the target leaves to hosts."""
    return max(0, (1 << (32 - prefix)) - target.addresses_reserved_per_subnet)


def check_private(context: Context, network: ipaddress.IPv4Network, instead: str) -> bool:
    """Whether a network's addresses are private; report public ones."""
    if addresses.is_private(network):
        return True
    why = "its addresses belong to other hosts on the Internet, which the cluster's hosts could not reach"
    context.error(Code.CIDR_NOT_PRIVATE, "network", "cidr", what=f"{network} is not a private network", why=why, remedy=instead)
    return False


def _is_local_fit(context: Context, given: ipaddress.IPv4Network, nodes: int, default: ipaddress.IPv4Network) -> bool:
    instead = f"write for example `{default}`, or remove the key"
    is_fit = check_private(context, given, instead)
    if not addresses.SHORTEST_PREFIX <= given.prefixlen <= addresses.LONGEST_PREFIX:
        what = f"a /{given.prefixlen} is not a valid size for the hosts' network"
        why = f"the address plan supports a /{addresses.SHORTEST_PREFIX} to a /{addresses.LONGEST_PREFIX}"
        context.error(Code.CIDR_SIZE, "network", "cidr", what=what, why=why, remedy=instead)
        return False
    room = addresses.room_for_nodes(given.prefixlen)
    if nodes > room:
        needed = addresses.prefix_for(nodes, longest=addresses.LONGEST_PREFIX)
        what = f"{given} is too small for {nodes} compute nodes"
        why = f"a /{given.prefixlen} has room for {room} of them, besides the cluster's own hosts"
        remedy = instead if needed is None else f"these nodes need a /{needed}: {instead}"
        context.error(Code.CIDR_TOO_SMALL, "network", "cidr", what=what, why=why, remedy=remedy)
        return False
    return is_fit
