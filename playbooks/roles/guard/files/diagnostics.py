"""Ask the driver, the kernel's log, the fabric's ports and the time service what counting devices doesn't show, and print what is wrong as JSON.

Runs on the host as root, called by guard.py where a pool has `health.check: full`; with Python's standard library alone. What counts as wrong, and what ends it, is data (RULES, the role's vars/main.yml).
A tool that is missing, fails or hangs is no fault of the node: it is printed under `unasked`, and nothing is concluded from it.

Prints {"wrong": [{"what", "action"}], "unasked": [text]}. `--forget` leaves out what the kernel's log holds so far: it was repaired.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

RULES = "/usr/lib/clusterwright/diagnostics.json"
STATE = "/var/lib/clusterwright/diagnostics.json"
PATH = "/usr/local/bin:/usr/bin:/bin"
DAY_S = 86400
HOUR_S = 3600

XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+), ?(.*)")
"""pid and name of a process may stand before the words (docs.nvidia.com/deploy/xid-errors)."""
SXID = re.compile(r"SXid \(PCI:([0-9a-fA-F:.]+)\): (\d+), (Fatal|Non-fatal), ?(.*)")
OF_A_PROCESS = re.compile(r"^(?:pid='?[^,]*'?, )?(?:name=[^,]*, )?(?:Ch [0-9a-fA-F]+, )?")
RECOVERY = re.compile(r" to (0x[0-9a-f]+)")
"""How Xid 154 numbers what the driver wants. The words beside the number differ between drivers."""
LONGEST_WORDS = 90
IMEX_READY, IMEX_CONNECTED = "READY", "CONNECTED"
"""States of a daemon and of a connection in the answer of nvidia-imex-ctl (NVIDIA IMEX Service guide; asked of version 580.178.04 on 2026-11-28)."""
TRACKED, OFFSET, UNKNOWN_TIME = 14, 4, "Not synchronised"
"""Of `chronyc -c tracking`: how many fields, which one has the seconds that the clock is off, and the last one where no server answered yet."""

Wrong = dict[str, str]


class Unasked(Exception):
    """A tool gave no answer."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="diagnostics", description="Ask the driver, the kernel's log and the fabric's ports what is wrong.")
    parser.add_argument("--hardware", default="/", metavar="FOLDER", help="look for devices and tools below this folder")
    parser.add_argument("--simulated", action="store_true", help="GPUs are simulated: whoever is root may write their lines of the kernel's log")
    parser.add_argument("--forget", action="store_true", help="leave out what the kernel's log holds so far")
    given = parser.parse_args()
    with open(RULES) as file:
        rules = json.load(file)
    state = remembered(given.hardware)
    if given.forget:
        keep({**state, "since_us": int(time.monotonic() * 1_000_000), "streaks": {}})
        print(json.dumps({"wrong": [], "unasked": []}))
        return 0
    wrong: list[Wrong] = []
    unasked: list[str] = []
    for look in (
        lambda: kernel_log(rules, given.hardware, given.simulated, state.get("since_us", 0)),
        lambda: gpus(rules, given.hardware, given.simulated),
        lambda: nvlink_domain(rules, given.hardware),
        lambda: ports(rules, given.hardware, state),
        lambda: file_systems(rules, given.hardware),
        lambda: stuck(rules, given.hardware),
        lambda: clock(rules, given.hardware),
    ):
        try:
            wrong += look()
        except (Unasked, OSError, ValueError, KeyError) as error:
            unasked.append(f"{type(error).__name__}: {error}" if not isinstance(error, Unasked) else str(error))
    lasting = without_followers([one for one in wrong if lasts(one, state)])
    state["streaks"] = {one["what"]: state["streaks"].get(one["what"], 0) + 1 for one in wrong if "looks" in one}
    keep(state)
    print(json.dumps({"wrong": [{name: one[name] for name in ("what", "action")} for one in lasting], "unasked": unasked}))
    return 0


def without_followers(wrong: list[Wrong]) -> list[Wrong]:
    """Leave out all but the first of those whose rule says `names: first`: others often wait for the same, and each look may leave one more."""
    first = next((one for one in wrong if one.get("names") == "first"), None)
    return [one for one in wrong if one.get("names") != "first" or one is first]


