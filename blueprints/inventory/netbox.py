"""NetBox's devices as hosts.

Three forms are read: the API's answer or a list of devices (`GET /api/dcim/devices/?limit=0`); an object of several answers, `devices`, `interfaces` (`/api/dcim/interfaces/`)
and `ip_addresses` (`/api/ipam/ip-addresses/`); the answer of a GraphQL query with `device_list`, interfaces and their addresses inside of each device.

| host | device |
|---|---|
| name | `name`, without a domain |
| address | `primary_ip4`, else `primary_ip` |
| bmc | `oob_ip` |
| rack, serial | `rack.name`, `serial` |
| host_key | the custom field `ssh_host_key` |
| interfaces | those with an address or a MAC: `name`, `mac_address` or `primary_mac_address`, `mtu`, address |

Source: NetBox 4.3 REST and GraphQL API, models Device, Interface and IPAddress.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..language import names
from .source import Text

HOST_KEY_FIELD = "ssh_host_key"
"""The custom field of a device."""

Record = Mapping[str, Any]


def hosts(text: Text, group: str) -> dict[str, dict[str, Any]]:
    """Read devices: short name → host in the language's form. Devices whose names can't be names of hosts, such as patch panels, are left out.

    Args:
        group: the slug of a device role: read its devices only; empty: all.
    Raises:
        finding.Invalid: the text isn't JSON, has no devices, or is one page of several.
    """
    try:
        whole = json.loads(text.text)
    except json.JSONDecodeError as error:
        raise text.refusal(
            "this is not JSON", f"{error.msg}; `format: netbox` reads JSON as NetBox's API gives it", "export the devices as JSON", offset=error.pos
        ) from None
    if isinstance(whole, dict) and isinstance(whole.get("data"), dict):
        whole = {"devices": whole["data"].get("device_list", [])}
    parts = whole if isinstance(whole, dict) and "devices" in whole else {"devices": whole}
    devices = _page(text, parts["devices"], "devices")
    of_device: dict[str, dict[str, dict[str, Any]]] = {}
    _add_interfaces(of_device, _page(text, parts.get("interfaces", []), "interfaces"))
    _add_addresses(of_device, _page(text, parts.get("ip_addresses", []), "ip_addresses"))
    found: dict[str, dict[str, Any]] = {}
    for device in devices:
        written = str(device.get("name") or "")
        name = written.partition(".")[0]
        if names.HOST.fullmatch(name) and name not in names.RESERVED_HOSTS and (not group or _role(device) == group):
            found[name] = _host(device, {**of_device.get(written, {}), **_nested(device)})
    return found


def _role(device: Record) -> str:
    role = device.get("role") or device.get("device_role")  # until NetBox 3.5
    return str(role.get("slug") or "") if isinstance(role, dict) else ""


def _page(text: Text, part: Any, kind: str) -> list[Record]:
    """Give the records of an answer, or of a plain list."""
    if isinstance(part, dict) and part.get("next"):
        why = f"NetBox gave {len(part.get('results') or ())} of {part.get('count')} {kind}, and says where the next are"
        raise text.refusal(f"this is one page of NetBox's {kind}", why, "ask for all of them: add `?limit=0` to the address, or put the pages together")
    records = part.get("results") if isinstance(part, dict) else part
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        what, why = f"the inventory has no {kind} of NetBox", "its API answers with an object that has `results`, a list"
        raise text.refusal(what, why, "export `/api/dcim/devices/?limit=0`, or write the right `format`")
    return records


def _host(device: Record, interfaces: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    custom = device.get("custom_fields") or {}
    rack = device.get("rack")
    values = {
        "address": _bare(device.get("primary_ip4") or device.get("primary_ip")),
        "host_key": str(custom.get(HOST_KEY_FIELD) or ""),
        "bmc": _bare(device.get("oob_ip")),
        "rack": str(rack.get("name") or "") if isinstance(rack, dict) else "",
        "serial": str(device.get("serial") or ""),
        "interfaces": {name: one for name, one in interfaces.items() if one.keys() - {"mtu"}},
    }
    return {key: value for key, value in values.items() if value}


def _nested(device: Record) -> dict[str, dict[str, Any]]:
    """Read the interfaces inside of a device, as a GraphQL query gives them."""
    found = {}
    for one in _records(device.get("interfaces")):
        address = next((str(ip["address"]) for ip in _records(one.get("ip_addresses")) if "." in str(ip.get("address"))), "")
        found[str(one.get("name"))] = {**_interface(one), **({"address": address} if address else {})}
    return found


def _add_interfaces(found: dict[str, dict[str, dict[str, Any]]], records: Iterable[Record]) -> None:
    for one in records:
        device = one.get("device")
        if isinstance(device, dict) and not one.get("mgmt_only"):
            found.setdefault(str(device.get("name")), {})[str(one.get("name"))] = _interface(one)


def _add_addresses(found: dict[str, dict[str, dict[str, Any]]], records: Iterable[Record]) -> None:
    """Give interfaces their first IPv4 address."""
    for one in records:
        assigned = one.get("assigned_object")
        device = assigned.get("device") if isinstance(assigned, dict) else None
        if isinstance(assigned, dict) and isinstance(device, dict) and "." in str(one.get("address")):
            interfaces = found.get(str(device.get("name")), {})
            if str(assigned.get("name")) in interfaces:
                interfaces[str(assigned["name"])].setdefault("address", str(one["address"]))


def _interface(one: Record) -> dict[str, Any]:
    primary = one.get("primary_mac_address")
    mac = one.get("mac_address") or (primary.get("mac_address") if isinstance(primary, dict) else None)
    values = {"mac": str(mac) if mac else "", "mtu": one.get("mtu")}
    return {key: value for key, value in values.items() if value}


def _records(value: Any) -> Iterator[Record]:
    yield from (one for one in (value if isinstance(value, list) else ()) if isinstance(one, dict))


def _bare(address: Any) -> str:
    """Give an address without the length of its prefix."""
    written = address.get("address") if isinstance(address, dict) else address
    return str(written or "").partition("/")[0]
