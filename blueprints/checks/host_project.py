"""A network that another project shares (Shared VPC): what has to be named, what its owner has to provide, and what this version can't create there."""

from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document

_ERROR, _NOTE = finding.Level.ERROR, finding.Level.NOTE
_SERVED = ("nfs", "lustre")
"""Kinds of file systems that a service of the cloud connects with the network."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find shared networks without their subnets, and services that would have to change the network; say which firewall rules its owner creates."""
    host, network = cluster.network.host_project, blueprint.network
    if not host:
        return
    where = source.where("network", "host_project")
    if network.existing is None or not network.subnets:
        what = f"the blueprint names the project {host}, and not {'its network' if network.existing is None else 'the subnets'}"
        why = "the project shares networks that exist already; nobody but its owner creates subnets there"
        remedy = "write `existing`, `subnets` and `cidr` beside it, or remove `host_project`"
        yield finding.Finding(_ERROR, Code.HOST_PROJECT_ALONE, where, what, why, remedy)
    for key, named in (("existing", [network.existing or ""]), ("subnets", [*network.subnets])):
        for number, name in enumerate(named):
            if "projects/" in name and f"projects/{host}/" not in name:
                at = source.where("network", key, number) if key == "subnets" else source.where("network", key)
                what = f"{name} is not in the project {host}"
                yield finding.Finding(_ERROR, Code.HOST_PROJECT_ALONE, at, what, "`host_project` owns the network and its subnets", "name those of one project")
    yield from _services(cluster, host, source)
    what = f"the stack creates no firewall rules in {host}"
    why = f"they are the owner's; needed: {message_text.listed(_rules(cluster))}"
    yield finding.Finding(_NOTE, Code.HOST_PROJECT_RULES, where, what, why, "ask the owner of the network for these rules before `up`")


def _services(cluster: spec.ClusterSpec, host: str, source: Document) -> Iterator[finding.Finding]:
    why = f"it would change the network of {host}, which belongs to others"
    for one in cluster.storage:
        if one.kind in _SERVED and one.source is None:
            what = f"this version can't create the {one.kind} file system {one.name} in a shared network"
            remedy = "name one that exists (`kind: existing`), or write `kind: block`, which the controller exports"
            yield finding.Finding(_ERROR, Code.HOST_PROJECT_SERVICES, source.where_key("storage", one.name), what, why, remedy)
    if cluster.slurm is not None and cluster.slurm.database.placement == "managed":
        what = "this version can't create a managed database in a shared network"
        yield finding.Finding(_ERROR, Code.HOST_PROJECT_SERVICES, source.where("accounting", "database"), what, why, "write `database: embedded`")
    if cluster.controllers > 1:
        what = "this version can't run two controllers in a shared network: they share a file system of the cloud"
        yield finding.Finding(_ERROR, Code.HOST_PROJECT_SERVICES, source.where("control", "highly_available"), what, why, "write `highly_available: false`")


def _rules(cluster: spec.ClusterSpec) -> list[str]:
    """Name what the owner of the network lets through."""
    # Networks of a kind that several interfaces of a host share let everything through by themselves.
    networks = catalog.target(cluster.target).networks
    open_kinds = networks.one_network_for if networks else ()
    fabrics = [one for one in cluster.network.subnets if one.interface and one.interface.partition("-")[0] not in open_kinds]
    own = cluster.network.cidr or "the hosts' subnet"
    found = [f"everything between the cluster's own hosts of {own}, by their service accounts (other machines there would be root on what controllers export)"]
    if fabrics:
        found.append(f"everything between hosts of {'the subnet' if len(fabrics) == 1 else f'each of the {len(fabrics)} subnets'} of further interfaces")
    if cluster.access.count and cluster.login.allowed_cidrs:
        found.append(f"TCP port 22 of login nodes from {message_text.listed(cluster.login.allowed_cidrs)}")
    if cluster.access.count and cluster.login.tunnel:
        found.append("TCP port 22 of login nodes from the tunnel's range")
    if cluster.access.count and cluster.login.load_balancer:
        found.append("TCP port 22 of login nodes from the load balancer's health checks")
    return found
