"""The network of the cluster."""

import dataclasses

from .values import Late


@dataclasses.dataclass(frozen=True, slots=True)
class Subnet:
    """A part of the cluster's network."""

    name: str
    role: str
    """`cluster` (hosts), `public` (load balancers and the way out), `fabric` (one of the GPU networks)."""
    cidr: str | Late
    zone: str | Late
    needed: int
    """Addresses that the blueprint's hosts can come to need."""
    usable: int | None
    """Addresses that the cloud leaves free in it; None when the network exists and was not looked up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    cidr: str
    """Empty where the network is there already and was not looked up."""
    gateway: str
    balancer_address: str
    """Where the load balancer in front of the login nodes answers. Empty where the cloud gives it."""
    domain: str
    """Suffix of full names (`train-0.starter.internal`)."""
    region: str = ""
    zones: tuple[str, ...] = ()
    """The compute nodes' first. Empty: not known before the capacity is."""
    existing: str | None = None
    subnets: tuple[Subnet, ...] = ()
    egress: str = "nat"
    private_endpoints: bool = False
