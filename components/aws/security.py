"""Security groups: who may speak with whom.

Rules are written inside the groups, not beside them, so that a rule which somebody added by hand shows as drift and goes with the next `up --refresh`.
"""

import dataclasses
import ipaddress
from typing import Any

import pulumi
from pulumi_aws import ec2

from blueprints import addresses, catalog, spec

from .names import Names
from .options import beneath

_TCP, _EVERYTHING = "tcp", "-1"
_INTERNET = "0.0.0.0/0"
_HTTPS, _SSH, _MARIADB = 443, 22, 3306
_NFS = "2049"
_PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """Who may, over which ports; without ports everything."""

    what: str
    first: int = 0
    last: int = 0
    itself: bool = False
    cidrs: tuple[str, ...] = ()
    groups: tuple[pulumi.Output[str], ...] = ()
    prefix_lists: tuple[pulumi.Output[str], ...] = ()

    @property
    def arguments(self) -> dict[str, Any]:
        """Give it as the SDK's rules take it, those for both directions alike."""
        given = {"cidr_blocks": self.cidrs, "security_groups": self.groups, "prefix_list_ids": self.prefix_lists}
        return {
            "protocol": _TCP if self.first else _EVERYTHING,
            "from_port": self.first,
            "to_port": self.last or self.first,
            "self": True if self.itself else None,
            "description": self.what,
            **{name: [*values] for name, values in given.items() if values},
        }


@dataclasses.dataclass(frozen=True, slots=True)
class SecurityArgs:
    names: Names
    vpc_id: pulumi.Input[str]
    network: spec.Network
    login: spec.Login
    storage: tuple[spec.FileSystem, ...]
    s3_prefix_list: pulumi.Output[str] | None
    uses_fabric_storage: bool
    """A file system is reached over EFA."""
    has_balancer: bool
    has_state: bool
    """Controllers share a file system."""
    has_database: bool
    keeps: bool
    """A file system that uses these groups outlives the stack."""


