"""Hosts of the inventory that the cluster uses: addresses, SSH host keys, and values that two hosts share."""

import ipaddress
import itertools
from collections.abc import Callable, Iterator, Sequence

from .. import finding, hostlist, language, message_text, spec
from ..codes import Code
from ..document import Document, Path
from ..language import addresses
from . import host_addresses

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
REPORTED_AT_MOST = 100
"""Duplicate values that one run reports."""
ADDRESS_IN = {
    "clusterwright": "write `address`, or a range with addresses",
    "netbox": "set the device's primary IPv4 address in NetBox, or write `address` in `inventory.hosts`",
    "maas": "deploy the machine, so that MAAS gives it an IPv4 address, or write `address` in `inventory.hosts`",
    "ansible": "set `ansible_host` in the inventory of Ansible, or write `address` in `inventory.hosts`",
}
"""Format of the inventory → what gives a host its address."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find hosts without an address or host key, values that must differ and don't, addresses outside of the network, and hosts that nothing uses."""
    if cluster.site is None:
        return
    places = Places(blueprint, source)
    yield from _missing(cluster.site.hosts, places)
    yield from _named(cluster, places)
    yield from _upper_case(cluster, places)
    yield from _duplicates(cluster.site.hosts, places)
    yield from _outside(cluster, places, source)
    yield from _balancer(cluster, blueprint, source)
    yield from _unused(cluster.site.hosts, blueprint, source)


class Places:
    """Where values of hosts are written: in the host's own entry, or in its range."""

    def __init__(self, blueprint: language.Blueprint, source: Document) -> None:
        self._inventory, self._source = blueprint.inventory, source

    @property
    def file(self) -> str:
        return self._source.file

    @property
    def format(self) -> str:
        return self._inventory.format

    def named(self, host: str) -> finding.Position:
        """Give where the inventory names a host."""
        ranges = (number for number, one in enumerate(self._inventory.ranges) if host in hostlist.expand(one.names))
        number = None if host in self._inventory.hosts else next(ranges, None)
        return self._source.where_key("inventory", "hosts", host) if number is None else self._source.where("inventory", "ranges", number, "names")

    def of(self, host: str, *key: str) -> finding.Position:
        single: Path = ("inventory", "hosts", host)
        if self._source.at(*single, *key) is not None:
            return self._source.where(*single, *key)
        ranged = {"address": "addresses"}
        for number, one in enumerate(self._inventory.ranges):
            if host in hostlist.expand(one.names):
                return self._source.where("inventory", "ranges", number, *(ranged.get(step, step) for step in key))
        return self._source.where_key(*single)


