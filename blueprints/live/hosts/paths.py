"""Ways between hosts, and from hosts to the archives of packages."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from ... import finding, hostlist, spec, ssh_places
from ...codes import Code
from ...language import addresses
from .fault import Fault
from .subject import Subject

_ERROR, _NOTE = finding.Level.ERROR, finding.Level.NOTE
SLURMCTLD, SLURMD, SLURMDBD, SLURMRESTD, MARIADB = 6817, 6818, 6819, 6820, 3306
"""slurm.conf(5), SlurmctldPort and SlurmdPort; slurmdbd.conf(5), DbdPort; slurmrestd(8); MariaDB's port."""
API_SERVER, ETCD, KUBELET, MANAGER, SCHEDULER, REGISTRY = 6443, (2379, 2380), 10250, 10257, 10259, 5000
"""Kubernetes' documentation, "Ports and Protocols"; the registry of the stack is the project's choice (playbooks/roles/kube_registry)."""
API_SERVER_BEHIND = 6444
"""Where the API servers of several hosts listen, since their balancer has 6443 (playbooks/kubernetes.yml)."""
NOT_RESOLVED = "does not resolve"
"""What a host says of a name that its name servers don't know (`components/metal/guest/reach.py`)."""
REST_API = (6820, 6821)
"""Where login nodes serve slurmrestd, and where it listens behind a balancer (components/rest.py)."""
PACKAGE_CACHE = 3142
"""apt-cacher-ng(8)."""
CONTROL, KUBERNETES, COMPUTE, ACCESS = "control", "kubernetes", "compute", "access"
"""Roles of groups."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Daemons:
    """What the hosts of one scheduler listen on."""

    control_role: str
    control: tuple[int, ...]
    node: tuple[int, ...]
    to_control: tuple[int, ...]
    """Ports that every host has to reach on the hosts of the control plane."""
    to_nodes: int
    """The port that hosts of the control plane, and the neighbour, have to reach on nodes."""
    opened: str
    """The ports, as a sentence names them."""


_DAEMONS: Mapping[str, _Daemons] = {
    "slurm": _Daemons(CONTROL, (SLURMCTLD, SLURMDBD, SLURMRESTD, MARIADB), (SLURMD,), (SLURMCTLD,), SLURMD, "6817 to 6820"),
    "kubernetes": _Daemons(
        KUBERNETES,
        (API_SERVER, *ETCD, KUBELET, MANAGER, SCHEDULER, REGISTRY),
        (KUBELET,),
        (API_SERVER, REGISTRY),
        KUBELET,
        "2379, 2380, 5000, 6443, 6444 and 10250 (TCP) and 8472 (UDP)",
    ),
}


def ports(cluster: spec.ClusterSpec, group: spec.HostGroup) -> tuple[int, ...]:
    """Give the ports that the cluster's daemons listen on, on hosts of a group."""
    daemons = _DAEMONS[scheduler(cluster, group)]
    own = daemons.control if group.role == daemons.control_role else daemons.node if group.role == COMPUTE else ()
    return (*own, *_service_ports(cluster, group))


def _service_ports(cluster: spec.ClusterSpec, group: spec.HostGroup) -> Iterator[int]:
    """Give the ports of services that the hosts of a group run for the cluster. Name servers share port 53 by address, so that one of the host's own is no obstacle."""
    if group.role == ACCESS and cluster.network.balancer_address:
        yield from ssh_places.SHARED_ADDRESS_PORTS
    if group.role == ACCESS and cluster.login.rest_api:
        yield from REST_API
    if group.role == KUBERNETES and group.count > 1:
        yield API_SERVER_BEHIND
    if group.role == CONTROL and cluster.site is not None and cluster.site.package_cache:
        yield PACKAGE_CACHE


def peers(cluster: spec.ClusterSpec) -> dict[str, tuple[tuple[str, str, int], ...]]:
    """Give which ports of other hosts each host has to reach: host → name, address and port.

    Hosts of the control plane reach every node; nodes and login nodes reach the control plane; each node reaches the next one of its pool, so that a switch between nodes is crossed, too.
    """
    site = cluster.site
    if site is None:
        return {}
    found: dict[str, list[tuple[str, int]]] = {}
    for group in cluster.host_groups:
        works_for, names = scheduler(cluster, group), group.hostnames
        daemons = _DAEMONS[works_for]
        of_scheduler = [one for one in cluster.host_groups if scheduler(cluster, one) == works_for]
        control = [(name, port) for one in of_scheduler if one.role == daemons.control_role for name in one.hostnames for port in daemons.to_control]
        nodes = [(name, daemons.to_nodes) for one in of_scheduler if one.role == COMPUTE for name in one.hostnames]
        for number, name in enumerate(names):
            further: list[tuple[str, int]] = []
            if group.role == daemons.control_role:
                further = [*nodes, *_between_control(group)]
            elif group.role == COMPUTE:
                further = [(names[(number + 1) % len(names)], daemons.to_nodes)]
            found[name] = [(one, port) for one, port in (*control, *further) if one != name]
    by_name = site.by_name
    # A host without an address is not written into /etc/hosts: the daemons ask the name servers for it, by its name.
    places = {name: host.address if addresses.is_ipv4(host.address) else name for name, host in by_name.items()}
    return {name: tuple((one, places[one], port) for one, port in wanted if one in places) for name, wanted in found.items()}


