"""Do what ends the findings of the diagnostics on this node: reset a GPU, restart the fabric manager, else reboot.

guard.py starts it as a unit of its own on a node that drained itself, has no jobs any more, and whose pool has `on_failure: repair`. What is run for what is data (blueprints/catalog/repairs.yaml). Each command
is tried once in a while; where it failed or didn't help, the node asks for a reboot, which has the guard's own limit. A node with a part to be replaced is left to a person. How many nodes can be here at
once is the limit of those that drain themselves.

Takes the findings as JSON: [[what, action], ...].
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import guard
import node_looks

TRIED = "/var/lib/clusterwright/health-repairs.json"
"""Command → when it was tried, seconds."""
OF_GPU = re.compile(r"(?:simulated )?GPU ([0-9a-fA-F:.]+):")
FUNCTION = re.compile(r"\.[0-7]$")


def main() -> int:
    """Repair, or reboot; whatever fails is said, and leaves the node drained."""
    found = [(str(what), str(action)) for what, action in json.loads(sys.argv[1])]
    with open(node_looks.REPAIRS) as file:
        known = json.load(file)
    node = socket.gethostname().partition(".")[0]
    try:
        guard.configure()
        reason = drained(guard.scontrol("--oneliner", "show", "node", node))
        if not reason or guard.BEYOND_REBOOTS & {action for _, action in found} or repaired(found, known):
            return 0
        if guard.is_reboot_due():
            guard.scontrol("reboot", "ASAP", "nextstate=RESUME", f"reason={reason}{guard.REBOOTING}", node)
        elif guard.is_replaced():
            guard.scontrol("update", f"nodename={node}", f"reason={reason}{guard.BEYOND_REPAIR}")
    except (OSError, KeyError, subprocess.SubprocessError) as error:
        node_looks.say([f"{node_looks.HEALTH}not repaired: {node_looks.why(error)}"])
    return 0


def drained(shown: str) -> str:
    """Give the reason of a node that its own check drained and that has no jobs; empty: it is somebody else's, or busy, or in its reboot."""
    reason, is_out = guard.described(shown)
    is_idle = "IDLE" in guard.states(shown) and not guard.is_rebooting(shown)
    return reason if is_out and is_idle and reason.startswith(node_looks.HEALTH) else ""


def repaired(found: list[tuple[str, str]], known: dict[str, Any]) -> bool:
    """Run what the findings want, and say whether all of it could be run now and succeeded."""
    commands = dict.fromkeys(command(what, known["actions"][action]) for what, action in found if action)
    if not all(commands):
        return False
    limit_s = max((known["actions"][action]["within_s"] for _, action in found if action), default=0)
    tried, now, ended_well = remembered(), time.time(), bool(commands)
    for words in commands:
        text = " ".join(words)
        before = [one for one in tried.get(text, []) if now - one < node_looks.DAY_S]
        if len(before) >= known["limits"]["a_day"] or any(now - one < known["limits"]["every_s"] for one in before):
            return False
        tried[text] = [*before, now]
        keep(tried)
        ended_well &= ran(words, text, limit_s)
    if ended_well:
        # The kernel's log still holds what was repaired.
        with open(node_looks.EXPECTED) as file:
            node_looks.diagnosed(json.load(file), "/", "--forget")
    return ended_well


def command(what: str, action: dict[str, Any]) -> tuple[str, ...]:
    """Give the words that end a finding; none: no command does."""
    gpu = OF_GPU.match(what)
    # A line of the kernel's log names the device without its function.
    place = "" if gpu is None else gpu[1] if FUNCTION.search(gpu[1]) else f"{gpu[1]}.0"
    words = action.get("command", [])
    return () if any("{gpu}" in word for word in words) and not place else tuple(word.replace("{gpu}", place) for word in words)


def ran(words: tuple[str, ...], text: str, within_s: float) -> bool:
    try:
        subprocess.run(words, env={"PATH": guard.PATH, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, check=True, timeout=within_s)
    except (OSError, subprocess.SubprocessError) as error:
        node_looks.say([f"{node_looks.HEALTH}`{text}` failed: {node_looks.why(error)}"])
        return False
    node_looks.say([f"{node_looks.HEALTH}`{text}` succeeded; the next look finds whether it helped"])
    return True


def remembered() -> dict[str, list[float]]:
    try:
        with open(TRIED) as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}


def keep(tried: dict[str, list[float]]) -> None:
    os.makedirs(os.path.dirname(TRIED), exist_ok=True)
    with open(f"{TRIED}.new", "w") as file:
        json.dump(tried, file)
    os.replace(f"{TRIED}.new", TRIED)


if __name__ == "__main__":
    sys.exit(main())
