"""`python3 roce.py set|check|undo <order.json`: have the NICs of a host mark RoCE packets as the blueprint says, by the steps of the catalogue. Standard library only, Python 3.9 or later.

The settings live in the NIC until the next boot; `clusterwright-roce.service` sets them again. What a NIC had before the first change is recorded, and `undo` gives it back.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

ANSWER_WITHIN_S = 20
ECT_0 = 2
"""Of the two lowest bits of the traffic class: the sender understands congestion notifications (RFC 3168)."""
BEFORE = "/var/lib/clusterwright/roce.json"
"""The settings that were made, each with what the NIC had before."""


class Failed(Exception):
    """A NIC is not what the blueprint takes it for, or refuses a setting."""


def main() -> None:
    verb, order = sys.argv[1], json.load(sys.stdin)
    try:
        answer = {"set": set_all, "check": check, "undo": undo}[verb](order, os.environ.get("CLUSTERWRIGHT_ROOT", ""))
    except Failed as failed:
        print(failed, file=sys.stderr)
        raise SystemExit(1) from None
    print(json.dumps(answer))
    raise SystemExit(1 if verb == "undo" and answer["failed"] else 0)


def set_all(order: "Mapping[str, Any]", root: str) -> "dict[str, Any]":
    """Make the settings that differ, and give back those that the order has no longer."""
    wanted = [setting for interface in order["interfaces"] for setting in settings(interface, order, root)]
    recorded = read_record(root)
    changes = [change for setting in stale(recorded, wanted) if is_same_nic(setting, root) for change in give_back(setting, root)]
    before = {key(setting): setting["before"] for setting in recorded}
    present = [(setting, read(setting["step"], root)) for setting in wanted]
    write_record([{**setting, "before": before.get(key(setting), has)} for setting, has in present if key(setting) in before or has is not None], root)
    for setting, has in present:
        if has is not None and has != setting["words"]:
            write(setting["step"], setting["words"], has, root)
            if not setting["step"].get("optional") and read(setting["step"], root) != setting["words"]:
                raise Failed(f"{setting['device']}: the driver does not keep the setting «{setting['step']['what']}» ({' '.join(setting['words'])})")
            changes.append(told(setting))
    return {"changes": changes, "failed": []}


def check(order: "Mapping[str, Any]", root: str) -> "dict[str, Any]":
    """Tell what `set` would change, and which interfaces it refuses."""
    wanted, failed = [], []
    for interface in order["interfaces"]:
        try:
            wanted += settings(interface, order, root)
        except Failed as refused:
            failed.append({"interface": interface["name"], "what": str(refused)})
    changes = []
    for setting in wanted:
        try:
            has = read(setting["step"], root)
        except Failed as refused:
            failed.append({"interface": setting["interface"], "what": str(refused)})
            continue
        if has is not None and has != setting["words"]:
            changes.append(told(setting))
    changes += [told(setting) for setting in stale(read_record(root), wanted)] if not failed else []
    return {"changes": changes, "failed": failed}


def undo(_order: "Mapping[str, Any]", root: str) -> "dict[str, Any]":
    """Give back what each NIC had before the first change, unless somebody changed it since. The record stays: a unit that starts again adds nothing to it."""
    changes, failed = [], []
    for setting in reversed(read_record(root)):
        try:
            if is_same_nic(setting, root):
                changes += give_back(setting, root)
        except Failed as refused:
            print(refused, file=sys.stderr)
            failed.append({"interface": setting["interface"], "what": str(refused)})
    return {"changes": changes, "failed": failed}


def settings(interface: "Mapping[str, Any]", order: "Mapping[str, Any]", root: str) -> "list[dict[str, Any]]":
    """List the settings of one interface."""
    name = find(interface, root)
    nic = catalogue_entry(name, order["catalog"], root)
    words = {**order["roce"], "interface": name, "device": rdma_device(name, root), "tos": order["roce"]["dscp"] * 4 + ECT_0}
    steps = [{key: fill(value, words) for key, value in step.items()} for step in (*order["catalog"]["common"], *nic["steps"])]
    mac = hardware_address(name, root)
    return [{"interface": interface["name"], "device": name, "mac": mac, "step": step, "words": [step["value"]]} for step in steps]


def key(setting: "Mapping[str, Any]") -> "tuple[str, ...]":
    """Tell settings apart, whatever their values."""
    step = setting["step"]
    return (setting["mac"], *([step["path"]] if "path" in step else [*step["show"], step["words"]]))


def stale(recorded: "list[dict[str, Any]]", wanted: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    """List recorded settings that are not wanted any more, the last one first."""
    keys = {key(setting) for setting in wanted}
    return [setting for setting in reversed(recorded) if key(setting) not in keys]


def is_same_nic(setting: "Mapping[str, Any]", root: str) -> bool:
    """Whether the interface is still that NIC's; one that was taken out or renamed has lost its settings."""
    return hardware_address(setting["device"], root) == setting["mac"]


