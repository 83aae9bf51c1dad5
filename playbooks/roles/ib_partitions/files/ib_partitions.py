"""`python3 ib_partitions.py set|check|prune|undo [--at-boot] [<order.json>]`: the interfaces of a host's InfiniBand partitions. Standard library only, Python 3.9 or later.

The kernel makes one interface for each InfiniBand port, which has the partition of index 0 of the port's table. Each other partition needs an interface of its own below that (IP over InfiniBand, kernel
documentation, infiniband/ipoib.rst). The subnet manager decides who belongs to a partition; this program compares, and asks for nothing there.

Such interfaces end with the boot. `clusterwright-ib-partitions.service` and a rule of udev, which sees ports that appear later, create them again.
"""

import glob
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ANSWER_WITHIN_S = 20
INFINIBAND = "32"
"""ARPHRD_INFINIBAND (if_arp.h)."""
NO_PARTITION = "0x0000"
PORT_LETTERS = 47
"""Of a hardware address, the last 16 bytes name the port. The first four are flags and the number of a queue pair, which change whenever the driver starts (RFC 4391, section 9.1.1)."""
CREATED = "/var/lib/clusterwright/ib-partitions.json"
"""Names of the interfaces that this program created: others stay."""


class Failed(Exception):
    """An interface is not what the blueprint takes it for, or the kernel refuses a partition."""


def main() -> None:
    verb, *words = sys.argv[1:]
    is_boot = "--at-boot" in words
    files = [word for word in words if not word.startswith("--")]
    root = os.environ.get("CLUSTERWRIGHT_ROOT", "")
    try:
        if files:
            with open(files[0], encoding="utf-8") as file:
                interfaces = json.load(file)
        else:
            interfaces = json.load(sys.stdin) if verb != "undo" else []
        changes = list(remove(interfaces, root)) if verb in ("prune", "undo") else list(create(interfaces, root, is_check=verb == "check", is_boot=is_boot))
    except Failed as failed:
        print(failed, file=sys.stderr)
        raise SystemExit(1) from None
    print(json.dumps({"changes": changes}))


def create(interfaces: "Sequence[Mapping[str, Any]]", root: str, *, is_check: bool, is_boot: bool) -> "Iterator[str]":
    """Create the interfaces of partitions that are missing; give what was missing."""
    for interface in interfaces:
        key = int(interface["partition_key"], 16)
        port = find(interface, root)
        if not port and is_boot:  # the port appears later, and udev calls again
            continue
        if not port:
            there = ", ".join(f"{name} ({text(f'{root}/sys/class/net/{name}/address')})" for name in names(root))
            raise Failed(
                f"{interface['name']}: no InfiniBand interface has {interface.get('mac') or interface['name']}. This host has {there}. Correct the inventory."
            )
        if not is_boot:
            refuse_others(interface["name"], port, key, root)
        child = child_of(port, key)
        if os.path.isdir(f"{root}/sys/class/net/{child}"):
            continue
        yield f"{child} is missing"
        if is_check:
            continue
        remember(lambda known, child=child: sorted({*known, child}), root)
        try:
            run(["ip", "link", "add", "link", port, "name", child, "type", "ipoib", "pkey", f"0x{key:04x}"])
        except Failed:
            if not os.path.isdir(f"{root}/sys/class/net/{child}"):  # a call for another port created it meanwhile
                raise


def remove(wanted: "Sequence[Mapping[str, Any]]", root: str) -> "Iterator[str]":
    """Delete the interfaces that this program created and nobody wants any longer; give their names."""
    kept = {child_of(port, int(one["partition_key"], 16)) for one in wanted if (port := find(one, root))}
    for child in created(root):
        if child in kept:
            continue
        if os.path.isdir(f"{root}/sys/class/net/{child}"):
            run(["ip", "link", "delete", "dev", child])
            yield f"{child} is no longer wanted"
        remember(lambda known, child=child: [one for one in known if one != child], root)


def refuse_others(name: str, port: str, key: int, root: str) -> None:
    """Refuse a partition that this port has no part in.

    Raises:
        Failed: why.
    """
    if text(f"{root}/sys/class/net/{port}/type") != INFINIBAND:
        raise Failed(f"{name}: {port} is not an InfiniBand interface, and only these have partitions. Remove `partition_key`, or correct the inventory.")
    if text(f"{root}/sys/class/net/{port}/pkey").lower() == f"0x{key:04x}":
        raise Failed(f"{name}: {port} itself has the partition 0x{key:04x}, as the first of its port's table. Remove `partition_key`.")
    given = keys(port, root)
    if f"0x{key:04x}" not in given:
        limited = f" It is a limited member (0x{key & 0x7FFF:04x})." if f"0x{key & 0x7FFF:04x}" in given else ""
        raise Failed(
            f"{name}: the subnet manager has not made the port of {port} a full member of the partition 0x{key:04x}.{limited} The port has: {', '.join(given) or 'none'}. "
            f"Add the port's GUID to the partition on the subnet manager (opensm's partitions.conf, UFM)."
        )


def keys(port: str, root: str) -> "list[str]":
    """Give the keys in the table of an interface's port."""
    number = int(text(f"{root}/sys/class/net/{port}/dev_port") or 0) + 1  # counted from 0, unlike the ports of the device
    return sorted({text(path).lower() for path in glob.glob(f"{root}/sys/class/net/{port}/device/infiniband/*/ports/{number}/pkeys/*")} - {"", NO_PARTITION})


def find(interface: "Mapping[str, Any]", root: str) -> str:
    """Find the interface of a port by its hardware address, or by its name; empty: it is not there."""
    for name in names(root):
        place = f"{root}/sys/class/net/{name}"
        if not interface.get("mac"):
            same = name == interface["name"]
        else:
            is_own = text(f"{place}/iflink") == text(f"{place}/ifindex")  # a partition's interface has the port's address, too
            same = is_own and text(f"{place}/address").lower()[-PORT_LETTERS:] == interface["mac"][-PORT_LETTERS:]
        if same:
            return name
    return ""


def child_of(port: str, key: int) -> str:
    """Name the interface of a partition as the kernel does."""
    return f"{port}.{key:04x}"


def names(root: str) -> "list[str]":
    return sorted(os.listdir(f"{root}/sys/class/net"))


def created(root: str) -> "list[str]":
    try:
        with open(root + CREATED, encoding="utf-8") as file:
            return [str(name) for name in json.load(file)]
    except FileNotFoundError:
        return []


def remember(change: "Any", root: str) -> None:
    os.makedirs(os.path.dirname(root + CREATED), exist_ok=True)
    temporary = f"{root}{CREATED}.{os.getpid()}"
    known = change(created(root))
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(known, file)
    os.replace(temporary, root + CREATED)


def text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def run(argv: "list[str]") -> None:
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=ANSWER_WITHIN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"`{' '.join(argv)}`: {error}") from None
    if ended.returncode:
        raise Failed(f"`{' '.join(argv)}` failed: {(ended.stderr or ended.stdout).strip()}")


if __name__ == "__main__":
    main()