def _unused(used: Sequence[spec.SiteHost], blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find hosts that nothing names: bought, powered, and perhaps forgotten."""
    inventory = blueprint.inventory
    everybody = dict.fromkeys([*(name for one in inventory.ranges for name in hostlist.expand(one.names)), *inventory.hosts])
    if unused := [*everybody.keys() - {host.name for host in used}]:
        what = f"the cluster doesn't use {'a host' if len(unused) == 1 else f'{len(unused)} hosts'} of the inventory: {hostlist.compress(sorted(unused))}"
        why = "neither a pool nor `control.hosts` nor `access.hosts` names them"
        where = source.where_key("inventory")
        yield finding.Finding(finding.Level.NOTE, Code.INVENTORY_UNUSED, where, what, why, "name them in a pool, or leave them for another cluster")


def _missing(hosts: Sequence[spec.SiteHost], places: Places) -> Iterator[finding.Finding]:
    if without := [host.name for host in hosts if not host.address]:
        what = f"the inventory has no address for {hostlist.compress(without)}"
        why = "clusterwright adopts and configures hosts over SSH"
        yield finding.Finding(_ERROR, Code.HOST_ADDRESS_MISSING, places.of(without[0]), what, why, ADDRESS_IN[places.format])
    if without := [host.name for host in hosts if not host.host_key]:
        what = f"the inventory has no SSH host key for {hostlist.compress(without)}"
        why = "with it a host proves that it is the one that you mean; clusterwright never trusts a key that it sees for the first time"
        remedy = f"run `clusterwright lookup hosts {places.file}`: it reads the keys, and shows their fingerprints for you to confirm"
        yield finding.Finding(_WARNING, Code.HOST_KEY_MISSING, places.of(without[0]), what, why, remedy)


def _named(cluster: spec.ClusterSpec, places: Places) -> Iterator[finding.Finding]:
    """Find hosts with a DNS name in the place of an address that Kubernetes takes."""
    hosts = cluster.site.hosts if cluster.site and cluster.kubernetes else ()
    if named := [host.name for host in hosts if host.address and not addresses.is_ipv4(host.address)]:
        what = f"the inventory has no IPv4 address of {hostlist.compress(named)}, only a DNS name"
        why = "kubelet, etcd and the API server know their hosts by addresses"
        yield finding.Finding(_ERROR, Code.HOST_ADDRESS_MISSING, places.of(named[0], "address"), what, why, "write its IPv4 address")


def _upper_case(cluster: spec.ClusterSpec, places: Places) -> Iterator[finding.Finding]:
    """Find hosts whose names can't be those of nodes of Kubernetes. Slurm knows hosts by any name."""
    if cluster.kubernetes is None:
        return
    groups = [cluster.kubernetes.control, *(one.hosts for one in cluster.kubernetes.node_sets)]
    if upper := [name for group in groups if group and group.members for name in group.hostnames if name != name.lower()]:
        what = f"the names of {hostlist.compress(upper)} have upper-case letters"
        why = "a node of Kubernetes has a name in lower case (RFC 1123); kubeadm changes the letters, and the node would not be found by the host's name"
        wanted = message_text.quoted(hostlist.compress(name.lower() for name in upper))
        remedy = f"write {wanted}, wherever the blueprint names the hosts, and give them these names with `hostnamectl set-hostname`"
        yield finding.Finding(_ERROR, Code.HOST_NAME_FORM, places.named(upper[0]), what, why, remedy)


def _duplicates(hosts: Sequence[spec.SiteHost], places: Places) -> Iterator[finding.Finding]:
    """Find names that differ by case only, and addresses, serial numbers and keys of two hosts."""
    plain: tuple[tuple[str, str, Callable[[spec.SiteHost], str], finding.Level], ...] = (
        ("name", "", lambda host: host.name.lower(), _ERROR),
        ("serial number", "serial", lambda host: host.serial, _ERROR),
        ("SSH host key", "host_key", lambda host: host.host_key, _WARNING),
    )
    found = itertools.chain(*(_of_hosts(hosts, places, *one) for one in plain), _of_addresses(hosts, places), _of_interfaces(hosts, places))
    yield from itertools.islice(found, REPORTED_AT_MOST)


def _of_hosts(
    hosts: Sequence[spec.SiteHost], places: Places, title: str, key: str, value: Callable[[spec.SiteHost], str], level: finding.Level
) -> Iterator[finding.Finding]:
    values = [written for written in map(value, hosts) if written]
    if len(set(values)) == len(values):
        return
    seen: dict[str, str] = {}
    for host in hosts:
        if (written := value(host)) and (first := seen.setdefault(written, host.name)) != host.name:
            yield _duplicate(title, written, (first, host.name), places.of(host.name, *([key] if key else [])), level)


def _of_addresses(hosts: Sequence[spec.SiteHost], places: Places) -> Iterator[finding.Finding]:
    for written, first, second in host_addresses.duplicates(hosts):
        same = ("BMC", (first.host, second.host)) if first.is_bmc and second.is_bmc else ("address", (str(first), str(second)))
        yield _duplicate(same[0], written, same[1], places.of(second.host, *second.key), _ERROR)


def _of_interfaces(hosts: Sequence[spec.SiteHost], places: Places) -> Iterator[finding.Finding]:
    taken: dict[str, tuple[str, str]] = {}
    for host in hosts:
        for interface in host.interfaces:
            written, here = spec.port_address(interface.mac), (host.name, interface.name)
            if written and (first := taken.setdefault(written, here)) != here:
                names = (f"{first[0]} ({first[1]})", f"{host.name} ({interface.name})")
                yield _duplicate("hardware address", written, names, places.of(host.name, "interfaces", interface.name, "mac"), _ERROR)


def _duplicate(title: str, value: str, hosts: tuple[str, str], where: finding.Position, level: finding.Level) -> finding.Finding:
    shown = message_text.quoted(value if len(value) < 60 else f"{value[:30]}…")
    what = f"{hosts[0]} and {hosts[1]} have the same {title}, {shown}"
    why = "each host has its own"
    remedy = "correct one of the two"
    if title == "SSH host key":
        why = "hosts that were copied from one image share their keys: each of them can pose as the other"
        remedy = "create new keys on one of them (`rm /etc/ssh/ssh_host_*; ssh-keygen -A`), and write its new key"
    return finding.Finding(level, Code.INVENTORY_DUPLICATE, where, what, why, remedy)


def _outside(cluster: spec.ClusterSpec, places: Places, source: Document) -> Iterator[finding.Finding]:
    if not cluster.network.cidr or cluster.site is None:
        return
    own = ipaddress.IPv4Network(cluster.network.cidr)
    outside = [host for host in cluster.site.hosts if _is_outside(host.address, own)]
    if outside:
        what = f"{hostlist.compress(host.name for host in outside)} {'is' if len(outside) == 1 else 'are'} outside of the cluster's network {own}"
        why = f"the address of {outside[0].name} is {outside[0].address}; firewalls and exports of the cluster admit the network's own hosts"
        yield finding.Finding(_ERROR, Code.HOST_OUTSIDE_NETWORK, places.of(outside[0].name, "address"), what, why, "correct the address, or `network.cidr`")
    edges = {str(own.network_address), str(own.broadcast_address)}
    for host in [host for host in cluster.site.hosts if host.address in edges]:
        kind = host_addresses.kind(host.address, own)
        if kind is None:
            continue
        what = f"the address of {host.name}, {host.address}, is {kind} of the cluster's network {own}"
        where = places.of(host.name, "address")
        yield finding.Finding(_ERROR, Code.ADDRESS_UNUSABLE, where, what, host_addresses.NOT_OF_A_HOST, "correct the address, or `network.cidr`")
    if source.at("access", "address") is not None and (kind := host_addresses.kind(cluster.network.balancer_address, own)):
        what = f"the address of the load balancer, {cluster.network.balancer_address}, is {kind} of the cluster's network {own}"
        remedy = "write a free address of the hosts' network"
        yield finding.Finding(_ERROR, Code.ADDRESS_UNUSABLE, source.where("access", "address"), what, host_addresses.NOT_OF_A_HOST, remedy)
    if source.at("access", "address") is not None and _is_outside(cluster.network.balancer_address, own):
        what = f"the address of the load balancer, {cluster.network.balancer_address}, is outside of the cluster's network {own}"
        why = "the login nodes answer at it, in their own network"
        yield finding.Finding(_ERROR, Code.HOST_OUTSIDE_NETWORK, source.where("access", "address"), what, why, "choose a free address of the network")


def _is_outside(address: str, own: ipaddress.IPv4Network) -> bool:
    try:
        return ipaddress.IPv4Address(address) not in own
    except ValueError:  # a DNS name
        return False


def _balancer(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find a shared address of the login nodes that a host, an interface or a BMC has already. Users of a single login node may reach it at its own."""
    address = blueprint.access.address
    owner = host_addresses.owners(cluster.site.hosts).get(address) if cluster.site and address else None
    if owner is None or (cluster.access.count == 1 and owner.is_host and owner.host in cluster.access.hostnames):
        return
    what = f"the address of the load balancer, {address}, belongs to the host {owner}"
    why = "the address moves between the login nodes, so no host can have it as its own"
    yield finding.Finding(_ERROR, Code.INVENTORY_DUPLICATE, source.where("access", "address"), what, why, "write a free address of the same network")
