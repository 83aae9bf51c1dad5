"""Templates of compute nodes, not the nodes themselves: 7,500 nodes need as few resources as 75. The elastic program starts nodes from the fleet table."""

import dataclasses
import hashlib
import json
from typing import Any

import pulumi
from pulumi_gcp import compute

from blueprints.spec import IN_DOMAINS, NodeSet

from ..resource_options import beneath
from . import machines, template
from .hosts import ROOT_GIB, metadata
from .identity import SCOPE
from .names import COMPUTE, NODE_SET_LABEL, Names
from .network import Network


@dataclasses.dataclass(frozen=True, slots=True)
class NodeTemplateArgs:
    names: Names
    node_set: NodeSet
    region: str
    image: pulumi.Input[str]
    network: Network
    account: pulumi.Input[str]
    """Address of the service account."""
    user_data: pulumi.Output[str]


class NodeTemplate(pulumi.ComponentResource):
    """The instance template of one node set, and the placement policy of its nodes."""

    instance_template: compute.InstanceTemplate
    labels: dict[str, pulumi.Input[str]]
    """Of each node."""
    policy: pulumi.Output[str] | None
    """The placement policy; None: nodes start anywhere in the zone, or each in its domain."""
    domains: list[compute.ResourcePolicy]
    """The placement policies of NVLink domains, in the order of the nodes' numbers; the elastic program names one to each instance."""

    def __init__(self, name: str, args: NodeTemplateArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:NodeTemplate", name, {}, opts)
        hosts, node_set = args.node_set.hosts, args.node_set
        family = machines.family(hosts.machine.name)
        self.labels = args.names.labels(COMPUTE) | {NODE_SET_LABEL: hosts.name}
        self.policy = self._placement(args, "placement").self_link if template.wants_policy(node_set) else None
        size = hosts.machine.domain_nodes if node_set.placement == IN_DOMAINS else None
        self.domains = [self._placement(args, f"domain-{number}", family.slice) for number in range(1, -(-hosts.count // size) + 1)] if size else []
        disk = compute.InstanceTemplateDiskArgs(
            boot=True, auto_delete=True, source_image=args.image, disk_size_gb=ROOT_GIB, disk_type=family.disk, labels=self.labels
        )
        wanted: dict[str, Any] = {
            "machine_type": hosts.machine.name,
            "disks": [disk],  # local SSDs of accelerator machines come with them
            "network_interfaces": template.interfaces(node_set, args.network),
            "service_account": compute.InstanceTemplateServiceAccountArgs(email=args.account, scopes=[SCOPE]),
            "metadata": metadata(args.user_data),
            "scheduling": template.scheduling(node_set),
            "reservation_affinity": template.reservation(node_set),
            "advanced_machine_features": template.processors(hosts.machine),
            "resource_policies": self.policy,
            "shielded_instance_config": compute.InstanceTemplateShieldedInstanceConfigArgs(
                enable_secure_boot=False, enable_vtpm=True, enable_integrity_monitoring=True
            ),
            "labels": self.labels,
            # Without the node count: another count must not make another template, which would make running nodes outdated.
            "description": args.names.description(f"Nodes of {hosts.name}"),
        }
        # A template can't be changed: a changed one is another one beside it, and its name tells nodes of the old one from nodes of the new one.
        name_of_content = pulumi.Output.from_input(wanted).apply(lambda known: args.names.name(hosts.name, _digest(known)))
        self.instance_template = compute.InstanceTemplate(f"{hosts.name}-template", name=name_of_content, **wanted, opts=beneath(self))
        self.register_outputs({})

    def _placement(self, args: NodeTemplateArgs, what: str, topology: str = "") -> compute.ResourcePolicy:
        """Create the policy that starts nodes near each other.

        Args:
            topology: of the NVLink domain that the policy stands for.
        """
        name = args.node_set.hosts.name
        return compute.ResourcePolicy(
            f"{name}-{what}",
            name=args.names.name("nodes", f"{name}-{what}" if topology else name),
            description=args.names.description(f"Placement of {name}"),
            region=args.region,
            group_placement_policy=compute.ResourcePolicyGroupPlacementPolicyArgs(collocation="COLLOCATED", gpu_topology=topology or None),
            opts=beneath(self, replace_first=True),
        )


def _digest(values: Any) -> str:
    """Hash what a template is made from."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=vars).encode()).hexdigest()[:12]
