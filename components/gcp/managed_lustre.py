"""Managed Lustre: instances in a network of Google's, and the private services access over which hosts reach them."""

import dataclasses
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_gcp import compute, lustre, servicenetworking

from blueprints import catalog, spec

from .. import contract
from ..resource_options import beneath
from . import storage

SERVICE = "servicenetworking.googleapis.com"
TIMEOUT = "60m"
"""Of creating, growing and deleting an instance (cluster-toolkit v1.95.0, modules/file-system/managed-lustre)."""


@dataclasses.dataclass(frozen=True, slots=True)
class AccessArgs:
    place: storage.Place
    file_systems: Sequence[spec.FileSystem]
    """All that are in Google's network; one at least."""
    hosts_network: pulumi.Output[str]
    """Link of the network."""
    hosts_subnet: pulumi.Output[str]
    """Must exist before: Google chooses a range beside those of all subnets."""
    accounts: Mapping[str, pulumi.Input[str]]
    """Part → address of its hosts' service account."""


class Access(pulumi.ComponentResource):
    """A range of addresses for Google's network, the peering with it, and the rule that lets file servers reach the hosts.

    Clusters have one range for all their instances. Filestore connects its own network, and Cloud SQL has an endpoint in the hosts' subnet: neither needs it.
    """

    ready: list[pulumi.Resource]
    """Must exist before an instance, and before a host mounts one."""

    def __init__(self, name: str, args: AccessArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:PrivateServicesAccess", name, {}, opts)
        names, kept = args.place.names, any(storage.keeps(one) for one in args.file_systems)
        classes = [catalog.storage_class("gcp", one.storage_class) for one in args.file_systems]
        (peered,) = {one.peered for one in classes if one.peered}
        reserved = compute.GlobalAddress(
            "services-range",
            name=names.lasting_name("services"),
            description=names.description("Range of Google's services"),
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            prefix_length=peered.range_prefix,
            network=pulumi.Output.all(args.hosts_network, args.hosts_subnet).apply(lambda known: str(known[0])),
            labels=names.labels("network"),
            opts=beneath(self, keep=kept, replace_first=True),
        )
        connection = servicenetworking.Connection(
            "services-connection",
            network=args.place.network,
            service=SERVICE,
            reserved_peering_ranges=[reserved.name],
            # A run that was killed may have connected the network already.
            update_on_creation_fail=True,
            opts=beneath(self, keep=kept, replace_first=True),
        )
        # Lustre's servers connect to clients, too (Managed Lustre documentation, "Configure a VPC network").
        firewall = compute.Firewall(
            "lustre-firewall",
            name=names.name("allow", "lustre"),
            description=names.description("Servers of Managed Lustre reach hosts"),
            network=args.hosts_network,
            direction="INGRESS",
            allows=[compute.FirewallAllowArgs(protocol="tcp", ports=sorted({port for one in classes for port in one.ports}))],
            source_ranges=[pulumi.Output.concat(reserved.address, "/", str(peered.range_prefix))],
            target_service_accounts=[*args.accounts.values()],
            opts=beneath(self, replace_first=True),
        )
        self.ready = [connection, firewall]
        self.register_outputs({})


@dataclasses.dataclass(frozen=True, slots=True)
class LustreArgs:
    place: storage.Place
    file_system: spec.FileSystem
    access: Access


class Lustre(pulumi.ComponentResource):
    """An instance of Managed Lustre, in the zone of the hosts."""

    mount: contract.Mount

    def __init__(self, name: str, args: LustreArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("clusterwright:gcp:Lustre", name, {}, opts)
        wanted, names = args.file_system, args.place.names
        plain = beneath(self, protect=wanted.protect, keep=storage.keeps(wanted), replace_first=True)
        own = pulumi.ResourceOptions(
            depends_on=args.access.ready,
            # The tier is chosen once (Managed Lustre documentation, "Performance tiers").
            replace_on_changes=["perUnitStorageThroughput"],
            custom_timeouts=pulumi.CustomTimeouts(create=TIMEOUT, update=TIMEOUT, delete=TIMEOUT),
        )
        instance = lustre.Instance(
            f"{wanted.name}-file-system",
            instance_id=names.lasting_name(wanted.name),
            description=names.description(f"File system {wanted.name}"),
            filesystem=wanted.name,
            capacity_gib=str(int(wanted.size_gib or 0)),
            per_unit_storage_throughput=str(wanted.throughput_mbs_per_tib),
            location=args.place.zone,
            network=args.place.network,
            kms_key=wanted.key,
            # It moves the servers to another port, where the clients of these hosts don't look.
            gke_support_enabled=False,
            labels=names.labels("storage"),
            opts=pulumi.ResourceOptions.merge(plain, own),
        )
        self.mount = contract.Mount(
            source=instance.mount_point,
            incarnation=instance.id,
            target=wanted.mount,
            resource=instance,
            kind=storage.LUSTRE,
            options=storage.LUSTRE_OPTIONS,
        )
        self.register_outputs({})


def of(file_systems: Sequence[spec.FileSystem]) -> list[spec.FileSystem]:
    """List the file systems that are instances of Managed Lustre. Pure."""
    return [one for one in file_systems if one.storage_class and catalog.storage_class("gcp", one.storage_class).peered]
