"""Where people log in: login nodes, and a network load balancer in front of them that lets in whom the blueprint allows."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_aws import ec2, lb

from .names import Names
from .options import beneath

SSH = 22


@dataclasses.dataclass(frozen=True, slots=True)
class BalancerArgs:
    names: Names
    vpc_id: pulumi.Input[str]
    subnets: Sequence[pulumi.Input[str]]
    security_group: pulumi.Input[str]
    is_public: bool


class Balancer(pulumi.ComponentResource):
    """One address in front of all login nodes."""

    address: pulumi.Output[str]

    def __init__(self, name: str, args: BalancerArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Balancer", name, {}, opts)
        tags = args.names.tags("access", "login")
        balancer = lb.LoadBalancer(
            "login-balancer",
            # accepted CKV_AWS_91: a network balancer logs TLS only, and this is SSH; who connected stands in the flow logs and on the login nodes
            # accepted CKV_AWS_150: it holds nothing that could be lost, and has to go with the stack
            name=args.names.name("load_balancer", "login"),
            load_balancer_type="network",
            internal=not args.is_public,
            subnets=[*args.subnets],
            security_groups=[args.security_group],
            enable_cross_zone_load_balancing=True,  # login nodes stand in one zone, the balancer may answer in two
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
        self._targets = lb.TargetGroup(
            "login-targets",
            name=args.names.name("target_group", "login"),
            vpc_id=args.vpc_id,
            port=SSH,
            protocol="TCP",
            target_type="instance",
            preserve_client_ip="true",  # login nodes log who came
            deregistration_delay=60,
            # A second session of somebody lands where the first one is, with its files in /tmp and its tmux.
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
        """Put login nodes behind the balancer; give what has to be there before it answers."""
        attached = [
            lb.TargetGroupAttachment(f"{hostname}-target", target_group_arn=self._targets.arn, target_id=instance.id, port=SSH, opts=beneath(self))
            for hostname, instance in zip(hostnames, instances, strict=True)
        ]
        return [self._listener, *attached]
