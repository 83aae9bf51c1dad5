"""Login nodes, and a network load balancer in front of them that accepts the networks in the blueprint."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_aws import ec2, lb

from blueprints import spec

from .. import contract
from ..resource_options import beneath
from .hosts import HostsArgs, Instances
from .names import Names
from .network import Network
from .security import Security, is_public

SSH = 22


@dataclasses.dataclass(frozen=True, slots=True)
class BalancerArgs:
    names: Names
    vpc_id: pulumi.Input[str]
    subnets: Sequence[pulumi.Input[str]]
    security_group: pulumi.Input[str]
    is_public: bool
    gateway: pulumi.Resource | None = None
    """The internet gateway that the stack creates: until it is attached, AWS refuses an internet-facing balancer with InvalidSubnet."""


class Balancer(pulumi.ComponentResource):
    """One address in front of all login nodes."""

    address: pulumi.Output[str]

    def __init__(self, name: str, args: BalancerArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Balancer", name, {}, opts)
        tags = args.names.tags("access", "login")
        balancer = lb.LoadBalancer(
            "login-balancer",
            # accepted CKV_AWS_91: a network balancer logs TLS only, and this is SSH; the flow logs and the login nodes record who connected
            # accepted CKV_AWS_150: it holds no data, and is deleted with the stack
            name=args.names.name("load_balancer", "login"),
            load_balancer_type="network",
            internal=not args.is_public,
            subnets=[*args.subnets],
            security_groups=[args.security_group],
            enable_cross_zone_load_balancing=True,  # login nodes run in one zone, the balancer may answer in two
            tags=tags,
            opts=pulumi.ResourceOptions.merge(
                beneath(self, replace_first=True), pulumi.ResourceOptions(depends_on=[args.gateway] if args.gateway is not None else None)
            ),
        )
        self._targets = lb.TargetGroup(
            "login-targets",
            name=args.names.name("target_group", "login"),
            vpc_id=args.vpc_id,
            port=SSH,
            protocol="TCP",
            target_type="instance",
            preserve_client_ip="true",  # login nodes log the client's address
            deregistration_delay=60,
            # A user's second session reaches the same login node as the first one, with its files in /tmp and its tmux.
            stickiness={"type": "source_ip", "enabled": True},
            health_check={"protocol": "TCP", "port": str(SSH), "interval": 10, "healthy_threshold": 2, "unhealthy_threshold": 2},
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        self._listener = lb.Listener(
            "login-listener",
            load_balancer_arn=balancer.arn,
            port=SSH,
            protocol="TCP",
            default_actions=[{"type": "forward", "target_group_arn": self._targets.arn}],
            tags=tags,
            opts=beneath(self),
        )
        self.address = balancer.dns_name
        self.register_outputs({})

    def serve(self, hostnames: Sequence[str], instances: Sequence[ec2.Instance]) -> list[pulumi.CustomResource]:
        """Put login nodes behind the balancer; return the resources that it needs before it answers."""
        attached = [
            lb.TargetGroupAttachment(f"{hostname}-target", target_group_arn=self._targets.arn, target_id=instance.id, port=SSH, opts=beneath(self))
            for hostname, instance in zip(hostnames, instances, strict=True)
        ]
        return [self._listener, *attached]


@dataclasses.dataclass(frozen=True, slots=True)
class LoginNodesArgs:
    names: Names
    group: spec.HostGroup
    login: spec.Login
    network: Network
    security: Security
    image: pulumi.Input[str]
    profile_name: pulumi.Input[str]
    user_data: pulumi.Output[str]
    """Base64, the same for all login nodes."""
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
    reached_by: list[pulumi.CustomResource]
    """Resources that must exist before anybody reaches the login nodes."""

    def __init__(self, args: LoginNodesArgs, *, opts: pulumi.ResourceOptions):
        is_open = is_public(args.login) and bool(args.network.public_subnets)
        # Without a balancer, a login node that users reach from the Internet has a public address.
        by_itself = is_open and not args.has_balancer
        hosts = HostsArgs(
            args.names,
            group=args.group,
            image=args.image,
            subnet=args.network.public_subnets[0] if by_itself else args.network.cluster_subnet,
            security_groups=[args.security.hosts, args.security.login],
            profile_name=args.profile_name,
            user_data=[args.user_data] * args.group.count,
            host_key=args.host_key,
            jump_key=args.host_key,
            public_address=by_itself,
            needs=args.needs,
        )
        made = Instances("access", hosts, opts=opts)
        self.reached_by, self.jump = [], pulumi.Output.from_input("")
        front = made.addresses[0] if args.group.count else self.jump
        if args.has_balancer:
            balancer = Balancer("balancer", _balancer(args, is_open=is_open), opts=opts)
            self.reached_by = balancer.serve(args.group.hostnames, made.instances)
            front = self.jump = balancer.address
        elif by_itself:
            front = self.jump = made.public_addresses[0]
        self.addresses = dict(zip(args.group.hostnames, made.addresses, strict=True))
        self.described = made.described(jump=self.jump, after=self.reached_by)
        self.endpoint = contract.Endpoint(address=front, port=SSH, host_key=pulumi.Output.from_input(args.host_key))


def _balancer(args: LoginNodesArgs, *, is_open: bool) -> BalancerArgs:
    return BalancerArgs(
        args.names,
        vpc_id=args.network.vpc_id,
        subnets=args.network.public_subnets if is_open else [args.network.cluster_subnet],
        security_group=args.security.balancer or args.security.login,
        is_public=is_open,
        gateway=args.network.gateway if is_open else None,
    )