def lasts(one: Wrong, state: dict[str, Any]) -> bool:
    """Say whether it was seen in as many looks on end as its rule asks for."""
    return state["streaks"].get(one["what"], 0) + 1 >= int(one.get("looks", 1))


def kernel_log(rules: dict[str, Any], root: str, is_simulated: bool, since_us: int) -> Iterator[Wrong]:
    """Give the errors of GPUs and NVSwitches (Xid, SXid) that the kernel's log holds of this boot, each kind once for each GPU."""
    actions = {number: action for action, numbers in rules["xids"].items() for number in numbers}
    # Anybody may write to the journal; only the kernel writes with its transport. A simulated GPU has no kernel that would.
    source = "SYSLOG_IDENTIFIER=kernel" if is_simulated else "_TRANSPORT=kernel"
    words = ("journalctl", "--quiet", "--no-pager", "--boot", "--output=json", "--output-fields=MESSAGE", "--grep=Xid", source)
    kind, said = "simulated GPU" if is_simulated else "GPU", set()
    for line in answer(words, root, within_s=rules["within_s"]["journalctl"], no_match=1).splitlines():
        entry = json.loads(line)
        if int(entry["__MONOTONIC_TIMESTAMP"]) <= since_us or not isinstance(entry["MESSAGE"], str):
            continue
        if found := XID.search(entry["MESSAGE"]):
            where, number, text = found[1], int(found[2]), OF_A_PROCESS.sub("", found[3])
            action = actions.get(number, "")
            if number == rules["recovery_xid"] and (named := RECOVERY.search(text)):
                action = rules["recovery_actions"].get(named[1], "")
            what = f"{kind} {where}: Xid {number}: {shortened(text)}"
        elif (found := SXID.search(entry["MESSAGE"])) and found[3] == "Fatal":
            where, number, action, what = found[1], int(found[2]), "reboot", f"NVSwitch {found[1]}: SXid {found[2]}: {shortened(found[4])}"
        else:
            continue
        if action and (where, number) not in said:
            said.add((where, number))
            yield {"what": what, "action": action}


def gpus(rules: dict[str, Any], root: str, is_simulated: bool) -> Iterator[Wrong]:
    """Give what the driver says of each GPU (`nvidia-smi --query --xml-format`): values that a rule calls wrong, and links narrower than they can be."""
    if not os.path.isdir(os.path.join(root, "proc/driver/nvidia")) and not found_in(root, "nvidia-smi"):
        return
    document = answer(("nvidia-smi", "--query", "--xml-format"), root, within_s=rules["within_s"]["nvidia-smi"])
    try:
        log = ET.fromstring(document)  # noqa: S314  (the driver wrote it)
    except ET.ParseError as error:
        raise Unasked(f"nvidia-smi: its answer can't be read: {error}") from None
    kind = "simulated GPU" if is_simulated else "GPU"
    for gpu in log.findall("gpu"):
        name = f"{kind} {gpu.get('id', '?').removeprefix('0000')}"
        for rule in rules["gpus"]:
            for place in gpu.findall(rule["at"]):
                if is_wrong(rule, (place.text or "").strip()):
                    yield {"what": f"{name}: {rule['what'].format((place.text or '').strip())}", "action": rule["action"], **only(rule, "looks")}
        widths = gpu.find("pci/pci_gpu_link_info/link_widths")
        if widths is not None:
            now, most = (re.match(r"\d+", widths.findtext(tag, "")) for tag in ("current_link_width", "max_link_width"))
            if now and most and int(now[0]) < int(most[0]):
                yield {"what": f"{name}: {now[0]} of {most[0]} PCIe lanes", **rules["narrow_link"]}


def is_wrong(rule: dict[str, Any], value: str) -> bool:
    """Compare a value with its rule. What the GPU or the driver doesn't know (`N/A`, an older form) is not wrong."""
    if not value or value in ("N/A", "[N/A]", "Unknown Error"):
        return False
    if "above" in rule:
        return bool(re.fullmatch(r"\d+", value)) and int(value) > rule["above"]
    return value in rule["is"] if "is" in rule else value not in rule["is_not"]