def give_back(setting: "Mapping[str, Any]", root: str) -> "Iterator[dict[str, str]]":
    has = read(setting["step"], root)
    if has == setting["words"] and has != setting["before"]:
        write(setting["step"], setting["before"], has, root)
        yield told(setting)


def told(setting: "Mapping[str, Any]") -> "dict[str, str]":
    return {"interface": setting["interface"], "device": setting["device"], "what": setting["step"]["what"]}


def read(step: "Mapping[str, Any]", root: str) -> "list[str] | None":
    """Give the words that a setting has now; None: there is no such setting here, and it is optional."""
    if "show" in step:
        return [word for word in run(step["show"]).split() if re.fullmatch(step["words"], word)]
    with folder(step, root):
        path = root + step["path"]
        if os.path.exists(path):
            value = text(path).partition("\n")[0].strip()
            value = value[len(step["shown"]) :] if value.startswith(step.get("shown", " ")) else value
            return [number(value) or step.get("unset", value)]
        if step.get("optional"):
            return None
        raise Failed(f"{path} does not exist: «{step['what']}» can't be set. Install the NIC maker's driver package.")


def write(step: "Mapping[str, Any]", words: "list[str]", present: "list[str]", root: str) -> None:
    if "show" in step:
        run([*step["clear"], *present] if "clear" in step and not words else [*step["set"], *words])
        return
    with folder(step, root):
        for path, value in ((step["path"], words[0]), *([(step["apply"], "1")] if "apply" in step else [])):
            with open(root + path, "w", encoding="ascii") as file:
                file.write(value)


@contextlib.contextmanager
def folder(step: "Mapping[str, Any]", root: str) -> "Iterator[None]":
    """Have a folder of configfs, which shows a device's settings as files, for as long as it takes."""
    path = root + step.get("folder", "")
    is_new = "folder" in step and os.path.isdir(os.path.dirname(path)) and not os.path.isdir(path)
    if is_new:
        os.mkdir(path)
    try:
        yield
    finally:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(path)


def number(value: str) -> str:
    """Write a number as the catalogue does (`0x1` is 1); empty: it is none."""
    try:
        return str(int(value, 0))
    except ValueError:
        return ""


def read_record(root: str) -> "list[dict[str, Any]]":
    return list(json.loads(text(root + BEFORE) or "[]"))


def write_record(made: "list[dict[str, Any]]", root: str) -> None:
    os.makedirs(os.path.dirname(root + BEFORE), exist_ok=True)
    with open(f"{root}{BEFORE}.new", "w", encoding="ascii") as file:
        json.dump(made, file)
    os.replace(f"{root}{BEFORE}.new", root + BEFORE)


def find(interface: "Mapping[str, Any]", root: str) -> str:
    """Find the interface of hardware by its hardware address, or by its name."""
    names = sorted(os.listdir(f"{root}/sys/class/net"))
    for name in names:
        same = hardware_address(name, root).lower() == interface["mac"] if interface.get("mac") else name == interface["name"]
        if same and os.path.exists(f"{root}/sys/class/net/{name}/device"):
            return name
    wanted = interface.get("mac") or interface["name"]
    raise Failed(f"{interface['name']}: no NIC has {wanted}; this host has {', '.join(names)}. Correct the inventory.")


def hardware_address(name: str, root: str) -> str:
    """Give the address that an interface has by itself; one in a bond shows the bond's."""
    return text(f"{root}/sys/class/net/{name}/bonding_slave/perm_hwaddr") or text(f"{root}/sys/class/net/{name}/address")


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
