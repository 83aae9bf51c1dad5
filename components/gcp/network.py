"""The networks: one VPC for the hosts, one for each further interface of the nodes, and one with a network profile for RDMA interfaces, created or existing. There is no other way in."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping

import pulumi
from pulumi_gcp import compute

from blueprints import catalog, spec

from ..resource_options import beneath
from .names import Names

CLUSTER = "cluster"
"""The hosts' own subnet."""
_RDMA = "mrdma"
_HOSTS_MTU, _FABRIC_MTU = 8244, 8896
"""cluster-toolkit v1.95.0, examples/machine-learning/a3-megagpu-8g (first network) and a3-ultragpu-8g."""
_LINK = "https://www.googleapis.com/compute/v1/"
_FULL_NAME = re.compile(rf"(?:{_LINK})?(?P<name>projects/(?P<project>[^/]+)/global/networks/[^/]+)")
_FULL_SUBNET = re.compile(rf"(?:{_LINK})?(?P<name>projects/[^/]+/regions/[^/]+/subnetworks/[^/]+)")
_PROFILES = "https://www.googleapis.com/compute/v1/projects/{project}/global/networkProfiles/{zone}-{profile}"


@dataclasses.dataclass(frozen=True, slots=True)
class NetworkArgs:
    names: Names
    network: spec.Network
    zone: pulumi.Output[str]
    """Of the hosts; a network with a profile belongs to it."""
    project: pulumi.Output[str]
    keeps: bool = False
    """A file system that outlives the stack is connected to the hosts' network, so that network must too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wire:
    """What one kind of interface is connected to."""

    network: pulumi.Output[str]
    subnet: pulumi.Output[str]


class Network(pulumi.ComponentResource):
    """The cluster's networks."""

    hosts: Wire
    hosts_name: pulumi.Output[str]
    """Full name of the hosts' network (`projects/P/global/networks/N`), which services outside of Compute Engine take instead of its address."""
    fabrics: Mapping[str, Wire]
    """Subnet (`gvnic-1`, `mrdma-3`) → what an interface of a node is connected to."""
    plain: list[tuple[str, pulumi.Output[str]]]
    """Networks between nodes that a firewall guards, by their names in the stack; an RDMA network takes no rules."""
    ready: list[pulumi.Resource]
    """Resources that must exist before a host reaches anything."""
    is_shared: bool
    """Another project owns the hosts' network and its rules."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Network", name, {}, opts)
        self._args = args
        self.is_shared = bool(args.network.host_project)
        self._invokes = pulumi.InvokeOptions(parent=self)
        (own,) = (one for one in args.network.subnets if one.role == CLUSTER)
        if args.network.existing is None:
            # Its name stays: a stack of an earlier version has one without the mark, and a file system that nobody may replace is connected to it.
            hosts = self._network("network", args.names.lasting_name("network"), mtu=_HOSTS_MTU, keep=args.keeps, ignore=("name",))
            self.hosts_name, link = hosts.id, hosts.self_link
            self.ready = [self._way_out(hosts)]
        else:
            # Its owner decides how hosts reach the Internet.
            self.hosts_name = args.project.apply(functools.partial(full_name, args.network.existing, host=args.network.host_project))
            link = pulumi.Output.concat(_LINK, self.hosts_name)
            self.ready = []
        self.hosts = Wire(link, self._existing(own.name) if is_given(own) else self._subnet(own, link, logged=True))
        self.fabrics, self.plain = self._fabrics([one for one in args.network.subnets if one.role == "fabric"])
        self.register_outputs({})

    def _fabrics(self, subnets: Iterable[spec.Subnet]) -> tuple[dict[str, Wire], list[tuple[str, pulumi.Output[str]]]]:
        """Connect each further interface to a network of its own; RDMA interfaces share one, with a subnet each."""
        wires, plain = {}, []
        rdma: compute.Network | None = None
        for subnet in subnets:
            if is_given(subnet):
                link = self._existing(subnet.name)
                found = compute.get_subnetwork_output(self_link=link, opts=self._invokes)
                wires[subnet.serves] = Wire(found.network, link)
                if not subnet.serves.startswith(_RDMA):
                    plain.append((subnet.serves, found.network))
                continue
            if subnet.name.startswith(_RDMA):
                rdma = rdma or self._rdma()
                network = rdma
            else:
                network = self._network(f"{subnet.name}-network", self._args.names.name(f"{subnet.name}-network"), mtu=_FABRIC_MTU)
                plain.append((subnet.name, network.self_link))
            wires[subnet.name] = Wire(network.self_link, self._subnet(subnet, network.self_link))
        return wires, plain

    def _existing(self, written: str) -> pulumi.Output[str]:
        """Give the address of a subnet that exists already. Nothing of it changes, and it stays."""
        region = self._args.network.region
        return self._args.project.apply(lambda project: f"{_LINK}{full_subnet_name(written, project, region)}")

    def _network(self, name: str, full_name: pulumi.Input[str], *, mtu: int, keep: bool = False, ignore: tuple[str, ...] = ()) -> compute.Network:
        return compute.Network(
            name,
            name=full_name,
            description=self._args.names.description(f"{name.capitalize()}"),
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=mtu,
            opts=beneath(self, keep=keep, replace_first=True, ignore=ignore),
        )

    def _rdma(self) -> compute.Network:
        """Create the network of the RDMA interfaces, which exists in one zone."""
        names = self._args.names
        profile = pulumi.Output.all(self._args.project, self._args.zone).apply(
            lambda known: _PROFILES.format(project=known[0], zone=known[1], profile=_rdma_profile())
        )
        return compute.Network(
            "rdma-network",
            name=names.name("rdma"),
            description=names.description("RDMA network"),
            auto_create_subnetworks=False,
            mtu=_FABRIC_MTU,
            network_profile=profile,
            opts=beneath(self, replace_first=True),
        )

    def _subnet(self, subnet: spec.Subnet, network: pulumi.Output[str], *, logged: bool = False) -> pulumi.Output[str]:
        names = self._args.names
        log = compute.SubnetworkLogConfigArgs(aggregation_interval="INTERVAL_10_MIN", flow_sampling=0.5, metadata="INCLUDE_ALL_METADATA")
        created = compute.Subnetwork(
            f"{subnet.name}-subnet",
            name=names.name(subnet.name),
            description=names.description(f"Subnet {subnet.name}"),
            network=network,
            region=self._args.network.region,
            ip_cidr_range=str(subnet.cidr),
            private_ip_google_access=True if logged else None,  # hosts fetch their keys without a way to the Internet
            log_config=log if logged else None,
            opts=beneath(self, replace_first=True),
        )
        link: pulumi.Output[str] = created.self_link
        return link

    def _way_out(self, network: compute.Network) -> pulumi.Resource:
        """Translate addresses of hosts, none of which has a public one."""
        names, region = self._args.names, self._args.network.region
        router = compute.Router(
            "router", name=names.name("router"), description=names.description("Router"), network=network.self_link, region=region, opts=beneath(self, replace_first=True)
        )  # fmt: skip
        translation: pulumi.Resource = compute.RouterNat(
            "nat",
            name=names.name("nat"),
            router=router.name,
            region=region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            # Nodes that fetch images of containers open thousands of connections, and most nodes open few.
            enable_dynamic_port_allocation=True,
            enable_endpoint_independent_mapping=False,
            min_ports_per_vm=64,
            max_ports_per_vm=4096,
            log_config=compute.RouterNatLogConfigArgs(enable=True, filter="ERRORS_ONLY"),
            opts=beneath(self, replace_first=True),
        )
        return translation


def full_name(written: str, project: str, *, host: str = "") -> str:
    """Give the full name of an existing network (`projects/P/global/networks/N`). Pure.

    Args:
        host: the project that shares it; empty: it is the cluster's own.
    Raises:
        pulumi.RunError: another project owns it.
    """
    named = _FULL_NAME.fullmatch(written)
    if named and named["project"] not in (project, host):
        raise pulumi.RunError(
            f"the network belongs to the project {named['project']}, and the cluster is in {project}\n"
            f"  why: firewall rules are created in the network's own project, unless it shares the network\n"
            f"  do:  write `network.host_project: {named['project']}` (Shared VPC), or name a network of the cluster's own project as `network.existing`"
        )
    return named["name"] if named else f"projects/{project}/global/networks/{written}"


def full_subnet_name(written: str, project: str, region: str) -> str:
    """Give the full name of an existing subnet (`projects/P/regions/R/subnetworks/S`). Pure."""
    named = _FULL_SUBNET.fullmatch(written)
    return named["name"] if named else f"projects/{project}/regions/{region}/subnetworks/{written}"


def is_given(subnet: spec.Subnet) -> bool:
    """Say whether a subnet exists already: its range is known in the project alone. Pure."""
    return not isinstance(subnet.cidr, str)


def own_cidr(network: spec.Network) -> str:
    """Give the range of the hosts' own subnet, which each host's first interface is in. Pure."""
    return next(network.cidr if is_given(one) else str(one.cidr) for one in network.subnets if one.role == CLUSTER)


def _rdma_profile() -> str:
    """Give the profile of the networks that RDMA interfaces share."""
    known = catalog.target("gcp").networks
    return known.profile if known else ""