def nvlink_domain(rules: dict[str, Any], root: str) -> Iterator[Wrong]:
    """Give what the IMEX daemon of this node lacks to share GPUs' memory with the machines of its NVLink domain (`nvidia-imex-ctl -N -j`).

    Other machines that don't answer are no fault of this one.
    """
    if not word(root, rules["imex_nodes"].lstrip("/")):
        return
    try:
        nodes = json.loads(answer(("nvidia-imex-ctl", "-N", "-j"), root, within_s=rules["within_s"]["nvidia-imex-ctl"]))["nodes"].values()
    except (ValueError, KeyError, AttributeError) as error:
        raise Unasked(f"nvidia-imex-ctl: its answer can't be read: {error}") from None
    status = {str(one["host"]): str(one["status"]) for one in nodes}
    own = own_addresses(root)
    mine = next((one for one in nodes if one["host"] in own), None)
    if mine is None:
        raise Unasked(f"nvidia-imex-ctl: none of its {len(status)} machines has an address of this node")
    if mine["status"] != IMEX_READY:
        yield {"what": f"its IMEX daemon is {mine['status']}", **rules["imex"]}
        return
    for one in mine["connections"].values():
        if status.get(one["host"]) == IMEX_READY and one["status"] != IMEX_CONNECTED:
            yield {"what": f"its IMEX daemon and that of {one['host']} are not connected ({one['status']})", **rules["imex"], "names": "first"}


def own_addresses(root: str) -> set[str]:
    """Give the IPv4 addresses of this host (`/proc/net/fib_trie`): the kernel writes each above a line that calls it local."""
    return set(re.findall(r"\|-- ([\d.]+)\n\s+/32 host LOCAL", word(root, "proc/net/fib_trie")))


def ports(rules: dict[str, Any], root: str, state: dict[str, Any]) -> Iterator[Wrong]:
    """Give RDMA ports that are down or slower than they were on this host, that count errors, and links that went down too often in a day (sysfs-class-infiniband)."""
    folder = os.path.join(root, "sys/class/infiniband")
    known = state.setdefault("ports", {})
    for device in listed(folder):
        for port in listed(folder, device, "ports"):
            place, name = os.path.join(folder, device, "ports", port), f"{device} port {port}"
            active, rate, fell = word(place, "state").startswith("4:"), number(word(place, "rate")), number(word(place, "counters/link_downed"))
            before = known.setdefault(name, {"rate": 0.0, "fell": fell, "falls": []})
            if before["rate"] and not active:
                yield {"what": f"{name} is {word(place, 'state').partition(': ')[2] or 'gone'} and was active", **rules["port_down"]}
            elif active and rate < before["rate"]:
                yield {"what": f"{name} runs at {rate:g} Gb/s and ran at {before['rate']:g}", **rules["port_slow"]}
            if active:
                before["rate"] = max(before["rate"], rate)
            now = time.time()
            more = int(fell - before["fell"]) if fell >= before["fell"] else int(fell)  # the driver counts from 0 when it starts
            before["falls"] = [one for one in before["falls"] if now - one < DAY_S] + [now] * min(more, rules["port_falls"]["above"] + 1)
            before["fell"] = fell
            if len(before["falls"]) > rules["port_falls"]["above"]:
                yield {"what": f"{name} lost its link {len(before['falls'])} times in a day", "action": rules["port_falls"]["action"]}
            yield from port_counters(rules["port_counters"], name, place, before.setdefault("counted", {}))


def port_counters(rules: list[dict[str, Any]], name: str, place: str, counted: dict[str, Any]) -> Iterator[Wrong]:
    """Give the counters of errors that grew too much within an hour.

    Args:
        counted: counter → its last value, and what it grew by when; kept from look to look.
    """
    now = time.time()
    for rule in rules:
        said = word(place, "counters", rule["counter"])
        if not said.isdigit():
            continue  # not to be read now, as while a device recovers: no 0, from which all that it ever counted would be growth
        value = int(said)
        seen = counted.setdefault(rule["counter"], {"last": value, "grown": []})
        more = value - seen["last"] if value >= seen["last"] else value
        seen["grown"] = [[at, by] for at, by in seen["grown"] if now - at < HOUR_S] + ([[now, more]] if more else [])
        seen["last"] = value
        # One burst, as of a link that falls once, is one growth however often it is looked at.
        if len(seen["grown"]) > 1 and sum(by for _, by in seen["grown"]) > rule["above"]:
            yield {**rule, "what": f"{name} counted more than {rule['above']} {rule['what']} in an hour"}


