"""`python3 roce.py set|check|undo <order.json`: have the NICs of a host mark RoCE packets as the blueprint says, by the steps of the catalogue. Standard library only, Python 3.9 or later.

The settings live in the NIC until the next boot; `clusterwright-roce.service` sets them again.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

ANSWER_WITHIN_S = 20
ECT_0 = 2
"""Of the two lowest bits of the traffic class: the sender understands congestion notifications (RFC 3168)."""


class Failed(Exception):
    """A NIC is not what the blueprint takes it for, or refuses a setting."""


def main() -> None:
    verb, order = sys.argv[1], json.load(sys.stdin)
    root = os.environ.get("CLUSTERWRIGHT_ROOT", "")
    try:
        changes = [change for interface in order["interfaces"] for change in each(verb, interface, order, root)]
    except Failed as failed:
        print(failed, file=sys.stderr)
        raise SystemExit(1) from None
    print(json.dumps({"changes": changes}))


def each(verb: str, interface: "Mapping[str, Any]", order: "Mapping[str, Any]", root: str) -> "Iterator[str]":
    """Compare the settings of one interface, and set or undo those that differ; give what differed."""
    name = find(interface, root)
    nic = catalogue_entry(name, order["catalog"], root)
    device = rdma_device(name, root)
    words = {**order["roce"], "interface": name, "device": device, "tos": order["roce"]["dscp"] * 4 + ECT_0}
    for step in (*order["catalog"]["common"], *nic["steps"]):
        filled = {key: fill(value, words) for key, value in step.items()}
        if "path" in filled:
            yield from of_file(verb, filled, root, name)
        else:
            yield from of_command(verb, filled, name)


def of_command(verb: str, step: "Mapping[str, Any]", interface: str) -> "Iterator[str]":
    is_set = step["has"] in run(step["show"]).split()
    if is_set == (verb == "undo"):
        if verb != "check":
            run(step["undo" if verb == "undo" else "set"])
        yield f"{interface}: {step['what']}"
    if verb == "set" and step["has"] not in run(step["show"]).split():
        raise Failed(f"{interface}: the driver does not keep the setting «{step['what']}» (`{' '.join(step['set'])}`)")


def of_file(verb: str, step: "Mapping[str, Any]", root: str, interface: str) -> "Iterator[str]":
    """Settings by file end with the boot; undoing leaves them, since what the driver had before was not recorded."""
    path = root + step["path"]
    if verb == "undo":
        return
    if "folder" in step and os.path.isdir(os.path.dirname(root + step["folder"])):
        os.makedirs(root + step["folder"], exist_ok=True)  # configfs makes the files of a new folder
    if not os.path.exists(path):
        if step.get("optional"):
            return
        raise Failed(f"{interface}: {path} does not exist: {step['what']} can't be set. Install the NIC maker's driver package.")
    with open(path, encoding="ascii") as file:
        found = file.read().strip()
    if found in (step["value"], step.get("shown")):
        return
    if verb == "set":
        with open(path, "w", encoding="ascii") as file:
            file.write(step["value"])
    yield f"{interface}: {step['what']}"


def find(interface: "Mapping[str, Any]", root: str) -> str:
    """Find the interface of hardware by its hardware address, or by its name."""
    names = sorted(os.listdir(f"{root}/sys/class/net"))
    for name in names:
        same = text(f"{root}/sys/class/net/{name}/address").lower() == interface["mac"] if interface.get("mac") else name == interface["name"]
        if same and os.path.exists(f"{root}/sys/class/net/{name}/device"):
            return name
    wanted = interface.get("mac") or interface["name"]
    raise Failed(f"{interface['name']}: no NIC has {wanted}; this host has {', '.join(names)}. Correct the inventory.")


def catalogue_entry(name: str, catalog: "Mapping[str, Any]", root: str) -> "Mapping[str, Any]":
    vendor = text(f"{root}/sys/class/net/{name}/device/vendor")
    for nic in catalog["nics"]:
        if nic["vendor"] == vendor:
            return dict(nic)
    known = " and ".join(nic["title"] for nic in catalog["nics"])
    raise Failed(
        f"{name}: its PCI vendor is {vendor or 'unknown'}, and settings for RoCE are known of {known}. Leave `inventory.roce` out, and set up the NICs by the maker's tools."
    )


def rdma_device(name: str, root: str) -> str:
    """Give the RDMA device of a NIC whose link is Ethernet."""
    folder = f"{root}/sys/class/net/{name}/device/infiniband"
    devices = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if not devices:
        raise Failed(f"{name} has no RDMA device. Load the NIC's RDMA driver (`rdma link` shows its devices).")
    layer = text(f"{root}/sys/class/infiniband/{devices[0]}/ports/1/link_layer")
    if layer != "Ethernet":
        raise Failed(
            f"{name}: the link of {devices[0]} is {layer or 'unknown'}, and RoCE runs over Ethernet. Leave `inventory.roce` out for an InfiniBand fabric."
        )
    return devices[0]


def fill(value: "Any", words: "Mapping[str, Any]") -> "Any":
    if isinstance(value, str):
        return value.format_map(words)
    return [one.format_map(words) for one in value] if isinstance(value, list) else value


def text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def run(argv: "list[str]") -> str:
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=ANSWER_WITHIN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"`{' '.join(argv)}`: {error}") from None
    if ended.returncode:
        raise Failed(f"`{' '.join(argv)}` failed: {(ended.stderr or ended.stdout).strip()}")
    return ended.stdout


if __name__ == "__main__":
    main()
