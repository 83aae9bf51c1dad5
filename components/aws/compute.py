"""Compute nodes: what they are started from, never the nodes themselves, so that 7,500 of them are as few resources as 75. The elastic program starts them from the fleet table."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_aws import ec2

from blueprints.spec import NodeSet

from . import template
from .names import NODE_SET_TAG, Names
from .options import beneath

GROUPS = {"cluster": ("placement", "compute"), "spread": ("placement-spread", "spread")}
"""EC2's strategy → what the group of it is called after its node set in the stack, and before it in the account."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeTemplateArgs:
    names: Names
    node_set: NodeSet
    image: pulumi.Input[str]
    root_device: str
    subnet: pulumi.Input[str]
    security_groups: Sequence[pulumi.Input[str]]
    profile_arn: pulumi.Input[str]
    user_data: pulumi.Output[str]
    """Base64."""


class NodeTemplate(pulumi.ComponentResource):
    """The launch template of one node set, and the placement groups that its nodes may stand in."""

    launch_template: ec2.LaunchTemplate
    placement_group: pulumi.Output[str] | None
    """The one that nodes are started in; None: they stand anywhere."""

    def __init__(self, name: str, args: NodeTemplateArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:NodeTemplate", name, {}, opts)
        hosts = args.node_set.hosts
        tags = args.names.tags("compute", hosts.prefix) | {NODE_SET_TAG: hosts.name}
        # All of them, whichever is used: a group can't go while nodes run in it, and nodes that were started before another placement was chosen run on until they are idle. They cost nothing.
        groups = {strategy: self._group(args, strategy, tags=tags) for strategy in GROUPS}
        chosen = groups.get(template.placement_strategy(args.node_set) or "")
        self.placement_group = chosen.name if chosen is not None else None
        self.launch_template = ec2.LaunchTemplate(
            f"{hosts.name}-template",
            name=args.names.name("launch_template", "compute", hosts.name),
            # Not how many there are: a new number must not make a new version, after which running nodes would be old.
            description=f"Nodes of {hosts.name} of cluster {args.names.cluster}",
            image_id=args.image,
            instance_type=hosts.machine.name,
            network_interfaces=template.interfaces(hosts.machine.nics, subnet=args.subnet, security_groups=args.security_groups),
            block_device_mappings=template.root_disk(args.root_device),
            metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(**template.metadata()),
            cpu_options=template.processors(hosts.machine),
            iam_instance_profile=ec2.LaunchTemplateIamInstanceProfileArgs(arn=args.profile_arn),
            instance_market_options=template.market(args.node_set),
            capacity_reservation_specification=template.reservation(args.node_set),
            placement=ec2.LaunchTemplatePlacementArgs(group_name=self.placement_group) if self.placement_group is not None else None,
            # A node that shuts itself down is paid for no longer.
            instance_initiated_shutdown_behavior="terminate",
            user_data=args.user_data,
            tag_specifications=template.tagged(tags),
            update_default_version=True,
            tags=tags,
            # Nodes go before their template, and so before the groups, also before one that only older nodes stand in.
            opts=pulumi.ResourceOptions.merge(beneath(self, replace_first=True), pulumi.ResourceOptions(depends_on=[*groups.values()])),
        )
        self.register_outputs({})

    def _group(self, args: NodeTemplateArgs, strategy: str, *, tags: dict[str, pulumi.Input[str]]) -> ec2.PlacementGroup:
        hosts, (what, part) = args.node_set.hosts, GROUPS[strategy]
        return ec2.PlacementGroup(
            f"{hosts.name}-{what}",
            name=args.names.name("placement_group", part, hosts.name),
            strategy=strategy,
            tags=tags,
            opts=beneath(self, replace_first=True),
        )