def file_systems(rules: dict[str, Any], root: str) -> Iterator[Wrong]:
    """Give file systems of this host that are full, or that the kernel made read-only."""
    for path, rule in rules["file_systems"].items():
        try:
            found = os.statvfs(os.path.join(root, path.lstrip("/")))
        except FileNotFoundError:
            continue
        free_mib = found.f_bavail * found.f_frsize >> 20
        if found.f_flag & os.ST_RDONLY:
            yield {"what": f"{path} is read-only", "action": rule["action"]}
        elif free_mib < rule["least_mib"]:
            yield {"what": f"{path} has {free_mib} MiB left", "action": rule["action"]}


def stuck(rules: dict[str, Any], root: str) -> Iterator[Wrong]:
    """Give the processes that wait inside the kernel and can't be ended (state D, proc(5)). One that waits for a disk may do so too, for a moment."""
    folder = os.path.join(root, "proc")
    for one in sorted((name for name in listed(folder) if name.isdigit()), key=int):
        name, _, rest = word(folder, one, "stat").partition("(")[2].rpartition(")")
        if rest.split()[:1] == ["D"] and word(folder, one, "cmdline"):  # threads of the kernel have no command line
            yield {"what": f"process {one} ({name}) is stuck in the kernel", **rules["stuck"]}


def clock(rules: dict[str, Any], root: str) -> Iterator[Wrong]:
    """Give a clock that is far from the time of its servers, as chrony says (chronyc(1), tracking). A container has its machine's clock."""
    if os.path.exists(os.path.join(root, "run/systemd/container")) or not found_in(root, "chronyc"):
        return
    said = answer(("chronyc", "-c", "-n", "tracking"), root, within_s=rules["within_s"]["chronyc"]).strip()
    fields = said.split(",")
    if len(fields) != TRACKED:
        raise Unasked(f"chronyc: its answer can't be read: {shortened(said)}")
    off_s, leap = abs(float(fields[OFFSET])), fields[-1]
    if leap != UNKNOWN_TIME and off_s > rules["clock"]["above_s"]:
        yield {**rules["clock"], "what": f"its clock is more than {rules['clock']['above_s']} s off the time of its servers"}


def answer(words: tuple[str, ...], root: str, *, within_s: float, no_match: int = 0) -> str:
    """Give what a tool printed.

    Raises:
        Unasked: it is not there, failed, or gave no answer in time. One that hangs in the kernel can't be ended and is left behind.
    """
    program = found_in(root, words[0])
    if not program:
        raise Unasked(f"{words[0]} is not installed")
    asked = subprocess.Popen([program, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PATH": PATH, "LC_ALL": "C.UTF-8"})
    try:
        said, complaint = asked.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        asked.kill()  # and not waited for: a program that hangs in the driver never ends
        raise Unasked(f"{words[0]} gave no answer within {within_s:g} s") from None
    if asked.returncode == no_match and not said:
        return ""
    if asked.returncode:
        raise Unasked(f"{words[0]} failed with {asked.returncode}: {shortened((said + complaint).strip())}")
    return said


def found_in(root: str, program: str) -> str | None:
    return shutil.which(program, path=PATH if root == "/" else os.pathsep.join([os.path.join(root, "usr/bin"), *PATH.split(":")]))


def remembered(root: str) -> dict[str, Any]:
    """Give what earlier looks left; what belongs to a boot goes with it."""
    boot = word(root, "proc/sys/kernel/random/boot_id")
    try:
        with open(STATE) as file:
            state = dict(json.load(file))
    except (OSError, ValueError):
        state = {}
    if state.get("boot") != boot:
        state = {"boot": boot, "ports": state.get("ports", {})}
    return {"streaks": {}, **state}


def keep(state: dict[str, Any]) -> None:
    os.makedirs(os.path.dirname(STATE), exist_ok=True)
    with open(f"{STATE}.new", "w") as file:
        json.dump(state, file)
    os.replace(f"{STATE}.new", STATE)


def shortened(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= LONGEST_WORDS else f"{line[: LONGEST_WORDS - 1]}…"


def only(rule: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: rule[name]} if name in rule else {}


def number(text: str) -> float:
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else 0.0


def word(*path: str) -> str:
    try:
        with open(os.path.join(*path), errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def listed(*folder: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(*folder)))
    except (FileNotFoundError, NotADirectoryError):
        return []


if __name__ == "__main__":
    sys.exit(main())
