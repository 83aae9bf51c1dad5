"""The Google Cloud target: networks in one region, file systems, images and rules, on which offerings run schedulers."""

import dataclasses

import pulumi
import pulumi_gcp as gcp

from blueprints.spec import ClusterSpec, HostGroup

from .. import contract, host_folders
from ..provider.resource import OwnResource
from . import file_systems, machines, shared_state, storage, tunnel, zones
from .control import CLUSTER_GIB, Addresses, AddressesArgs
from .file_systems import FileSystems
from .identity import Accounts, AccountsArgs
from .image import Images, ImagesArgs
from .names import Names, names
from .network import Network, NetworkArgs
from .security import Firewall, FirewallArgs

_CLUSTER_FOLDER = "_cluster"  # no file system of a blueprint can have this name


@dataclasses.dataclass(frozen=True, slots=True)
class Foundation(contract.Foundation):
    """What all offerings of a stack on Google Cloud share."""

    cluster: ClusterSpec
    stack: str
    names: Names
    zone: pulumi.Output[str]
    """Of all hosts."""
    accounts: Accounts
    network: Network
    firewall: Firewall
    addresses: Addresses
    """Of Slurm's controllers."""
    place: storage.Place
    file_systems: FileSystems
    cluster_folder: storage.Volume
    """What one controller writes for all hosts, and exports to them; two controllers use a file system of `shared_state`, and this disk only keeps the zone."""
    shared_state: shared_state.SharedState | None
    """What two controllers share; None: there is one."""
    images: Images
    own_opts: pulumi.ResourceOptions
    """For the project's own kinds."""
    opts: pulumi.ResourceOptions
    """For resources of Google Cloud."""


class Gcp:
    """Implements `contract.Target`: private hosts in one zone, and login nodes as the only way in."""

    def __init__(self, cluster: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions):
        self._cluster, self._stack, self._own_opts = cluster, stack, opts

    def foundation(self) -> Foundation:
        cluster, stack = self._cluster, self._stack
        group = _require_what_is_built(cluster)
        site = OwnResource("clusterwright:gcp:Site", "site", inputs={"stack": stack, "cluster": cluster.name}, outputs=("owner",), opts=self._own_opts)
        region = cluster.network.region
        provider = gcp.Provider("gcp", region=region, opts=self._own_opts)
        opts = pulumi.ResourceOptions.merge(self._own_opts, pulumi.ResourceOptions(providers=[provider]))
        named = names(cluster, stack, site.output("owner"))
        accounts = Accounts("accounts", AccountsArgs(named), opts=opts)

        disk_type = machines.family(group.machine.name).disk
        # Finishing writes it again with the next `up`, so nothing in it needs protection.
        folder = storage.VolumeArgs(
            named,
            name="cluster",
            part="control",
            zone=zones.chosen(cluster, pulumi.InvokeOptions(provider=provider)),
            size_gib=CLUSTER_GIB,
            kind=disk_type,
            mount=host_folders.CLUSTER,
            protect=False,
            holds_zone=not cluster.network.zones,
        )
        cluster_folder = storage.Volume(_CLUSTER_FOLDER, folder, opts=opts)
        zone = cluster_folder.zone

        network = Network("network", NetworkArgs(named, cluster.network, zone, accounts.project, keeps=storage.keeps_network(cluster.storage)), opts=opts)
        firewall = Firewall("firewall", FirewallArgs(named, network, cluster.login, accounts.emails, has_balancer=has_balancer(cluster)), opts=opts)
        addresses = Addresses("addresses", AddressesArgs(named, group, region=region, subnet=network.hosts.subnet), opts=opts)
        place = storage.Place(named, region=region, zone=zone, network=network.hosts_name, clients=cluster.network.cidr, disk_type=disk_type)
        created = file_systems.provision(
            cluster.storage,
            place,
            hosts=network.hosts,
            accounts=accounts.emails,
            exporter=addresses.addresses[0],
            after=cluster_folder,
            opts=opts,
        )
        shared = shared_state.provision(place, protect=cluster.slurm.database.protect, opts=opts) if cluster.slurm and group.count > 1 else None
        images = ImagesArgs(named, cluster.software, project=accounts.project, zone=zone, subnet=network.hosts.subnet, needs=network.ready)
        return Foundation(
            mounts=created.mounts,
            cluster=cluster,
            stack=stack,
            names=named,
            zone=zone,
            accounts=accounts,
            network=network,
            firewall=firewall,
            addresses=addresses,
            place=place,
            file_systems=created,
            cluster_folder=cluster_folder,
            shared_state=shared,
            images=Images(images, opts=self._own_opts),
            own_opts=self._own_opts,
            opts=opts,
        )


def has_balancer(cluster: ClusterSpec) -> bool:
    return cluster.login.load_balancer and cluster.access.count > 0


def _require_what_is_built(cluster: ClusterSpec) -> HostGroup:
    """Refuse what this version doesn't provision; give the group of the controller.

    Raises:
        pulumi.RunError: with what to write instead.
    """
    if cluster.login.tunnel:
        tunnel.require_cli()
    group = cluster.slurm.control if cluster.slurm else None
    if group is None:
        raise pulumi.RunError("this version provisions Slurm with its own controllers on Google Cloud\n  do:  remove `control.managed`")
    return group
