"""Flex-start capacity: a managed instance group of size 0, in whose queue the elastic program requests nodes (`components/elastic/fleets/gcp/flex.py`)."""

import dataclasses

import pulumi
from pulumi_gcp import compute

from blueprints import durations
from blueprints.spec import CapacityKind, NodeSet

from ..resource_options import beneath
from .names import Names

_INSTANCE_NAMES = "queued"
"""Ends the prefix of instances that are requested without a name. The elastic program names each."""


@dataclasses.dataclass(frozen=True, slots=True)
class FlexGroupArgs:
    names: Names
    node_set: NodeSet
    region: str
    zone: pulumi.Output[str]
    template: compute.InstanceTemplate


class FlexGroup(pulumi.ComponentResource):
    """The group of one node set. It starts nodes when their capacity is there, and never replaces one."""

    group: compute.RegionInstanceGroupManager

    def __init__(self, name: str, args: FlexGroupArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:FlexGroup", name, {}, opts)
        node_set = args.node_set
        policy = self._workload(args) if node_set.placement == "packed" else None
        self.group = compute.RegionInstanceGroupManager(
            f"{node_set.hosts.name}-group",
            name=args.names.name("nodes", node_set.hosts.name),
            description=args.names.description(f"Nodes of {node_set.hosts.name}"),
            region=args.region,
            distribution_policy_zones=[args.zone],
            # Resize requests work with this shape alone, and the shape with this redistribution alone (Compute Engine documentation, "Create resize requests").
            distribution_policy_target_shape="ANY_SINGLE_ZONE",
            update_policy=compute.RegionInstanceGroupManagerUpdatePolicyArgs(
                type="OPPORTUNISTIC", minimal_action="REPLACE", instance_redistribution_type="NONE", max_surge_fixed=0, max_unavailable_fixed=1
            ),
            instance_lifecycle_policy=compute.RegionInstanceGroupManagerInstanceLifecyclePolicyArgs(default_action_on_failure="DO_NOTHING"),
            base_instance_name=f"{args.names.instance_prefix}{_INSTANCE_NAMES}",
            versions=[compute.RegionInstanceGroupManagerVersionArgs(instance_template=args.template.self_link)],
            resource_policies=compute.RegionInstanceGroupManagerResourcePoliciesArgs(workload_policy=policy) if policy is not None else None,
            target_size=0,
            wait_for_instances=False,
            opts=beneath(self, replace_first=True, ignore=("targetSize",)),  # each request for nodes changes it
        )
        self.register_outputs({})

    @property
    def path(self) -> pulumi.Output[str]:
        """Give the group's path in the project, as the fleet table has it."""
        return pulumi.Output.concat("regions/", self.group.region, "/instanceGroupManagers/", self.group.name)

    def _workload(self, args: FlexGroupArgs) -> pulumi.Output[str]:
        """Create the policy that keeps nodes near each other; instances of a group take no placement policy for that."""
        name = args.node_set.hosts.name
        policy = compute.ResourcePolicy(
            f"{name}-workload",
            name=args.names.name("workload", name),
            description=args.names.description(f"Placement of {name}"),
            region=args.region,
            workload_policy=compute.ResourcePolicyWorkloadPolicyArgs(type="HIGH_THROUGHPUT"),
            opts=beneath(self, replace_first=True),
        )
        link: pulumi.Output[str] = policy.self_link
        return link


def is_queued(node_set: NodeSet) -> bool:
    """Say whether nodes are requested in a queue."""
    return node_set.capacity.kind is CapacityKind.FLEX


def run_seconds(node_set: NodeSet) -> int | None:
    """Give how long a node runs at most; None: the blueprint doesn't say."""
    return durations.seconds(node_set.capacity.max_run or "")
