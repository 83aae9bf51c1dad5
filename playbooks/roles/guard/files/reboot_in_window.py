"""Ask Slurm for a reboot of this node in a maintenance window, where the system wants one (/run/reboot-required).

slurmd runs it as root on idle nodes and after jobs, beside the health check. A window is a reservation whose name begins with guard.WINDOW (components/maintenance). No job is disturbed, a node that somebody or a
check drained stays as it is, no more of a partition reboots at once than may be drained by checks, and each node asks once in a window. Nodes that don't come back count as rebooting: they stop the others.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import guard
import node_looks

REQUIRED = "/run/reboot-required"
"""Packages that need a reboot write it (Debian's update-notifier and unattended-upgrades; Debian Policy has no rule), and it goes with the boot."""
PACKAGES = "/run/reboot-required.pkgs"
REASON = "clusterwright: maintenance: "
ASKED = "/var/lib/clusterwright/maintenance-reboot"
"""The window in which this node asked for its last reboot."""
NAMED_MOST = 5
REBOOTS = {"REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED"}
"""How Slurm shows a node that waits for its reboot, or is in it (sinfo(1), node state codes)."""
SERVES = {"IDLE", "MIXED", "ALLOCATED", "COMPLETING"}


def main() -> int:
    """Ask if this is the time for it. Whatever fails is said and changes nothing."""
    if not os.path.exists(REQUIRED):
        return 0
    try:
        guard.configure()
        window = open_window(guard.scontrol("--oneliner", "show", "reservation", within_s=guard.BETWEEN_JOBS_ANSWER_S))
        if window and node_looks.word(ASKED) != window:
            node_looks.say(ask(socket.gethostname().partition(".")[0], window))
    except (OSError, KeyError, subprocess.SubprocessError) as error:
        node_looks.say([f"{REASON}Slurm can't be asked: {node_looks.why(error)}"])
    return 0


def ask(node: str, window: str) -> list[str]:
    """Ask for the reboot, unless somebody has this node or enough others reboot; give what is to be said.

    Raises:
        OSError, subprocess.SubprocessError: Slurm was not told.
    """
    shown = guard.scontrol("--oneliner", "show", "node", node, within_s=guard.BETWEEN_JOBS_ANSWER_S)
    if not may_reboot(shown) or not has_room(shown, guard.scontrol("--oneliner", "show", "node", within_s=guard.BETWEEN_JOBS_ANSWER_S)):
        return []
    reason = REASON + why()
    os.makedirs(os.path.dirname(ASKED), exist_ok=True)
    # Slurm restarts an idle node at once, so that this is written before it is asked.
    with open(ASKED, "w") as file:
        file.write(window)
        file.flush()
        os.fsync(file.fileno())
    try:
        guard.scontrol("reboot", "ASAP", "nextstate=RESUME", f"reason={reason}", node, within_s=guard.BETWEEN_JOBS_ANSWER_S)
    except subprocess.CalledProcessError as error:
        # Only a refusal is certain. A late answer, or none because the shutdown ended scontrol by a signal, means that Slurm was probably told.
        if error.returncode > 0:
            os.remove(ASKED)
        raise
    return [reason]


def open_window(shown: str) -> str:
    """Give the name of a maintenance window that is open, from `scontrol --oneliner show reservation`; empty: none is."""
    for line in shown.splitlines():
        name = re.match(r"ReservationName=(\S+)", line)
        if name and name[1].startswith(guard.WINDOW) and " State=ACTIVE" in line:
            return name[1]
    return ""


def may_reboot(shown: str) -> bool:
    """Say whether the node serves, in a window: what somebody or a check drained has a reason of its own, and one that reboots does so already."""
    states = guard.states(shown)
    is_reserved = bool(states & {"MAINT", "MAINTENANCE"}) or f" ReservationName={guard.WINDOW}" in shown
    return is_reserved and bool(states & SERVES) and not states & ({"DRAIN", "DOWN", "FAIL"} | REBOOTS)


def has_room(shown: str, of_all: str) -> bool:
    """Say whether fewer nodes of this node's partitions reboot, or did not come back, than may at once."""
    partitions = re.search(r" Partitions=(\S+)", shown)
    alike = [line for line in of_all.splitlines() if partitions and f"{partitions[0]} " in f"{line} "]
    away = sum(bool(REBOOTS & guard.states(line)) or (guard.described(line)[0].startswith(REASON) and not SERVES & guard.states(line)) for line in alike)
    return away < guard.at_most(len(alike))


def why() -> str:
    """Say what wants the reboot."""
    named: list[str] = []
    with contextlib.suppress(OSError), open(PACKAGES) as file:
        named = sorted(set(file.read().split()))
    others = f" and {len(named) - NAMED_MOST} more" if len(named) > NAMED_MOST else ""
    return f"a reboot is required by {', '.join(named[:NAMED_MOST])}{others}" if named else "a reboot is required"


if __name__ == "__main__":
    sys.exit(main())
