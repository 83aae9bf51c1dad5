"""The inventory: hosts that exist already, for targets that don't create any."""

from typing import Literal

from pydantic import Field, field_validator

from . import names
from .section import (
    AddressRange,
    BmcAddress,
    Cidr,
    Fingerprint,
    HostAddress,
    HostKey,
    HostList,
    HostName,
    Identifier,
    InterfaceAddress,
    InterfaceName,
    Ipv4,
    LinuxUser,
    Mac,
    PartitionKey,
    Section,
    Text,
)

PARTITION = "The key of an InfiniBand partition (`0x8001`): the settings are those of the partition's own interface. Default: the port's own partition."


class Route(Section):
    """A static route of an interface."""

    to: Cidr = Field(description="The network that it leads to.")
    via: Ipv4 | None = Field(default=None, description="The address of the next hop. Default: the interface's `gateway`.")


class Interface(Section):
    """A network interface of a host, such as one rail of the GPU fabric."""

    mac: Mac | None = Field(default=None, description="Its hardware address (`b8:3f:d2:00:11:22`), by which it is found. Default: found by its name.")
    address: InterfaceAddress | None = Field(default=None, description="Its IPv4 address and the length of its prefix (`10.40.0.11/24`). Default: unchanged.")
    mtu: int | None = Field(default=None, ge=1_280, le=65_520, description="Its MTU in bytes. Default: unchanged.")
    gateway: Ipv4 | None = Field(default=None, description="The next hop for packets from its address to other networks.")
    routes: tuple[Route, ...] = Field(default=(), strict=False, max_length=100, description="Static routes through it.")
    partition_key: PartitionKey | None = Field(default=None, description=PARTITION)


class Host(Section):
    """A host that exists already."""

    address: HostAddress | None = Field(
        default=None,
        description="The address or DNS name where SSH reaches it. With a DNS name, name servers of the hosts must know its name in the blueprint, too. Required, here or by `ranges`.",
    )
    host_key: HostKey | None = Field(
        default=None,
        description="Its public SSH host key, as `/etc/ssh/ssh_host_ed25519_key.pub` on the host has it. Required; `clusterwright lookup hosts` reads and shows them.",
    )
    bmc: BmcAddress | None = Field(default=None, description="The address of its management controller (BMC).")
    bmc_certificate: Fingerprint | None = Field(
        default=None,
        description="The SHA-256 fingerprint of its management controller's certificate; `clusterwright lookup bmcs` reads and shows it. Required where no `inventory.bmc.authority` signs it.",
    )
    rack: Text = Field(default="", description="The rack that holds it.")
    serial: Text = Field(default="", description="Its serial number.")
    interfaces: dict[InterfaceName, Interface] = Field(default={}, max_length=64, description="Its network interfaces, by name.")


class InterfaceRange(Section):
    """The same interface of consecutive hosts."""

    addresses: AddressRange | None = Field(default=None, description="The first host's address and the length of its prefix (`10.40.0.11+/24`).")
    mtu: int | None = Field(default=None, ge=1_280, le=65_520, description="The MTU in bytes. Default: unchanged.")
    gateway: Ipv4 | None = Field(default=None, description="The next hop for packets from these addresses to other networks.")
    routes: tuple[Route, ...] = Field(default=(), strict=False, max_length=100, description="Static routes through it.")
    partition_key: PartitionKey | None = Field(default=None, description=PARTITION)


class HostRange(Section):
    """Hosts with consecutive addresses."""

    names: HostList = Field(description="Their names, as a Slurm host list (`gpu-[001-016]`).")
    addresses: AddressRange = Field(description="The first host's address and a plus (`10.20.0.11+`): each following host has the next address.")
    bmc: AddressRange | None = Field(default=None, description="The address of the first host's management controller, likewise.")
    rack: Text = Field(default="", description="The rack that holds them.")
    interfaces: dict[InterfaceName, InterfaceRange] = Field(default={}, max_length=64, description="Their network interfaces, by name.")


