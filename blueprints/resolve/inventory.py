"""Hosts of the inventory: what ranges and single entries say of each, as one record."""

import dataclasses
from collections.abc import Iterable, Mapping

from .. import hostlist, language, message_text, spec, ssh_places
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
    keys = _Keys(context.outside.host_keys, inventory.port)
    return tuple(_host(entry, inventory.hosts.get(entry.name), ranges[entry.range] if entry.range is not None else None, keys) for entry in wanted)


@dataclasses.dataclass(frozen=True, slots=True)
class _Keys:
    """Keys of known_hosts."""

    keys: Mapping[str, str]
    port: int

    def of(self, name: str, address: str) -> str:
        """Find a host's key by its name or address; empty where there is none."""
        if self.port != ssh_places.SSH_PORT:
            name, address = f"[{name}]:{self.port}", f"[{address}]:{self.port}"
        return self.keys.get(name) or self.keys.get(address, "")


class _Ranges:
    """What one range says, read once for all of its hosts."""

    def __init__(self, given: language.HostRange) -> None:
        self.rack = given.rack
        self._addresses = addresses.first_of_range(given.addresses)
        self._bmcs = addresses.first_of_range(given.bmc) if given.bmc else None
        self._interfaces = tuple(
            (
                name,
                addresses.first_of_range(one.addresses) if one.addresses else None,
                one.mtu or 0,
                one.gateway or "",
                _routes(one.routes),
                one.partition_key or "",
            )
            for name, one in given.interfaces.items()
        )

    def address(self, number: int) -> str:
        return self._addresses.address(number)

    def bmc(self, number: int) -> str:
        return self._bmcs.address(number) if self._bmcs else ""

    def interfaces(self, number: int) -> tuple[spec.SiteInterface, ...]:
        return tuple(
            spec.SiteInterface(name, "", first.address(number) if first else "", mtu, gateway, routes, partition_key)
            for name, first, mtu, gateway, routes, partition_key in self._interfaces
        )


def _host(entry: Entry, single: language.Host | None, several: _Ranges | None, keys: _Keys) -> spec.SiteHost:
    """Put what a single entry says over what the range says."""
    address, bmc, rack = (several.address(entry.number), several.bmc(entry.number), several.rack) if several else ("", "", "")
    ranged = several.interfaces(entry.number) if several else ()
    if single is None:
        return spec.SiteHost(entry.name, address, keys.of(entry.name, address), bmc, rack, "", ranged)
    address = single.address or address
    interfaces = {one.name: one for one in ranged}
    for name, own in single.interfaces.items():
        base = interfaces.get(name, spec.SiteInterface(name))
        interfaces[name] = spec.SiteInterface(
            name,
            own.mac or base.mac,
            own.address or base.address,
            own.mtu or base.mtu,
            own.gateway or base.gateway,
            _routes(own.routes) or base.routes,
            own.partition_key or base.partition_key,
        )
    return spec.SiteHost(
        entry.name,
        address,
        single.host_key or keys.of(entry.name, address),
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


def roce(context: Context) -> spec.SiteRoce | None:
    """Describe how RoCE marks its packets; None where the blueprint leaves NICs as they are."""
    given = context.blueprint.inventory.roce
    return spec.SiteRoce(given.dscp, given.priority, given.cnp_dscp, given.cnp_priority) if given else None


def _routes(given: Iterable[language.Route]) -> tuple[spec.SiteRoute, ...]:
    return tuple(spec.SiteRoute(one.to, one.via or "") for one in given)
