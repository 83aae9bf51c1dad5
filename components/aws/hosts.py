"""Controllers and login nodes: hosts that always run, each an instance of the stack with a known host key."""

import base64
import dataclasses
from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi_aws import ec2

from blueprints.spec import HostGroup

from .. import contract
from ..resource_options import beneath
from . import template, user_data
from .names import NODE_TAG, Names


@dataclasses.dataclass(frozen=True, slots=True)
class HostsArgs:
    names: Names
    group: HostGroup
    image: pulumi.Input[str]
    subnet: pulumi.Input[str]
    security_groups: Sequence[pulumi.Input[str]]
    profile_name: pulumi.Input[str]
    user_data: Sequence[pulumi.Output[str]]
    """Base64, host by host."""
    host_key: pulumi.Input[str]
    """Public."""
    jump_key: pulumi.Input[str]
    """Public host key of the jump host."""
    interfaces: Sequence[pulumi.Output[str]] = ()
    """Network interfaces that outlive the instances, and keep their addresses; none: each instance creates its own."""
    protect: bool = False
    """Only the stack may terminate an instance."""
    public_address: bool = False
    needs: Sequence[pulumi.Resource] = ()


class Instances(pulumi.ComponentResource):
    """The instances of one group of hosts."""

    instances: list[ec2.Instance]
    addresses: list[pulumi.Output[str]]
    """Private ones."""
    public_addresses: list[pulumi.Output[str]]

    def __init__(self, name: str, args: HostsArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:Instances", name, {}, opts)
        self._args = args
        self.instances = [self._instance(number) for number in range(args.group.count)]
        self.addresses = [instance.private_ip for instance in self.instances]
        self.public_addresses = [self._public(number) for number in range(args.group.count)] if args.public_address else []
        self.register_outputs({})

    def described(self, *, jump: pulumi.Input[str], after: Sequence[pulumi.CustomResource]) -> contract.Hosts:
        """Describe the hosts for finishing.

        Args:
            jump: the host that they are reached through; empty: they are reached directly.
            after: resources that must exist before the hosts are reached.
        """
        args = self._args
        hosts = [self._describe(number, jump=jump, after=[one.id for one in after]) for number in range(args.group.count)]
        boots = {args.group.hostname(number): instance.id for number, instance in enumerate(self.instances)}
        return contract.Hosts(group=args.group, described=pulumi.Output.all(*hosts), boots=pulumi.Output.all(**boots), resource=self)

    def _describe(self, number: int, *, jump: pulumi.Input[str], after: Sequence[pulumi.Output[str]]) -> pulumi.Output[dict[str, Any]]:
        args, instance = self._args, self.instances[number]
        known: pulumi.Output[dict[str, Any]] = pulumi.Output.all(
            address=instance.private_ip, incarnation=instance.id, host_key=args.host_key, jump=jump, jump_key=args.jump_key, after=list(after)
        )
        return known.apply(lambda values: _described(args.group.hostname(number), values))

    def _instance(self, number: int) -> ec2.Instance:
        args, hostname = self._args, self._args.group.hostname(number)
        own = args.interfaces[number] if args.interfaces else None
        tags = args.names.tags(args.group.role, hostname)
        options = pulumi.ResourceOptions.merge(beneath(self, replace_first=own is not None), pulumi.ResourceOptions(depends_on=[*args.needs]))
        return ec2.Instance(
            hostname,
            # accepted CKV_AWS_126: one-minute metrics cost money for each host, and the cluster's own monitoring covers the hosts
            # accepted CKV_AWS_135: current machines are EBS-optimized by default, and refuse the option
            ami=args.image,
            instance_type=args.group.machine.name,
            subnet_id=args.subnet if own is None else None,
            vpc_security_group_ids=[*args.security_groups] if own is None else None,
            primary_network_interface=None if own is None else ec2.InstancePrimaryNetworkInterfaceArgs(network_interface_id=own),
            iam_instance_profile=args.profile_name,
            root_block_device=ec2.InstanceRootBlockDeviceArgs(
                volume_size=template.ROOT_GIB, volume_type="gp3", encrypted=True, delete_on_termination=True, tags=tags
            ),
            metadata_options=ec2.InstanceMetadataOptionsArgs(**template.metadata()),
            user_data_base64=args.user_data[number],
            # cloud-init reads user data once in an instance's life: changed user data replaces the host. Its data is on other volumes.
            user_data_replace_on_change=True,
            disable_api_termination=args.protect,
            force_destroy=args.protect,  # the stack itself may terminate what it protects from others
            tags=tags | {NODE_TAG: hostname},
            opts=options,
        )

    def _public(self, number: int) -> pulumi.Output[str]:
        hostname = self._args.group.hostname(number)
        tags = self._args.names.tags(self._args.group.role, hostname)
        address: pulumi.Output[str] = ec2.Eip(f"{hostname}-address", domain="vpc", instance=self.instances[number].id, tags=tags, opts=beneath(self)).public_ip
        return address


def encoded(text: str) -> str:
    return base64.b64encode(user_data.packed(text)).decode()


def _described(name: str, known: dict[str, Any]) -> dict[str, Any]:
    described = {key: known[key] for key in ("address", "incarnation", "host_key")}
    through = {"jump": known["jump"], "jump_key": known["jump_key"]} if known["jump"] else {}
    return {"name": name, **described, **through}
