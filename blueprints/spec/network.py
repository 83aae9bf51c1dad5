"""The network of the cluster."""

import dataclasses
from typing import Annotated

from . import cost
from .values import Late

MADE_THERE = "the hosts are replaced there"
IN_NETWORK = ("networked", "managed-database")
IN_ZONE = ("zonal", "database")
ELSEWHERE = cost.replaces_nodes(MADE_THERE, reaches=IN_NETWORK)


@dataclasses.dataclass(frozen=True, slots=True)
class Subnet:
    """A part of the cluster's network."""

    name: Annotated[str, ELSEWHERE]
    role: Annotated[str, cost.replaces_nodes(MADE_THERE)]
    """`cluster` (hosts), `public` (load balancers and the way out), `fabric` (one of the GPU networks)."""
    cidr: Annotated[str | Late, ELSEWHERE]
    zone: Annotated[str | Late, cost.replaces_nodes(MADE_THERE, reaches=IN_ZONE)]
    needed: Annotated[int, cost.FOLLOWS]
    """Addresses that the blueprint's hosts can come to need."""
    usable: Annotated[int | None, cost.FOLLOWS]
    """Addresses that the cloud leaves free in it; None when the network exists and was not looked up."""
    interface: Annotated[str, cost.FOLLOWS] = ""
    """Kind and number of the nodes' interfaces (`gvnic-1`) that an existing subnet is for; empty: as its name, or those of all hosts."""

    @property
    def serves(self) -> str:
        """The kind and number of the interfaces in it, where it is one of the fabric's."""
        return self.interface or self.name


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    cidr: Annotated[str, ELSEWHERE]
    """Empty where the network is there already and was not looked up."""
    gateway: Annotated[str, cost.rolling("hosts boot again with the new way out")]
    balancer_address: Annotated[str, cost.in_place("the balancer answers at another address; sessions through it end")]
    """Where the load balancer in front of the login nodes answers. Empty where the cloud gives it."""
    domain: Annotated[str, cost.in_place("full names of hosts change")]
    """Suffix of full names (`train-0.starter.internal`)."""
    region: Annotated[str, cost.replaces_nodes("the cluster is created again in the other region", reaches=("storage", "database"))] = ""
    zones: Annotated[
        tuple[str, ...], cost.replaces_nodes(MADE_THERE, reaches=IN_ZONE, later=cost.Cost(cost.Effect.IN_PLACE, "subnets of further zones come or go"))
    ] = ()
    """The compute nodes' first. Empty: not known before the capacity is."""
    existing: Annotated[str | None, ELSEWHERE] = None
    host_project: Annotated[str, ELSEWHERE] = ""
    """The project that owns the existing network and shares it; empty: the cluster's own."""
    subnets: Annotated[
        tuple[Subnet, ...],
        cost.Entries(cost.in_place("a subnet is added"), cost.replaces_nodes("what is in it is created again elsewhere", reaches=IN_NETWORK)),
    ] = ()
    egress: Annotated[str, cost.in_place("routes change while hosts run; transfers to the Internet break off")] = "nat"
    private_endpoints: Annotated[bool, cost.in_place("endpoints come or go while hosts run")] = False
