"""Hosts that exist already: how to reach each of them, and what is known about it."""

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from typing import Annotated

from . import cost

GATEWAY = cost.in_place("nodes get another way out; connections through the controllers break off")
NAME_SERVER = cost.in_place("nodes ask other name servers; hosts of the cluster find each other as before")
OTHER_INTERFACES = cost.in_place("the interface gets its new settings; traffic on it pauses")
KNOWN = cost.none("what is known about the host; drift checks compare with it")

PORT_LETTERS = 47
"""Of 16 bytes with colons between them."""
DIGITS = 16
"""Hexadecimal digits of a digest: enough that no two racks have the same by chance."""
NO_LABEL, LABEL_LENGTH = re.compile("[^A-Za-z0-9_.-]+"), 63
"""What a label's value can't have, and its longest (Kubernetes, "Labels and Selectors")."""
ASKED = cost.none("how management controllers are asked; nothing running changes")


@dataclasses.dataclass(frozen=True, slots=True)
class SiteRoute:
    """A static route of an interface."""

    to: str
    """IPv4 network."""
    via: str = ""
    """Address of the next hop; empty: the network is on the link."""


@dataclasses.dataclass(frozen=True, slots=True)
class SiteInterface:
    """One network interface of a host, such as a rail of the GPU fabric."""

    name: str
    mac: str = ""
    """Six pairs of lower-case hexadecimal digits with colons, or the 20 bytes of an InfiniBand interface. Empty: the interface is found by its name."""
    address: str = ""
    """IPv4 address with the length of its prefix (`10.40.0.11/24`). Empty: clusterwright sets none."""
    mtu: int = 0
    """0: as it is."""
    gateway: str = ""
    """Next hop out of the interface's own network, for packets from its address."""
    routes: tuple[SiteRoute, ...] = ()
    partition_key: str = ""
    """Key of an InfiniBand partition with the bit of full membership (`0x8001`): the other settings are those of the partition's own interface. Empty: the port's own partition."""


def port_address(mac: str) -> str:
    """Give the part of a hardware address that names the port: all of an Ethernet one, the last 16 bytes of an InfiniBand one.

    The first four bytes of the latter are flags and the number of a queue pair, which change whenever the driver starts. Source: RFC 4391, section 9.1.1.
    """
    return mac.lower()[-PORT_LETTERS:]


@dataclasses.dataclass(frozen=True, slots=True)
class SiteHost:
    """A host that exists already."""

    name: Annotated[str, cost.none("its identity")]
    address: Annotated[str, cost.in_place("the host is reached at its other address")]
    """Where SSH reaches it: IPv4 address or DNS name. Empty: the inventory has none."""
    host_key: Annotated[str, cost.in_place("the host is expected to prove itself with the other key")]
    """Its public SSH host key without comment (`ssh-ed25519 AAAA…`). Empty: the inventory has none."""
    bmc: Annotated[str, cost.in_place("its management controller is asked at the other address")] = ""
    rack: Annotated[str, cost.in_place("a node of Kubernetes gets the other label; where NVLink joins the machines of a rack, Slurm reads other blocks")] = ""
    serial: Annotated[str, KNOWN] = ""
    interfaces: Annotated[tuple[SiteInterface, ...], OTHER_INTERFACES] = ()
    bmc_certificate: Annotated[str, ASKED] = ""
    """SHA-256 fingerprint of its management controller's certificate, 64 lower-case hexadecimal digits. Empty: an authority signs it."""


@dataclasses.dataclass(frozen=True, slots=True)
class SiteBmc:
    """How the hosts' management controllers are asked. The password itself is nowhere in the record."""

    user: Annotated[str, ASKED]
    password_file: Annotated[str, ASKED] = ""
    """Absolute path, or one that begins with `~/`."""
    secret: Annotated[str, ASKED] = ""
    """Name of the stack's encrypted setting with the password."""
    protocol: Annotated[str, ASKED] = "auto"
    """`auto`, `redfish` or `ipmi`."""
    port: Annotated[int, ASKED] = 0
    """0: the protocol's own."""
    authority: Annotated[str, ASKED] = ""
    """Path of the certificates of the authority that signs theirs."""


@dataclasses.dataclass(frozen=True, slots=True)
class SiteRoce:
    """How RoCE marks its packets, the same on all hosts."""

    dscp: Annotated[int, OTHER_INTERFACES]
    priority: Annotated[int, OTHER_INTERFACES]
    cnp_dscp: Annotated[int, OTHER_INTERFACES]
    cnp_priority: Annotated[int, OTHER_INTERFACES]


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """What the inventory says of the hosts that the cluster uses, in the order of its groups."""

    user: Annotated[str, cost.in_place("hosts that are adopted from now on are reached as this user")]
    port: Annotated[int, cost.in_place("hosts are reached at the other port")]
    hosts: Annotated[
        tuple[SiteHost, ...],
        cost.Entries(
            added=cost.in_place("the host is adopted"),
            removed=cost.rolling("the host is released: jobs on it end unless it is drained first; its owner's files stay"),
        ),
    ]
    identity: Annotated[str, cost.none("how adopting logs in; nothing running changes")] = ""
    """Path of the private key that adopting logs in with; empty: SSH's agent and its own files."""
    bmc: Annotated[SiteBmc | None, ASKED] = None
    """None: management controllers are not asked."""
    roce: Annotated[SiteRoce | None, OTHER_INTERFACES] = None
    """None: NICs stay as they are."""
    package_cache: Annotated[bool, cost.in_place("packages come another way from now on; nothing running changes")] = False
    """The first controller keeps the packages that servers fetch."""

    nat: Annotated[bool, GATEWAY] = False
    """The controllers translate addresses for nodes without a way out."""
    dns: Annotated[bool, NAME_SERVER] = False
    """The controllers resolve names for nodes."""
    address: Annotated[str, cost.in_place("nodes reach address translation and name service at the other address")] = ""
    """Where nodes reach both: an address that moves between two controllers. Empty: at the only controller's own."""

    @property
    def by_name(self) -> Mapping[str, SiteHost]:
        """Give each host by its name. It is made at each call: a loop over thousands of hosts asks once."""
        return {host.name: host for host in self.hosts}

    @property
    def racks(self) -> Mapping[str, str]:
        """Give the rack of each host whose rack the inventory names, as a label of Kubernetes can say it: other systems name racks in words with spaces."""
        found = {host.name: _label(host.rack) for host in self.hosts}
        return {name: rack for name, rack in found.items() if rack}

    @property
    def distinct_racks(self) -> Mapping[str, str]:
        """Give the rack of each host whose rack the inventory names, other racks by other words: where the label is not the name, a digest of the name follows it.

        The name itself goes no further: Ansible evaluates the braces of variables, and other systems take any text for a name.
        """
        return {host.name: _distinct(host.rack) for host in self.hosts if host.rack}


def _label(rack: str) -> str:
    return NO_LABEL.sub("-", rack)[:LABEL_LENGTH].strip("-_.")


def _distinct(rack: str) -> str:
    label, digest = _label(rack), hashlib.sha256(rack.encode(errors="surrogatepass")).hexdigest()
    return label if label == rack else f"{label}~{digest[:DIGITS]}"
