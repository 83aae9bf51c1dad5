"""What an instance template says of a node set: interfaces, processors, how nodes are bought. Pure: the spec in, the SDK's arguments out, nothing registered."""

from pulumi_gcp import compute

from blueprints import catalog, durations
from blueprints.spec import CapacityKind, Machine, NodeSet

from . import machines
from .network import Network, Wire

_BLOCKS = "/reservationBlocks/"


def interfaces(node_set: NodeSet, network: Network) -> list[compute.InstanceTemplateNetworkInterfaceArgs]:
    """Lay out the interfaces of one node in the order of the catalogue: the first is in the hosts' network, each further one has a subnet of its own."""
    found, counted = [], dict[str, int]()
    for number, nic in enumerate(node_set.hosts.machine.nics):
        wire = network.hosts
        if number:
            counted[nic.kind] = counted.get(nic.kind, 0) + 1
            wire = _wire(network, nic.kind, counted[nic.kind])
        found.append(compute.InstanceTemplateNetworkInterfaceArgs(subnetwork=wire.subnet, nic_type=machines.NETWORK_CARDS[nic.kind]))
    return found


def _wire(network: Network, kind: str, number: int) -> Wire:
    """Find the subnet of an interface, by its kind and number (`gvnic-1`)."""
    return network.fabrics[f"{kind}-{number}"]


def processors(machine: Machine) -> compute.InstanceTemplateAdvancedMachineFeaturesArgs | None:
    """State threads where the spec has others than the machine comes with."""
    usual = catalog.machine("gcp", machine.name)
    return (
        compute.InstanceTemplateAdvancedMachineFeaturesArgs(threads_per_core=machine.threads_per_core)
        if machine.threads_per_core != usual.threads_per_core
        else None
    )


def scheduling(node_set: NodeSet) -> compute.InstanceTemplateSchedulingArgs:
    """Say how nodes are bought and what happens when their server is maintained.

    A node never restarts by itself: Slurm has given it up by then, and the elastic program starts another (a node that comes back would be one more).
    """
    family = machines.family(node_set.hosts.machine.name)
    stays = family.migrates and node_set.capacity.kind is not CapacityKind.SPOT
    maintenance = "MIGRATE" if stays and node_set.placement != "packed" else "TERMINATE"
    match provisioning_model(node_set):
        case "SPOT":
            return compute.InstanceTemplateSchedulingArgs(
                provisioning_model="SPOT", preemptible=True, automatic_restart=False, on_host_maintenance="TERMINATE", instance_termination_action="DELETE"
            )
        case "FLEX_START":
            seconds = durations.seconds(node_set.capacity.max_run or "")
            return compute.InstanceTemplateSchedulingArgs(
                provisioning_model="FLEX_START",
                automatic_restart=False,
                on_host_maintenance="TERMINATE",
                instance_termination_action="DELETE",
                max_run_duration=compute.InstanceTemplateSchedulingMaxRunDurationArgs(seconds=seconds) if seconds else None,
            )
        case "RESERVATION_BOUND":
            return compute.InstanceTemplateSchedulingArgs(
                provisioning_model="RESERVATION_BOUND", automatic_restart=False, on_host_maintenance="TERMINATE", instance_termination_action="DELETE"
            )
        case model:
            return compute.InstanceTemplateSchedulingArgs(provisioning_model=model, automatic_restart=False, on_host_maintenance=maintenance)


def provisioning_model(node_set: NodeSet) -> str:
    """Give Compute Engine's word for how nodes are bought.

    A densely deployed reservation takes instances that are bound to it alone (AI Hypercomputer documentation, "Obtain capacity"; skypilot-org/skypilot#9771, the API's refusal). Only such a reservation has
    blocks (compute.v1, Reservation.deploymentType).
    """
    match node_set.capacity.kind:
        case CapacityKind.SPOT:
            return "SPOT"
        case CapacityKind.FLEX:
            return "FLEX_START"
        case CapacityKind.BLOCK:
            return "RESERVATION_BOUND"
        case CapacityKind.RESERVED if machines.family(node_set.hosts.machine.name).dense or _BLOCKS in (node_set.capacity.id or ""):
            return "RESERVATION_BOUND"
    return "STANDARD"


def reservation(node_set: NodeSet) -> compute.InstanceTemplateReservationAffinityArgs:
    """Name the reservation. Other capacity uses none: unless told so, Compute Engine takes any open reservation of the project, which was bought for others (compute.v1, ReservationAffinity)."""
    capacity = node_set.capacity
    if capacity.kind.is_bought_ahead and capacity.id is not None:
        specific = compute.InstanceTemplateReservationAffinitySpecificReservationArgs(
            key="compute.googleapis.com/reservation-name", values=[reservation_name(capacity.id)]
        )
        return compute.InstanceTemplateReservationAffinityArgs(type="SPECIFIC_RESERVATION", specific_reservation=specific)
    return compute.InstanceTemplateReservationAffinityArgs(type="NO_RESERVATION")


def reservation_name(reservation: str) -> str:
    """Give a reservation as an affinity names it: `projects/P/reservations/R[/reservationBlocks/B…]`, without its zone (Compute Engine API, ReservationAffinity)."""
    parts = reservation.removeprefix("https://www.googleapis.com/compute/v1/").split("/")
    return "/".join([*parts[:2], *parts[4:]]) if len(parts) > 4 and parts[2] == "zones" else reservation


def wants_policy(node_set: NodeSet) -> bool:
    """Say whether the template packs nodes by a policy of the stack. A reservation that brings its own placement refuses another, and flex-start nodes have their group's."""
    return node_set.placement == "packed" and not node_set.capacity.kind.is_bought_ahead and node_set.capacity.kind is not CapacityKind.FLEX
