"""Security groups: allowed connections between hosts, services and networks.

Rules are inline in the groups, not separate resources, so that a rule that somebody added by hand shows as drift, and the next `up --refresh` removes it.
"""

import dataclasses
import ipaddress
from typing import Any

import pulumi
from pulumi_aws import ec2

from blueprints import addresses, catalog, spec

from ..resource_options import beneath
from .names import Names

_TCP, _EVERYTHING = "tcp", "-1"
_INTERNET = "0.0.0.0/0"
_HTTPS, _SSH, _MARIADB = 443, 22, 3306
_NFS = "2049"
_PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """Allowed peers and ports; without ports, all traffic."""

    what: str
    first: int = 0
    last: int = 0
    itself: bool = False
    cidrs: tuple[str, ...] = ()
    groups: tuple[pulumi.Output[str], ...] = ()
    prefix_lists: tuple[pulumi.Output[str], ...] = ()

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the SDK's rules; they are the same for both directions."""
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
    """Hosts reach a file system over EFA."""
    has_balancer: bool
    has_state: bool
    """Controllers share a file system."""
    has_database: bool
    keeps: bool
    """A file system in these groups outlives the stack."""


class Security(pulumi.ComponentResource):
    """The stack's security groups, by purpose."""

    hosts: pulumi.Output[str]
    """Every host has it."""
    control: pulumi.Output[str]
    login: pulumi.Output[str]
    balancer: pulumi.Output[str] | None
    storage: pulumi.Output[str]
    state: pulumi.Output[str] | None
    """For file systems that only controllers mount."""
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
        # EFA requires that the group allows all traffic to and from itself; an address range instead is not enough (EC2 User Guide, "Get started with EFA").
        within = Rule("Hosts of the cluster, EFA included", itself=True)
        # Lustre's servers also connect to clients. The rule names their addresses: groups that name each other can be neither created nor deleted.
        servers = [Rule("Servers of Lustre", *_range(port), cidrs=self._inside) for port in self._lustre_ports]
        return self._group("hosts", "Every host of the cluster.", ingress=[within, *servers], egress=[within, *self._way_out()], keep=self._args.keeps)

    def _way_out(self) -> list[Rule]:
        """Destinations that hosts may connect to. With NAT: all, since packages, registries and data sets come from everywhere."""
        network, s3 = self._args.network, self._args.s3_prefix_list
        if network.egress == "nat":
            return [Rule("Through the address translation", cidrs=(_INTERNET,))]
        inside = Rule("The network itself: storage and private endpoints", cidrs=self._inside)
        return [inside] if s3 is None else [inside, Rule("S3", _HTTPS, prefix_lists=(s3,))]

    @property
    def _inside(self) -> tuple[str, ...]:
        """Address ranges of the network."""
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
        """Login nodes accept the load balancer only; without one, the allowed networks."""
        ingress = self._from_outside() if self.balancer is None else Rule("SSH through the load balancer", _SSH, groups=(self.balancer,))
        return self._group("login", "Login nodes.", ingress=[ingress], egress=[])

    def _from_outside(self) -> Rule:
        """SSH from the networks that the blueprint allows; without any, from hosts of the cluster only."""
        own = (self._args.network.cidr,) if self._args.network.cidr else ()
        allowed = self._args.login.allowed_cidrs or own
        return Rule("SSH from the allowed networks", _SSH, cidrs=allowed) if allowed else Rule("SSH from hosts of the cluster", _SSH, groups=(self.hosts,))

    def _storage(self) -> pulumi.Output[str]:
        """File systems: the ports of the storage classes in use, and NFS for the table of users.

        Lustre's servers connect to clients and to each other, so the rules apply in both directions and to the group itself; FSx refuses a group without the latter, and without
        1018-1023 a mount hangs from time to time (FSx for Lustre User Guide, "File system access control with Amazon VPC" and "Creating an FSx for Lustre file system fails").
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
            # accepted CKV_AWS_382 of hosts-security-group: packages, registries and data sets come from everywhere; `network.egress: none` closes it, and flow logs record it
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
    """Return whether the login nodes are reachable from the Internet: only if the blueprint allows a public network. Pure."""
    return any(not addresses.is_private(ipaddress.IPv4Network(cidr)) for cidr in login.allowed_cidrs)


def _range(written: str) -> tuple[int, int]:
    """Read `988` or `1018-1023`."""
    first, _, last = written.partition("-")
    return int(first), int(last or first)
