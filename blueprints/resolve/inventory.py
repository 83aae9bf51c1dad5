"""Hosts of the inventory: what ranges and single entries say of each, as one record."""

import dataclasses
from collections.abc import Iterable, Mapping

from .. import hostlist, language, message_text, spec
from ..codes import Code
from ..document import Path
from ..language import addresses
from .context import Context

HOSTS, RANGES = ("inventory", "hosts"), ("inventory", "ranges")


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One host of the inventory, and where it is written."""

    name: str
    range: int | None
    """Number of the range that has it."""
    number: int
    """Place of the host in its range."""
    single: bool
    """Whether `hosts` has an entry of this name."""

    @property
    def path(self) -> Path:
        return (*HOSTS, self.name) if self.single else (*RANGES, self.range or 0)


def entries(context: Context) -> Mapping[str, Entry]:
    """List the inventory's hosts by name: those of ranges, then the others. Report names that two ranges have."""
    found: dict[str, Entry] = {}
    inventory = context.blueprint.inventory
    for place, one in enumerate(inventory.ranges):
        for number, name in enumerate(hostlist.expand(one.names)):
            if name in found:
                what = f"two ranges of the inventory have the host {message_text.quoted(name)}"
                why = f"range {(found[name].range or 0) + 1} of the list has it already; one host has one address"
                context.error(Code.INVENTORY_DUPLICATE, *RANGES, place, "names", what=what, why=why, remedy="take it out of one of them")
            found.setdefault(name, Entry(name, place, number, single=name in inventory.hosts))
    for name in inventory.hosts:
        found.setdefault(name, Entry(name, None, 0, single=True))
    return found


def hosts(context: Context, wanted: Iterable[Entry]) -> tuple[spec.SiteHost, ...]:
    """Describe hosts of the inventory."""
    inventory = context.blueprint.inventory
    ranges = tuple(_Ranges(one) for one in inventory.ranges)
    found = (_host(entry, inventory.hosts.get(entry.name), ranges[entry.range] if entry.range is not None else None) for entry in wanted)
    return tuple(_with_key(host, context.outside.host_keys, inventory.port) for host in found)


def _with_key(host: spec.SiteHost, keys: Mapping[str, str], port: int) -> spec.SiteHost:
    """Add the key of known_hosts, by the host's name or address."""
    if host.host_key or not keys:
        return host
    forms = (host.name, host.address) if port == addresses.SSH_PORT else (f"[{host.name}]:{port}", f"[{host.address}]:{port}")
    return dataclasses.replace(host, host_key=next((keys[form] for form in forms if form in keys), ""))


class _Ranges:
    """The addresses of one range, read once for all of its hosts."""

    def __init__(self, given: language.HostRange) -> None:
        self.given = given
        self.addresses = addresses.first_of_range(given.addresses)
        self.bmc = addresses.first_of_range(given.bmc) if given.bmc else None
        self.interfaces = {name: addresses.first_of_range(one.addresses) for name, one in given.interfaces.items() if one.addresses}


def _host(entry: Entry, single: language.Host | None, several: _Ranges | None) -> spec.SiteHost:
    """Put what a single entry says over what the range says."""
    address = bmc = rack = ""
    interfaces: dict[str, spec.SiteInterface] = {}
    if several is not None:
        number, given = entry.number, several.given
        address, rack = several.addresses.address(number), given.rack
        bmc = several.bmc.address(number) if several.bmc else ""
        for name, one in given.interfaces.items():
            of_interface = several.interfaces[name].address(number) if name in several.interfaces else ""
            interfaces[name] = spec.SiteInterface(name, "", of_interface, one.mtu or 0, one.gateway or "", _routes(one.routes))
    if single is None:
        return spec.SiteHost(entry.name, address, "", bmc, rack, "", tuple(interfaces.values()))
    for name, own in single.interfaces.items():
        base = interfaces.get(name, spec.SiteInterface(name))
        interfaces[name] = spec.SiteInterface(
            name,
            own.mac or base.mac,
            own.address or base.address,
            own.mtu or base.mtu,
            own.gateway or base.gateway,
            _routes(own.routes) or base.routes,
        )
    return spec.SiteHost(
        entry.name,
        single.address or address,
        single.host_key or "",
        single.bmc or bmc,
        single.rack or rack,
        single.serial,
        tuple(interfaces.values()),
        single.bmc_certificate or "",
    )


def bmc(context: Context) -> spec.SiteBmc | None:
    """Describe how management controllers are asked; None where the inventory names no user for them."""
    given = context.blueprint.inventory.bmc
    if not given.user:
        return None
    return spec.SiteBmc(given.user, given.password_file, given.secret, given.protocol, given.port or 0, given.authority)


def _routes(given: Iterable[language.Route]) -> tuple[spec.SiteRoute, ...]:
    return tuple(spec.SiteRoute(one.to, one.via or "") for one in given)
