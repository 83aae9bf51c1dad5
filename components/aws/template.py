"""What a launch template says of a node set's instances: interfaces, disks, processors, how they are bought and where they stand. Pure: the spec in, the SDK's arguments out, nothing registered."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_aws import ec2

from blueprints import catalog
from blueprints.spec import Capacity, CapacityKind, Machine, Nic, NodeSet

ROOT_GIB = 100
"""System, driver, CUDA, containers' runtime; users' files and images lie elsewhere."""
_KINDS = {"ena": None, "efa": "efa", "efa-only": "efa-only"}
"""The catalogue's kind of an interface → EC2's; an ENA interface is what it takes when nothing is said."""


def interfaces(nics: Sequence[Nic], *, subnet: pulumi.Input[str], security_groups: Sequence[pulumi.Input[str]]) -> list[ec2.LaunchTemplateNetworkInterfaceArgs]:
    """Lay out the interfaces of one instance, card by card as the catalogue has them.

    Every interface has every group, so that each EFA interface is in the one that allows all to itself. Public addresses are refused where that can be said: EC2 takes the word of a
    single interface only, and gives instances with several of them none.
    """
    found = []
    for nic in nics:
        interface = ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=nic.card,
            device_index=nic.device,
            interface_type=_KINDS[nic.kind],
            subnet_id=subnet,
            security_groups=[*security_groups],
            associate_public_ip_address="false" if len(nics) == 1 else None,
            delete_on_termination="true",
        )
        found.append(interface)
    return found


def root_disk(device: str) -> list[ec2.LaunchTemplateBlockDeviceMappingArgs]:
    """Describe the system's disk: encrypted, and gone with the instance, as nothing on it is the only copy."""
    disk = ec2.LaunchTemplateBlockDeviceMappingEbsArgs(volume_size=ROOT_GIB, volume_type="gp3", encrypted="true", delete_on_termination="true")
    return [ec2.LaunchTemplateBlockDeviceMappingArgs(device_name=device, ebs=disk)]


def metadata() -> dict[str, Any]:
    """Describe access to the metadata service.

    Tokens keep a request that somebody forges through a web server from getting the role's keys; one hop keeps them from containers with a network of their own (jobs' containers share the
    host's, where the firewall lets only root through). Tags are how an instance learns its name.
    """
    return {
        "http_endpoint": "enabled",
        "http_tokens": "required",
        "http_put_response_hop_limit": 1,
        "instance_metadata_tags": "enabled",
    }


def processors(machine: Machine) -> ec2.LaunchTemplateCpuOptionsArgs | None:
    """State cores and threads where the spec has others than the machine comes with; saying what is usual is refused by machines that allow no choice (g5, hpc)."""
    usual = catalog.machine("aws", machine.name)
    if (machine.sockets * machine.cores_per_socket, machine.threads_per_core) == (usual.sockets * usual.cores_per_socket, usual.threads_per_core):
        return None
    return ec2.LaunchTemplateCpuOptionsArgs(core_count=machine.sockets * machine.cores_per_socket, threads_per_core=machine.threads_per_core)


def market(node_set: NodeSet) -> ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """Say how instances are bought, where it isn't on demand."""
    match node_set.capacity.kind:
        case CapacityKind.SPOT:
            # A node that comes back after an interruption would be one that Slurm has given up already.
            once = ec2.LaunchTemplateInstanceMarketOptionsSpotOptionsArgs(spot_instance_type="one-time", instance_interruption_behavior="terminate")
            return ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="spot", spot_options=once)
        case CapacityKind.BLOCK:
            return ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
    return None


def reservation(node_set: NodeSet) -> ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """Name the reservation or block, or a group of them by its ARN. Without one, instances use any open reservation that fits, which is EC2's own way."""
    capacity = node_set.capacity
    if not capacity.kind.is_bought_ahead or capacity.id is None:
        return None
    is_group = names_group(capacity)
    wanted = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=None if is_group else capacity.id, capacity_reservation_resource_group_arn=capacity.id if is_group else None
    )
    return ec2.LaunchTemplateCapacityReservationSpecificationArgs(capacity_reservation_target=wanted)


def names_group(capacity: Capacity) -> bool:
    """Say whether capacity is bought in a group of reservations, which has an ARN, and not in one, which has an id."""
    return capacity.kind.is_bought_ahead and capacity.id is not None and capacity.id.startswith("arn:")


def placement_strategy(node_set: NodeSet) -> str | None:
    """Say how a placement group of the stack's own puts the nodes; None: there is none.

    Never where capacity was bought: it stands somewhere already, and a second placement makes EC2 find none of it.
    """
    if node_set.capacity.kind.is_bought_ahead:
        return None
    return {"packed": "cluster", "spread": "spread"}.get(node_set.placement)


def tagged(tags: Mapping[str, pulumi.Input[str]]) -> list[ec2.LaunchTemplateTagSpecificationArgs]:
    """Tag what comes with an instance too: volumes and interfaces that outlive it are found by their tags."""
    return [ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=dict(tags)) for kind in ("instance", "volume", "network-interface")]
