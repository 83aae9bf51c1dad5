"""The AWS target: one network in one region, its file systems, images and rules, on which offerings run schedulers."""

import dataclasses

import pulumi
import pulumi_aws as aws

from blueprints.spec import ClusterSpec

from .. import contract, host_folders
from ..provider.resource import OwnResource
from . import encryption_keys, file_systems, storage, zones
from .control import Addresses, AddressesArgs
from .file_systems import FileSystems
from .image import BuilderArgs, Images, ImagesArgs
from .names import Names, names
from .network import Network, NetworkArgs
from .security import Security, SecurityArgs

_CLUSTER_FOLDER = "_cluster"  # no file system of a blueprint can have this name


@dataclasses.dataclass(frozen=True, slots=True)
class Foundation(contract.Foundation):
    """What all offerings of a stack on AWS share."""

    cluster: ClusterSpec
    stack: str
    names: Names
    network: Network
    security: Security
    addresses: Addresses
    """Of Slurm's controllers: file systems that the first one exports and hosts know them by their addresses."""
    place: storage.Place
    file_systems: FileSystems
    cluster_folder: contract.Mount
    """What controllers write for all hosts."""
    images: Images
    own_opts: pulumi.ResourceOptions
    """For the project's own kinds."""
    opts: pulumi.ResourceOptions
    """For resources of AWS."""


class Aws:
    """Implements `contract.Target`: private hosts in one zone, and login nodes as the only way in."""

    def __init__(self, cluster: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions):
        self._cluster, self._stack, self._own_opts = cluster, stack, opts

    def foundation(self) -> Foundation:
        cluster, stack = self._cluster, self._stack
        _require_way_out(cluster)
        site = OwnResource("clusterwright:aws:Site", "site", inputs={"stack": stack, "cluster": cluster.name}, outputs=("owner",), opts=self._own_opts)
        provider = aws.Provider("aws", region=cluster.network.region, opts=self._own_opts)
        opts = pulumi.ResourceOptions.merge(self._own_opts, pulumi.ResourceOptions(providers=[provider]))
        named = names(cluster, stack, site.output("owner"))
        network, security = _network(cluster, named, provider=provider, opts=opts)
        subnets = _controllers_subnets(cluster, network)
        group = cluster.slurm.control if cluster.slurm else None
        addresses = Addresses("addresses", AddressesArgs(named, group=group, subnets=subnets, security_groups=[security.hosts, security.control]), opts=opts)

        place = storage.Place(
            named,
            region=cluster.network.region,
            subnet=network.cluster_subnet,
            zone=network.cluster_zone or pulumi.Output.from_input(""),
            security_group=security.storage,
            further_subnets=subnets[1:],
        )
        # Finishing writes it again with the next `up`, so nothing in it needs protection.
        folder = storage.NfsArgs(place, name="cluster", mount=host_folders.CLUSTER, protect=False, keep=False, part="control")
        cluster_folder = storage.Nfs(_CLUSTER_FOLDER, folder, opts=opts)
        # The mount target is in the zone of the subnet, which in a network that exists already only its owner knows.
        place = dataclasses.replace(place, zone=network.cluster_zone or cluster_folder.zone)
        exporter = addresses.addresses[0] if addresses.addresses else None
        wanted = encryption_keys.resolve(cluster.storage, pulumi.InvokeOptions(provider=provider))
        created = file_systems.provision(wanted, place, exporter=exporter, after=cluster_folder.mount.resource, opts=opts)

        builder = BuilderArgs(
            named,
            region=cluster.network.region,
            subnet=network.cluster_subnet,
            security_group=security.hosts,
            log_days=_log_days(cluster),
            needs=network.ready,
        )
        return Foundation(
            mounts=created.mounts,
            cluster=cluster,
            stack=stack,
            names=named,
            network=network,
            security=security,
            addresses=addresses,
            place=place,
            file_systems=created,
            cluster_folder=cluster_folder.mount,
            images=Images(ImagesArgs(builder, cluster.software), opts=opts),
            own_opts=self._own_opts,
            opts=opts,
        )


def has_balancer(cluster: ClusterSpec) -> bool:
    return cluster.login.load_balancer and cluster.access.count > 0


def _network(cluster: ClusterSpec, named: Names, *, provider: aws.Provider, opts: pulumi.ResourceOptions) -> tuple[Network, Security]:
    keeps = storage.keeps_network(cluster.storage)
    found = zones.look_up(cluster, pulumi.InvokeOptions(provider=provider))
    network = Network("network", NetworkArgs(named, cluster.network, zones=found, keeps=keeps, log_days=_log_days(cluster)), opts=opts)
    security = Security(
        "security",
        SecurityArgs(
            named,
            vpc_id=network.vpc_id,
            network=cluster.network,
            login=cluster.login,
            storage=cluster.storage,
            s3_prefix_list=network.s3_prefix_list,
            uses_fabric_storage=any(one.fabric for one in cluster.storage),
            has_balancer=has_balancer(cluster),
            has_state=cluster.controllers > 1,
            has_database=cluster.slurm is not None and cluster.slurm.database.placement == "managed",
            keeps=keeps,
        ),
        opts=opts,
    )
    if security.endpoints is not None:
        network.endpoints(security.endpoints)
    return network, security


def _controllers_subnets(cluster: ClusterSpec, network: Network) -> list[pulumi.Output[str]]:
    """Put controllers beside the nodes, and the second one into the second zone that the blueprint names."""
    is_apart = cluster.controllers > 1 and len(cluster.network.zones) > 1
    return network.service_subnets[: 2 if is_apart else 1]


def _log_days(cluster: ClusterSpec) -> int:
    return cluster.monitoring.retention_days


def _require_way_out(cluster: ClusterSpec) -> None:
    """Refuse a network in which no image can be built.

    Raises:
        pulumi.RunError: with what to write instead.
    """
    if cluster.network.egress == "none":
        raise pulumi.RunError(
            "an image can't be built in a network without a way out\n"
            "  why: the software profile's packages come from the Internet\n"
            "  do:  write `network: {egress: nat}`; hosts stay unreachable from outside"
        )
