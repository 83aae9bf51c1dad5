"""The address that login hosts of a site share."""

import ipaddress
from collections.abc import Iterator

from .. import finding, language, spec, ssh_places
from ..codes import Code
from ..document import Document


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find names where login hosts that share an address need IPv4 addresses, and SSH servers on the balancer's ports. Addresses that hosts have are the concern of `inventory`."""
    address, site = blueprint.access.address, cluster.site
    if address is None or site is None:
        return
    if site.port in ssh_places.SHARED_ADDRESS_PORTS:
        what = f"the hosts' SSH servers have port {site.port}, which login hosts with a shared address need themselves"
        why = f"on ports {' and '.join(map(str, ssh_places.SHARED_ADDRESS_PORTS))} the balancer and the SSH server behind it answer, and other hosts are refused there"
        remedy = "let the SSH servers of the hosts listen on another port, or remove `access.address`"
        yield finding.Finding(finding.Level.ERROR, Code.SHARED_ADDRESS, source.where("inventory", "port"), what, why, remedy)
    hosts = site.by_name
    named = [name for name in cluster.access.hostnames if name in hosts and not _is_ipv4(hosts[name].address)]
    if not _is_ipv4(address):
        what = f"`{address}` is a name, and login hosts share an IPv4 address"
        why = "keepalived gives the address to one login host, and to another one when that host is lost"
    elif named:
        what = f"the inventory has no IPv4 address of {named[0]}, which shares {address} with the other login hosts"
        why = "keepalived of each login host sends its announcements to the addresses of the others"
    else:
        return
    remedy = "write IPv4 addresses, or remove `access.address`: users then log in at the first login host"
    yield finding.Finding(finding.Level.ERROR, Code.SHARED_ADDRESS, source.where("access", "address"), what, why, remedy)


def _is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True
