"""Launch templates and placement groups of compute nodes, not the nodes themselves: 7,500 nodes need as few resources as 75. The elastic program starts nodes from the fleet table."""

import dataclasses
from collections.abc import Sequence

import pulumi
from pulumi_aws import ec2

from blueprints.spec import NodeSet

from ..resource_options import beneath
from . import template
from .names import NODE_SET_TAG, Names

GROUPS = {"cluster": ("placement", "compute"), "spread": ("placement-spread", "spread")}
"""EC2's strategy → the part of a placement group's name: a suffix of the node set in the stack, a prefix in the account."""


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
    """The launch template of one node set, and the placement groups for its nodes."""

    launch_template: ec2.LaunchTemplate
    placement_group: pulumi.Output[str] | None
    """The placement group in which nodes start; None: no placement group."""

    def __init__(self, name: str, args: NodeTemplateArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:aws:NodeTemplate", name, {}, opts)
        hosts = args.node_set.hosts
        tags = args.names.tags("compute", hosts.prefix) | {NODE_SET_TAG: hosts.name}
        # All groups, whichever is used: a group with running nodes can't be deleted, and nodes from before a change of placement run until they are idle. Groups cost nothing.
        groups = {strategy: self._group(args, strategy, tags=tags) for strategy in GROUPS}
        chosen = groups.get(template.placement_strategy(args.node_set) or "")
        self.placement_group = chosen.name if chosen is not None else None
        self.launch_template = ec2.LaunchTemplate(
            f"{hosts.name}-template",
            name=args.names.name("launch_template", "compute", hosts.name),
            # Without the node count: another count must not create a new version, which would make running nodes outdated.
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
            # A node that shuts itself down is terminated, and costs nothing more.
            instance_initiated_shutdown_behavior="terminate",
            user_data=args.user_data,
            tag_specifications=template.tagged(tags),
            update_default_version=True,
            tags=tags,
            # Nodes are deleted before their template, and so before all groups, including one that only older nodes use.
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