class Bmcs(Section):
    """How the hosts' management controllers (BMCs) are reached: for power, serial numbers and firmware."""

    user: Text = Field(default="", description="The user of all BMCs. Required to ask them.")
    password_file: Text = Field(
        default="", description="A file with the password that only its owner may read: an absolute path, or one that begins with `~/`."
    )
    secret: Text = Field(
        default="", description="Instead of a file: the stack's encrypted setting with the password (`pulumi config set --secret bmc:password`)."
    )
    protocol: Literal["auto", "redfish", "ipmi"] = Field(
        default="auto", description="How they are asked: `redfish`, `ipmi`, or `auto`, which is Redfish, and IPMI where nothing serves Redfish."
    )
    port: int | None = Field(default=None, ge=1, le=65_535, description="The port that they listen at. Default: 443 for Redfish, 623 for IPMI.")
    authority: Text = Field(default="", description="A file with the certificates of the authority that signs the BMCs' certificates. Default: each is pinned.")


class Roce(Section):
    """How RoCE marks its packets (RDMA over Converged Ethernet), which must be the same on the switches of the fabric."""

    dscp: int = Field(default=26, ge=0, le=63, description="The DSCP of RoCE packets.")
    priority: int = Field(
        default=3, ge=0, le=7, description="The priority of these packets, for which flow control (PFC) pauses a sender instead of dropping packets."
    )
    cnp_dscp: int = Field(default=48, ge=0, le=63, description="The DSCP of congestion notifications (CNP).")
    cnp_priority: int = Field(default=6, ge=0, le=7, description="The priority of congestion notifications.")


class Inventory(Section):
    """Hosts that exist already, on targets that create none (`metal`)."""

    user: LinuxUser = Field(
        default="root", description="The user that adopts the hosts: `root`, or one that may run everything with `sudo`, without a password."
    )
    port: int = Field(default=22, ge=1, le=65_535, description="The port of SSH on the hosts.")
    identity: Text = Field(default="", description="The file of the private key to log in with. Default: the keys of your SSH agent and of `~/.ssh`.")
    bmc: Bmcs = Field(default=Bmcs())
    roce: Roce | None = Field(
        default=None, description="How RoCE marks its packets. Given, it is set on the interfaces of the hosts. Default: NICs stay as they are."
    )
    package_cache: bool = Field(
        default=False,
        description="The first host of `control` keeps the packages that hosts fetch, so that each comes from outside once, and only this host needs a way there.",
    )
    hosts: dict[HostName, Host] = Field(default={}, max_length=names.MOST_HOSTS, description="Hosts, by their own names.")
    ranges: tuple[HostRange, ...] = Field(
        default=(), strict=False, max_length=1_000, description="Hosts with consecutive addresses. Entries of `hosts` add to them."
    )
    host_keys: Text = Field(
        default="", description="A file of SSH host keys in OpenSSH's known_hosts format, in the blueprint's folder. A host's own `host_key` overrides it."
    )
    file: Text = Field(default="", description="A file with more hosts, in the blueprint's folder.")
    command: tuple[Text, ...] = Field(
        default=(),
        strict=False,
        max_length=100,
        description="A command that prints more hosts: the program and its arguments. It runs in the blueprint's folder.",
    )
    format: Literal["clusterwright", "netbox", "maas", "ansible"] = Field(
        default="clusterwright",
        description="The format of `file` or of what `command` prints: `hosts` and `ranges` as here, devices of NetBox, machines of MAAS, or an inventory of Ansible.",
    )
    group: Identifier | None = Field(
        default=None,
        description="The group of Ansible, the slug of the device role of NetBox, or the resource pool or tag of MAAS, whose hosts are read. Default: all hosts.",
    )

    @field_validator("ranges")
    @classmethod
    def _countable(cls, given: tuple[HostRange, ...]) -> tuple[HostRange, ...]:
        names.host_lists(one.names for one in given)
        return given