class Security(pulumi.ComponentResource):
    """The stack's security groups, by what they are for."""

    hosts: pulumi.Output[str]
    """Every host has it."""
    control: pulumi.Output[str]
    login: pulumi.Output[str]
    balancer: pulumi.Output[str] | None
    storage: pulumi.Output[str]
    state: pulumi.Output[str] | None
    """What only controllers mount."""
    database: pulumi.Output[str] | None
    endpoints: pulumi.Output[str] | None

    def __init__(self, name: str, args: SecurityArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Security", name, {}, opts)
        self._args = args
        self.hosts = self._hosts()
        self.control = self._group("control", "Controllers: lets them be told apart in the rules of others.", ingress=[], egress=[])
        self.balancer = self._balancer() if args.has_balancer else None
        self.login = self._login()
        self.storage = self._storage()
        self.state = self._only(
            "state", "Files of the scheduler itself: controllers only.", Rule("NFS", int(_NFS), groups=(self.control,)), wanted=args.has_state
        )
        self.database = self._only(
            "database", "The accounting database: controllers only.", Rule("MariaDB", _MARIADB, groups=(self.control,)), wanted=args.has_database
        )
        self.endpoints = self._only(
            "endpoints", "Services of the cloud inside the network.", Rule("HTTPS", _HTTPS, groups=(self.hosts,)), wanted=args.network.private_endpoints
        )
        self.register_outputs({})

    def _hosts(self) -> pulumi.Output[str]:
        # EFA wants the group to allow everything to and from itself, in both directions; a range of addresses in its place does not count (EC2 User Guide, "Get started with EFA").
        within = Rule("Hosts of the cluster, EFA included", itself=True)
        # Lustre's servers connect to clients too. They are let in by where they stand: a rule that named their group, which names this one, could be neither made nor deleted.
        servers = [Rule("Servers of Lustre", *_range(port), cidrs=self._inside) for port in self._lustre_ports]
        return self._group("hosts", "Every host of the cluster.", ingress=[within, *servers], egress=[within, *self._way_out()], keep=self._args.keeps)

    def _way_out(self) -> list[Rule]:
        """Where hosts may connect to. With address translation in front of them anywhere: packages, registries and data sets come from everywhere."""
        network, s3 = self._args.network, self._args.s3_prefix_list
        if network.egress == "nat":
            return [Rule("Through the address translation", cidrs=(_INTERNET,))]
        inside = Rule("The network itself: storage and private endpoints", cidrs=self._inside)
        return [inside] if s3 is None else [inside, Rule("S3", _HTTPS, prefix_lists=(s3,))]

    @property
    def _inside(self) -> tuple[str, ...]:
        """Where the network's own addresses are."""
        return (self._args.network.cidr,) if self._args.network.cidr else _PRIVATE_RANGES

    @property
    def _lustre_ports(self) -> list[str]:
        return sorted({port for one in self._classes if one.kind == "lustre" for port in one.ports})

    @property
    def _classes(self) -> list[catalog.StorageClass]:
        known = catalog.storage_classes("aws")
        return [known[one.storage_class] for one in self._args.storage if one.storage_class]

    def _balancer(self) -> pulumi.Output[str]:
        to_hosts = Rule("SSH to login nodes", _SSH, groups=(self.hosts,))
        return self._group("balancer", "The load balancer of the login nodes.", ingress=[self._from_outside()], egress=[to_hosts])

    def _login(self) -> pulumi.Output[str]:
        """Login nodes answer the load balancer alone; without one, the allowed networks themselves."""
        ingress = self._from_outside() if self.balancer is None else Rule("SSH through the load balancer", _SSH, groups=(self.balancer,))
        return self._group("login", "Login nodes.", ingress=[ingress], egress=[])

    def _from_outside(self) -> Rule:
        """SSH from the networks that the blueprint allows; with none, from the cluster's own network only."""
        own = (self._args.network.cidr,) if self._args.network.cidr else ()
        allowed = self._args.login.allowed_cidrs or own
        return Rule("SSH from the allowed networks", _SSH, cidrs=allowed) if allowed else Rule("SSH from hosts of the cluster", _SSH, groups=(self.hosts,))

    def _storage(self) -> pulumi.Output[str]:
        """File systems: the ports of the classes in use, and NFS, over which the hosts' table of users comes.

        Lustre's servers connect to clients too, and to each other, so the rules go both ways and to the group itself; FSx makes no file system in a group that lacks the latter, and without
        1018-1023 a mount works on some days and hangs on others (FSx for Lustre User Guide, "File system access control with Amazon VPC" and "Creating an FSx for Lustre file system fails").
        """
        ports = {_NFS, *(port for one in self._classes if one.kind in ("lustre", "nfs") for port in one.ports)}
        rules = [Rule("File systems", *_range(port), groups=(self.hosts,)) for port in sorted(ports)]
        rules += [Rule("Lustre among servers", *_range(port), itself=True) for port in self._lustre_ports]
        if self._args.uses_fabric_storage:
            rules += [Rule("EFA among servers", itself=True), Rule("EFA of hosts", groups=(self.hosts,))]
        return self._group("storage", "File systems of the cluster.", ingress=rules, egress=rules, keep=self._args.keeps)

    def _only(self, part: str, description: str, ingress: Rule, *, wanted: bool) -> pulumi.Output[str] | None:
        return self._group(part, description, ingress=[ingress], egress=[]) if wanted else None

    def _group(self, part: str, description: str, *, ingress: list[Rule], egress: list[Rule], keep: bool = False) -> pulumi.Output[str]:
        group = ec2.SecurityGroup(
            f"{part}-security-group",
            name=self._args.names.name("security_group", part),
            description=description,
            vpc_id=self._args.vpc_id,
            ingress=[ec2.SecurityGroupIngressArgs(**rule.arguments) for rule in ingress],
            egress=[ec2.SecurityGroupEgressArgs(**rule.arguments) for rule in egress],
            tags=self._args.names.tags("network", part),
            opts=beneath(self, keep=keep, replace_first=True),
        )
        found: pulumi.Output[str] = group.id
        return found


def is_public(login: spec.Login) -> bool:
    """Say whether the login nodes answer on the Internet: only if a network on it is allowed. Pure."""
    return any(not addresses.is_private(ipaddress.IPv4Network(cidr)) for cidr in login.allowed_cidrs)


def _range(written: str) -> tuple[int, int]:
    """Read `988` or `1018-1023`."""
    first, _, last = written.partition("-")
    return int(first), int(last or first)