def _between_control(group: spec.HostGroup) -> Iterator[tuple[str, int]]:
    """Give what several hosts of a Kubernetes control plane have to reach of each other: etcd's members, and the API servers behind each host's balancer."""
    if group.role == KUBERNETES and group.count > 1:
        yield from ((name, port) for name in group.hostnames for port in (*ETCD, API_SERVER_BEHIND))


def scheduler(cluster: spec.ClusterSpec, group: spec.HostGroup) -> str:
    """Say which scheduler the hosts of a group work for; login nodes are Slurm's."""
    if group.role == COMPUTE:
        return next((one.scheduler for one in cluster.node_sets if one.hosts.name == group.name), "slurm")
    return "kubernetes" if group.role == KUBERNETES else "slurm"


def check(cluster: spec.ClusterSpec, subjects: Sequence[Subject], *, answering: frozenset[str]) -> Iterator[Fault]:
    """Find hosts that can't reach others, or no packages.

    Args:
        answering: hosts that answered; that others don't reach one that is off says nothing.
    """
    known = {subject.name: subject.host.address for subject in subjects}
    for subject in subjects:
        facts = subject.facts
        blocked = {key: why for key, why in facts.unreached.items() if key.rpartition(":")[0] in answering}
        by_port: dict[str, list[str]] = {}
        unknown: list[str] = []
        for key, why_not in blocked.items():
            host, _, port = key.rpartition(":")
            (unknown if NOT_RESOLVED in why_not else by_port.setdefault(port, [])).append(host)
        if unknown:
            what, why = (
                f"no address is known of {hostlist.compress(sorted(set(unknown)))}",
                "the inventory has a DNS name, so that the daemons ask name servers",
            )
            remedy = f"write IPv4 addresses into the inventory, or let name servers know the hosts: `{{login}} getent hosts {unknown[0]}` must answer"
            yield Fault(subject.name, Code.HOST_PATH_BLOCKED, what, why, remedy, detail=f"{unknown[0]} {NOT_RESOLVED}")
        for port, hosts in by_port.items():
            what = f"port {port} of {hostlist.compress(hosts)} can't be reached"
            why = "the cluster's daemons talk to each other, and something between the hosts drops their packets"
            reason = _reason(blocked[f"{hosts[0]}:{port}"])
            filters = ", ".join(facts.filters)
            detail = f"{reason}; packet filters on the host itself: {filters}" if filters else reason
            place = known.get(hosts[0], hosts[0])
            attempt = f"timeout 3 bash -c '</dev/tcp/{place}/{port}'"
            remedy = f'open ports {_DAEMONS[scheduler(cluster, subject.group)].opened} between the hosts, then try `{{login}} "{attempt}"`: `Connection refused` is good'
            yield Fault(subject.name, Code.HOST_PATH_BLOCKED, what, why, remedy, detail=detail)
        has_way_later = cluster.site is not None and cluster.site.nat and subject.node_set is not None
        for uri, why_not in facts.archives.items() if not has_way_later else ():
            what, why = f"no packages from {uri}", "the software is installed from the archives that the host is configured for"
            remedy = "correct its sources, its proxy (`Acquire::http::Proxy`) or its way to the outside, until `{login} sudo apt-get update` works"
            yield Fault(subject.name, Code.HOST_ARCHIVE_SILENT, what, why, remedy, detail=why_not)
        if facts.filters and not blocked:
            what, why = "a packet filter is on", "the ports of the cluster can be reached now; rules that change later can block them"
            remedy = f"keep ports {_DAEMONS[scheduler(cluster, subject.group)].opened} open between the hosts of the cluster"
            yield Fault(subject.name, Code.HOST_FILTERED, what, why, remedy, _NOTE, ", ".join(facts.filters))


_REASONS = {
    "EHOSTUNREACH": "no route to the host, or a filter rejects it",
    "ENETUNREACH": "no route to its network",
    "EACCES": "a filter of this host forbids it",
    "EPERM": "a filter of this host forbids it",
}


def _reason(said: str) -> str:
    return _REASONS.get(said, said)
