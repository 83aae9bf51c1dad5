"""MAAS's machines as hosts.

Two forms are read: what `maas PROFILE machines read` prints, a list of machines; and an object of two answers, `machines` and `power_parameters` (`maas PROFILE machines power-parameters`:
`system_id` → parameters), which tells where the management controllers are. Of the parameters only the address is read.

| host | machine |
|---|---|
| name | `hostname`, without a domain |
| address | of the interface that the machine starts from (`boot_interface`) or of the bond, bridge or VLAN on it, else the first IPv4 address of `ip_addresses` |
| bmc | `power_address` of the power parameters |
| serial | `hardware_info.system_serial` |
| host_key | the workload annotation `ssh_host_key` |
| interfaces | physical ones: `name`, `mac_address`; those with another address than the host's also that and `effective_mtu` |

Source: MAAS 3.5 API, operations `machines read` and `machines power_parameters`.
"""

import ipaddress
import json
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from ..language import names
from .source import Text

HOST_KEY_ANNOTATION = "ssh_host_key"
PHYSICAL = "physical"
UNKNOWN = ("unknown", "none", "to be filled by o.e.m.", "not specified", "default string")
"""Serial numbers of boards without one, as firmware makers write them."""

Record = Mapping[str, Any]


def hosts(text: Text, group: str) -> dict[str, dict[str, Any]]:
    """Read machines: name → host in the language's form. Machines whose names can't be names of hosts are left out.

    Args:
        group: a resource pool or a tag: read its machines only; empty: all.
    Raises:
        finding.Invalid: the text isn't JSON, or has no machines.
    """
    try:
        whole = json.loads(text.text)
    except json.JSONDecodeError as error:
        why = f"{error.msg}; `format: maas` reads JSON as `maas PROFILE machines read` prints it"
        raise text.refusal("this is not JSON", why, "export the machines as JSON", offset=error.pos) from None
    machines = whole.get("machines") if isinstance(whole, dict) else whole
    if not isinstance(machines, list) or not all(isinstance(one, dict) for one in machines):
        what, why = "the inventory has no machines of MAAS", "`maas PROFILE machines read` prints a list of them"
        raise text.refusal(what, why, "export that, or write the right `format`")
    power = _record(whole.get("power_parameters")) if isinstance(whole, dict) else {}
    found: dict[str, dict[str, Any]] = {}
    for machine in machines:
        name = str(machine.get("hostname") or "").partition(".")[0]
        if names.HOST.fullmatch(name) and name not in names.RESERVED_HOSTS and (not group or group in _groups(machine)):
            found[name] = _host(machine, _record(power.get(str(machine.get("system_id")))))
    return found


def _groups(machine: Record) -> tuple[str, ...]:
    return (str(_record(machine.get("pool")).get("name")), *(str(tag) for tag in machine.get("tag_names") or ()))


def _host(machine: Record, power: Record) -> dict[str, Any]:
    boot = [address for one in _on_boot(machine) for address, _ in _addresses(one)]
    every = [str(address) for address in machine.get("ip_addresses") or () if "." in str(address)]
    address = next(iter([*boot, *every]), "")
    serial = str(_record(machine.get("hardware_info")).get("system_serial") or "")
    values = {
        "address": address,
        "host_key": str(_record(machine.get("workload_annotations")).get(HOST_KEY_ANNOTATION) or ""),
        "bmc": _bmc(str(power.get("power_address") or "")),
        "serial": "" if serial.lower() in UNKNOWN else serial,
        "interfaces": {str(one.get("name")): told for one in _records(machine.get("interface_set")) if (told := _interface(one, address))},
    }
    return {key: value for key, value in values.items() if value}


def _on_boot(machine: Record) -> Iterator[Record]:
    """Give the interface that a machine starts from, and those that are built on it (a bond, a bridge on that)."""
    boot = _record(machine.get("boot_interface"))
    yield boot
    below, left = {boot.get("name")}, list(_records(machine.get("interface_set")))
    while built := next((one for one in left if below & set(one.get("parents") or ())), None):
        yield built
        below.add(built.get("name"))
        left.remove(built)


def _interface(one: Record, of_host: str) -> dict[str, Any]:
    """Describe a physical interface. The one with the host's own address stays as MAAS set it up: only its hardware address is taken."""
    if one.get("type") != PHYSICAL:
        return {}
    addresses = list(_addresses(one))
    found: dict[str, Any] = {"mac": str(one["mac_address"])} if one.get("mac_address") else {}
    if addresses and of_host not in [address for address, _ in addresses]:
        address, network = addresses[0]
        found |= {"address": f"{address}/{network.prefixlen}", **({"mtu": one["effective_mtu"]} if one.get("effective_mtu") else {})}
    return found


def _addresses(interface: Record) -> Iterator[tuple[str, ipaddress.IPv4Network]]:
    """Give the IPv4 addresses that MAAS assigned to an interface, with their networks."""
    for link in _records(interface.get("links")):
        try:
            yield str(ipaddress.IPv4Address(str(link.get("ip_address")))), ipaddress.IPv4Network(str(_record(link.get("subnet")).get("cidr")))
        except ValueError:
            continue


def _bmc(written: str) -> str:
    """Give the host of an address or URL (`https://10.30.0.11:443`)."""
    try:
        return urllib.parse.urlsplit(written if "//" in written else f"//{written}").hostname or ""
    except ValueError:
        return ""


def _record(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def _records(value: Any) -> Iterator[Record]:
    yield from (one for one in (value if isinstance(value, list) else ()) if isinstance(one, dict))
