"""The parts of a picture as values: cards with their words, the places around them, and what joins them."""

import dataclasses
import enum


class Role(enum.StrEnum):
    OUTSIDE = "outside"
    ACCESS = "access"
    CONTROL = "control"
    COMPUTE = "compute"
    STORAGE = "storage"
    SERVICE = "service"


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """GPUs that NVLink joins, or that share a node: drawn once, with how often it is there."""

    nodes: int
    gpus: int
    """Of each node."""
    times: str
    """`16`, `0 to 4`."""
    named: bool
    """True: wider than a node, and worth a name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """One card of the picture."""

    key: str
    """Unlike any other's in the picture."""
    role: Role
    kind: str
    title: str
    lines: tuple[str, ...] = ()
    simulated: bool = False
    elastic: bool = False
    domain: Domain | None = None
    rails: str | None = None
    """Key of the rails that join it with others."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rails:
    """The network between GPUs of different nodes: lane n joins the n-th interface of all nodes."""

    key: str
    title: str
    lanes: int
    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """What encloses parts: a region, a zone, a data centre, this machine."""

    title: str
    line: str


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    title: str
    subtitle: str
    description: str
    """The picture in sentences, for those who can't see it."""
    site: Place
    zone: Place | None
    """None: the site has no zones."""
    outside: tuple[Item, ...]
    edge: tuple[Item, ...]
    """What the cloud runs at the cluster's border or for it."""
    hosts: tuple[Item, ...]
    pools: tuple[Item, ...]
    storage: tuple[Item, ...]
    rails: tuple[Rails, ...]
    routes: tuple[tuple[str, str], ...]
    """How people come in: keys of items, from and to."""
    notes: tuple[str, ...]
    """What is simulated."""
    network_sign: str = "network of the hosts"
    elastic_sign: str = "comes and goes with the queue"
    """What the picture's signs mean."""
