"""What files and the kernel had before a change of a host's rails, and how they get it back."""

import contextlib
import dataclasses
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import files, live, service, wanted

LOOK_EVERY_S = 0.2


def take(paths: "Sequence[str]", interfaces: "Sequence[str]", now: live.State) -> "dict[str, Any]":
    """Give what these files, and the interfaces with their routes and rules, have now."""
    return {
        "files": {path: list(content(path) or ()) for path in paths},
        "interfaces": {name: dataclasses.asdict(found) for name in interfaces if (found := now.interface(name))},
        "settings": {
            name: {setting: Path(f"/proc/sys/net/ipv4/conf/{name}/{setting}").read_text().strip() for setting in live.SETTINGS}
            for name in interfaces
            if now.interface(name)
        },
        "routes": [[device, dataclasses.asdict(route)] for device, route in now.routes if device in interfaces],
        "rules": [list(rule) for rule in now.rules],
        "service": service.name(),
    }


def with_more(before: "dict[str, Any]", snapshot: "dict[str, Any]") -> "dict[str, Any]":
    """Add what a later change touches for the first time."""
    new = [name for name in snapshot["interfaces"] if name not in before["interfaces"]]
    return {
        **before,
        "files": {**snapshot["files"], **before["files"]},
        "interfaces": {**snapshot["interfaces"], **before["interfaces"]},
        "settings": {**snapshot["settings"], **before["settings"]},
        "routes": before["routes"] + [row for row in snapshot["routes"] if row[0] in new],
    }


def restore(before: "Mapping[str, Any]", touched: "Sequence[str]", *, is_boot: bool = False) -> None:
    """Give files, then the kernel, what they had. Every step is tried, whatever the others do."""
    existing = {path: kept for path, kept in before["files"].items() if kept}
    service.write({path: files.File(*kept) for path, kept in existing.items()}, [path for path in before["files"] if path not in existing])
    if is_boot:
        service.prepare_boot(before["service"])
        return
    there = [name for name in touched if Path(f"/sys/class/net/{name}").exists()]
    with contextlib.suppress(live.Failed):
        if service.reload(before["service"], there):
            _settle(before)
    _restore_kernel(before, there)


def _settle(before: "Mapping[str, Any]") -> None:
    """Wait until the network service has given the interfaces their former addresses, as far as it does that."""
    deadline = time.monotonic() + service.SETTLES_WITHIN_S / 4
    while time.monotonic() < deadline:
        now = live.state()
        if all(set(one.addresses) == set(before["interfaces"][one.name]["addresses"]) for one in now.interfaces if one.name in before["interfaces"]):
            return
        time.sleep(LOOK_EVERY_S)


def _restore_kernel(before: "Mapping[str, Any]", touched: "Sequence[str]") -> None:
    now = live.state()
    rules = {tuple(rule) for rule in before["rules"]}
    for rule in now.rules:
        if rule not in rules:
            _try("ip", "-4", "rule", "del", "priority", str(rule[0]), "from", rule[1], "table", str(rule[2]))
    for rule in rules - set(now.rules):
        _try("ip", "-4", "rule", "add", "priority", str(rule[0]), "from", rule[1], "table", str(rule[2]))
    former = [(device, wanted.Route(**route)) for device, route in before["routes"]]
    for device, route in now.routes:
        if device in touched and (device, route) not in former:
            delete_route(device, route)
    for interface in now.interfaces:
        kept = before["interfaces"].get(interface.name)
        if interface.name not in touched or not kept:
            continue
        for address in interface.addresses:
            if address not in kept["addresses"]:
                _try("ip", "-4", "address", "del", address, "dev", interface.name)
        for address in kept["addresses"]:
            if address not in interface.addresses:
                _try("ip", "-4", "address", "add", address, "dev", interface.name)
        _try("ip", "link", "set", "dev", interface.name, "mtu", str(kept["mtu"]), "up" if kept["is_up"] else "down")
        for setting, value in before["settings"].get(interface.name, {}).items():
            Path(f"/proc/sys/net/ipv4/conf/{interface.name}/{setting}").write_text(value)
    there = live.state().routes
    for device, route in former:
        if (device, route) not in there and device in touched:
            _try("ip", *files.ip_route(route, device))


def _try(*argv: str) -> None:
    try:
        live.run(*argv)
    except live.Failed as failed:
        print(failed, file=sys.stderr)


def delete_route(device: str, route: wanted.Route) -> None:
    """Delete a route from the kernel, unless it went with its address."""
    table = ["table", str(route.table)] if route.table else []
    metric = ["metric", str(route.metric)] if route.metric else []
    via = ["via", route.via] if route.via else []
    with contextlib.suppress(live.Failed):  # the kernel removed it with its address
        live.run("ip", "-4", "route", "del", route.to, *via, "dev", device, *table, *metric)


def content(path: str) -> "tuple[str, int] | None":
    """Give text and mode of a file; None: there is none."""
    try:
        return Path(path).read_text(), Path(path).stat().st_mode & 0o777
    except FileNotFoundError:
        return None
