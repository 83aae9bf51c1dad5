"""Login nodes, and a pass-through network load balancer in front of them that accepts the networks in the blueprint."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_gcp import compute

from blueprints import spec

from .. import contract
from ..provider.resource import OwnResource
from ..resource_options import beneath
from . import tunnel
from .hosts import HostsArgs, Instances
from .names import Names
from .network import Network
from .os_login import OsLogin, OsLoginArgs
from .security import SSH, is_public


@dataclasses.dataclass(frozen=True, slots=True)
class BalancerArgs:
    names: Names
    region: str
    zone: pulumi.Input[str]
    project: pulumi.Input[str]
    network: Network
    instances: Sequence[compute.Instance]
    """The login nodes."""
    is_public: bool


class Balancer(pulumi.ComponentResource):
    """One address in front of all login nodes."""

    address: pulumi.Output[str]
    ready: list[pulumi.CustomResource]
    """Resources that must exist before the address leads to a login node."""

    def __init__(self, name: str, args: BalancerArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Balancer", name, {}, opts)
        names, labels = args.names, args.names.labels("access")
        scheme = "EXTERNAL" if args.is_public else "INTERNAL"
        address = compute.Address(
            "login-address",
            name=names.name("login"),
            description=names.description("Address of the login nodes"),
            address_type=scheme,
            subnetwork=None if args.is_public else args.network.hosts.subnet,
            region=args.region,
            labels=labels,
            opts=beneath(self, replace_first=True),
        )
        group = compute.InstanceGroup(
            "login-group",
            name=names.name("login"),
            description=names.description("Login nodes"),
            zone=args.zone,
            network=args.network.hosts.network,
            opts=beneath(self, replace_first=True),
        )
        numbers = pulumi.Output.all(*(pulumi.Output.all(one.name, one.instance_id) for one in args.instances))
        members = {"project": args.project, "zone": args.zone, "group": group.name, "instances": numbers.apply(dict)}
        joined = OwnResource("clusterwright:gcp:GroupMembers", "login-members", inputs=members, opts=beneath(self))
        check = compute.RegionHealthCheck(
            "login-check",
            name=names.name("login"),
            description=names.description("SSH of login nodes"),
            region=args.region,
            check_interval_sec=10,
            timeout_sec=5,
            healthy_threshold=2,
            unhealthy_threshold=2,
            tcp_health_check=compute.RegionHealthCheckTcpHealthCheckArgs(port=int(SSH)),
            opts=beneath(self, replace_first=True),
        )
        service = compute.RegionBackendService(
            "login-service",
            name=names.name("login"),
            description=names.description("Login nodes"),
            region=args.region,
            protocol="TCP",
            load_balancing_scheme=scheme,
            health_checks=check.self_link,
            connection_draining_timeout_sec=30,
            # One user's sessions reach one node.
            session_affinity="CLIENT_IP",
            backends=[compute.RegionBackendServiceBackendArgs(group=group.self_link, balancing_mode="CONNECTION")],
            opts=beneath(self, replace_first=True),
        )
        rule = compute.ForwardingRule(
            "login-rule",
            name=names.name("login"),
            description=names.description("SSH of login nodes"),
            region=args.region,
            ip_address=address.address,
            ip_protocol="TCP",
            load_balancing_scheme=scheme,
            port_range=SSH if args.is_public else None,
            ports=None if args.is_public else [SSH],
            network=None if args.is_public else args.network.hosts.network,
            subnetwork=None if args.is_public else args.network.hosts.subnet,
            backend_service=service.self_link,
            labels=labels,
            opts=beneath(self, replace_first=True),
        )
        self.address, self.ready = address.address, [rule, joined]
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class LoginNodesArgs:
    names: Names
    group: spec.HostGroup
    login: spec.Login
    region: str
    zone: pulumi.Input[str]
    project: pulumi.Input[str]
    network: Network
    image: pulumi.Input[str]
    account: pulumi.Input[str]
    account_name: pulumi.Input[str]
    """Full name of the service account."""
    users: Sequence[spec.User]
    user_data: pulumi.Output[str]
    """The same for all login nodes."""
    host_key: pulumi.Input[str]
    """Public."""
    has_balancer: bool
    needs: Sequence[pulumi.Resource]


class LoginNodes:
    """Login nodes, and the one address in front of them."""

    described: contract.Hosts
    endpoint: contract.Endpoint
    addresses: dict[str, pulumi.Output[str]]
    """Hostname → address in the cluster's network."""
    jump: pulumi.Output[str]
    """Jump host through which finishing reaches other hosts; empty: none."""
    jump_command: pulumi.Output[str]
    """What carries the connection to the jump host; empty: the network."""
    reached_by: list[pulumi.CustomResource]
    """Resources that must exist before anybody reaches the login nodes."""

    def __init__(self, args: LoginNodesArgs, *, opts: pulumi.ResourceOptions):
        hosts = HostsArgs(
            args.names,
            group=args.group,
            zone=args.zone,
            image=args.image,
            subnet=args.network.hosts.subnet,
            account=args.account,
            user_data=[args.user_data] * args.group.count,
            host_key=args.host_key,
            jump_key=args.host_key,
            needs=args.needs,
            os_login=args.login.os_login,
        )
        made = Instances("access", hosts, opts=opts)
        self.reached_by, self.jump, self.jump_command = [], pulumi.Output.from_input(""), pulumi.Output.from_input("")
        front = made.addresses[0] if args.group.count else self.jump
        if args.has_balancer:
            balancer = BalancerArgs(args.names, args.region, args.zone, args.project, args.network, instances=made.instances, is_public=is_public(args.login))
            built = Balancer("balancer", balancer, opts=opts)
            self.reached_by = built.ready
            front = self.jump = built.address
        if args.login.tunnel and args.group.count:
            front = self.jump = made.instances[0].name
            self.jump_command = tunnel.command(front, zone=args.zone, project=args.project)
        if args.login.os_login and args.group.count:
            OsLogin("os-login", OsLoginArgs(args.users, made.instances, zone=args.zone, project=args.project, account=args.account_name), opts=opts)
        self.addresses = dict(zip(args.group.hostnames, made.addresses, strict=True))
        self.described = made.described(jump=self.jump, jump_command=self.jump_command, after=self.reached_by)
        carried = self.jump_command if args.login.tunnel else None
        self.endpoint = contract.Endpoint(address=front, port=int(SSH), host_key=pulumi.Output.from_input(args.host_key), command=carried)
