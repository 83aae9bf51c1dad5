"""Count what this node has, before it takes jobs, against what its cluster says of it, and tell Slurm what is missing.

Runs on the host as root, once after each start and before slurmd, with Python's standard library alone. A node that has all of it is left to slurmd, without a word to Slurm. One that lacks something is
set down with a reason that begins with REASON, and its slurmd does not start; so is one where this program itself fails, and the reason says that it did. `--hardware FOLDER` looks for devices below
another folder, and every message names it.

With `--between-jobs`, slurmd runs it on idle nodes and after each job (slurm.conf(5), HealthCheckProgram, Epilog): a node that lost something is drained with a reason that begins with HEALTH, or
rebooted where its pool says so, and returned to service when it has it again. A node that anybody else drained stays as it is, and a failure of this program drains nothing.

Where the pool has `health.check: full`, diagnostics.py is asked as well.
"""

import argparse
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import node_looks

SETTINGS = "/etc/clusterwright/node.env"
REASON = "clusterwright: start guard: "
"""The elastic program (components/elastic/model.py) and drift checks (stacks/drift/scheduler.py) know a node's own word by it."""
OURS = "clusterwright:"
REBOOTING = "; rebooting"
BEYOND_REPAIR = "; to be replaced"
"""The elastic program (components/elastic/model.py) replaces a node whose reason ends so."""
STARTED = "/run/clusterwright/guard-started"
REBOOTS = "/var/lib/clusterwright/health-reboots"
"""When this program asked for a reboot, one time in seconds in a line."""
SCRATCH_UNIT = "/etc/systemd/system/clusterwright-scratch.service"
"""Makes the node's own disks into one file system (role scratch_raid); a lost disk takes all files with it, and starting the unit again makes it of those that are left."""
MIG_UNIT = "/etc/systemd/system/clusterwright-mig.service"
TOO_LOW = re.compile(r"gres/gpu\S* count too low")
"""Slurm's own word of a node whose layout is not the one of slurm.conf; it stays in Slurm when the node has registered with the right one."""
CONFIGURATION = "/run/clusterwright/guard-slurm.conf"
CLEAR = "/run/clusterwright/health-clear"
"""There when this node was complete at the last look and Slurm was asked whether it is drained for something else: the next look need not ask."""
PATH = "/usr/local/bin:/usr/bin:/bin"

HELD, WINDOW = {"DRAIN", "MAINT", "MAINTENANCE"}, "clusterwright-maintenance-"
"""States in which somebody keeps a node; the blueprint's own maintenance windows (WINDOW) only keep jobs off it."""
DEVICES_WITHIN_S = 15
"""Devices can come later than this program; AWS's own check of EFA devices looks three times, 5 s apart (awsome-distributed-ai, gpu-cluster-healthcheck)."""
MOUNTS_WITHIN_S = 300
TELL_EVERY_S = 2.0
"""A controller can come minutes after its nodes."""
ANSWER_WITHIN_S, BETWEEN_JOBS_S, BETWEEN_JOBS_ANSWER_S = 60, 5, 20
"""slurmd kills its health check after 60 s (slurm.conf(5), HealthCheckProgram)."""
REPAIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repair_node.py")
BEYOND_REBOOTS = {"replace", "free"}
BRAKE = "25%"
"""Of the nodes of a partition, no more are drained by their own checks where the pool names no other limit, but always one: what all nodes lack at once is no fault of each (Kubernetes' Cluster API stops at 40 %, NVIDIA's operators at 25 %)."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="guard", description="Count what this node has before it takes jobs.")
    parser.add_argument("--hardware", default="/", metavar="FOLDER", help="look for devices below this folder")
    parser.add_argument("--between-jobs", action="store_true", help="drain a node that lost something, and return it when it has it again")
    given = parser.parse_args()
    hardware = given.hardware
    if given.between_jobs:
        node_looks.say(between_jobs(hardware))
        return 0
    begin_anew(node_looks.EXPECTED, hardware)
    said, devices_s, mounts_s = set(), DEVICES_WITHIN_S, MOUNTS_WITHIN_S
    while True:
        try:
            wrong = node_looks.joined(
                node_looks.look(node_looks.EXPECTED, hardware, devices_s=devices_s, mounts_s=mounts_s, mountinfo=node_looks.MOUNTINFO), hardware
            )
        except Exception as error:  # whatever it is, it is no fault of the hardware, and somebody has to hear of it
            wrong = f"the guard itself failed: {type(error).__name__}: {error}"
        if not wrong:
            return 0
        lines = [REASON + wrong]
        try:
            lines += tell(wrong)
            return 1
        except (OSError, KeyError, subprocess.SubprocessError) as error:
            lines.append(f"{REASON}Slurm can't be told yet: {node_looks.why(error)}")
        finally:
            node_looks.say([line for line in lines if line not in said])
        said = set(lines)
        # While nobody listens, what is missing may come.
        devices_s, mounts_s = 0, 1
        time.sleep(TELL_EVERY_S)


def between_jobs(hardware: str) -> list[str]:
    """Look at a node and tell Slurm what changed; give what is to be said."""
    try:
        found = node_looks.look(node_looks.EXPECTED, hardware, devices_s=BETWEEN_JOBS_S, mounts_s=1, mountinfo=node_looks.MOUNTINFO)
    except Exception as error:  # a check that fails is not a node that fails
        return [f"{node_looks.HEALTH}the check itself failed, and the node stays as it is: {type(error).__name__}: {error}"]
    wrong = node_looks.joined(found, hardware)
    if not wrong and os.path.exists(CLEAR):
        return []
    try:
        return settle(socket.gethostname().partition(".")[0], wrong, found)
    except (OSError, KeyError, subprocess.SubprocessError) as error:
        return [f"{node_looks.HEALTH}{wrong or 'complete'}; Slurm can't be told: {node_looks.why(error)}"]


def settle(node: str, wrong: str, found: list[tuple[str, str]]) -> list[str]:
    """Drain, repair or reboot this node, or return it to service, unless somebody else has it.

    Raises:
        OSError, KeyError, subprocess.SubprocessError: Slurm was not told.
    """
    configure()
    shown = scontrol("--oneliner", "show", "node", node, within_s=BETWEEN_JOBS_ANSWER_S)
    reason, is_out = described(shown)
    is_ours = is_out and (
        reason.startswith(node_looks.HEALTH) or (bool(TOO_LOW.match(reason)) and (node_looks.LAYOUT in wrong or "INVALID_REG" not in states(shown)))
    )
    # Once it is drained and its last job has ended, nobody uses it any more; the next look finds whether it helped.
    # slurmd runs this in a job's epilog, too. It restarts with the layout: a look after the epilog has time for that.
    is_idle, is_clearing = "IDLE" in states(shown), "COMPLETING" in states(shown)
    for sign, unit, is_free in ((node_looks.LOST_DISK, SCRATCH_UNIT, is_idle), (node_looks.LAYOUT, MIG_UNIT, is_idle and not is_clearing)):
        if is_ours and sign in wrong and is_free and os.path.exists(unit):
            subprocess.run(["systemctl", "restart", "--no-block", os.path.basename(unit)], check=False, env={"PATH": PATH})
    if not wrong:
        # Another node is about to take the place of one that was given up, or its host is reported: no job may begin there.
        returns = is_ours and not reason.endswith(BEYOND_REPAIR)
        if returns:
            scontrol("update", f"nodename={node}", "state=RESUME", within_s=BETWEEN_JOBS_ANSWER_S)
        with open(CLEAR, "w"):
            pass
        return [f"{node_looks.HEALTH}complete again, and back in service"] if returns else []
    with contextlib.suppress(FileNotFoundError):
        os.unlink(CLEAR)
    answer = answered(found)
    if is_ours and answer == "repair" and is_idle:  # as a unit of its own: slurmd gives its check a minute
        words = ("systemd-run", "--quiet", "--collect", "--unit=clusterwright-repair", sys.executable, "-I", "-S", "-B", REPAIR, json.dumps(found))
        subprocess.run(words, check=False, env={"PATH": PATH}, capture_output=True)
    if not is_out and (others := too_many(shown)):
        return [f"{node_looks.HEALTH}{wrong}; not drained: {others}"]
    if not is_out and answer == "reboot" and is_reboot_due():
        scontrol("reboot", "ASAP", "nextstate=RESUME", f"reason={node_looks.HEALTH}{wrong}{REBOOTING}", node, within_s=BETWEEN_JOBS_ANSWER_S)
        return [node_looks.HEALTH + wrong]
    ending = BEYOND_REPAIR if is_replaced() and answer != "repair" and not is_rebooting(shown) else ""
    told = node_looks.HEALTH + wrong + ending
    if is_ours and reason not in (told, node_looks.HEALTH + wrong + REBOOTING, node_looks.HEALTH + wrong + BEYOND_REPAIR):
        scontrol("update", f"nodename={node}", f"reason={told}", within_s=BETWEEN_JOBS_ANSWER_S)
    elif not is_out:
        scontrol("update", f"nodename={node}", "state=DRAIN", f"reason={told}", within_s=BETWEEN_JOBS_ANSWER_S)
    return [node_looks.HEALTH + wrong] if not reason.startswith(node_looks.HEALTH + wrong) else []


def answered(found: list[tuple[str, str]]) -> str:
    """Say what this node does about what it found, as far as its pool allows: `repair`, `reboot`, or nothing but to drain."""
    allowed, actions = node_looks.read(node_looks.EXPECTED).get("on_failure"), {action for _, action in found} - {""}
    if BEYOND_REBOOTS & actions or allowed not in ("reboot", "repair"):
        return ""
    return "repair" if allowed == "repair" and any("command" in node_looks.read(node_looks.REPAIRS)["actions"][one] for one in actions) else "reboot"


def is_replaced() -> bool:
    """Say whether the elastic program replaces this node where what its pool says of repairs doesn't help."""
    return node_looks.read(node_looks.EXPECTED).get("else") == "replace"


def is_rebooting(shown: str) -> bool:
    return any(state.startswith("REBOOT") for state in states(shown))


def is_reboot_due() -> bool:
    """Say whether no reboot was tried lately. It counts as tried."""
    return node_looks.is_reboot_due(REBOOTS)


def too_many(shown: str) -> str:
    """Say why no further node of its partitions may be drained; empty: it may."""
    partitions = re.search(r" Partitions=(\S+)", shown)
    alike = [
        line for line in scontrol("--oneliner", "show", "node", within_s=BETWEEN_JOBS_ANSWER_S).splitlines() if partitions and partitions[0] + " " in line + " "
    ]
    drained = sum(is_out and reason.startswith(node_looks.HEALTH) for reason, is_out in map(described, alike))
    return f"{drained} of {len(alike)} nodes are drained by their checks already" if drained >= at_most(len(alike)) else ""


def at_most(nodes: int) -> int:
    brake = str(node_looks.read(node_looks.EXPECTED).get("brake", BRAKE)).replace(" ", "")
    return max(1, nodes * int(brake[:-1]) // 100 if brake.endswith("%") else int(brake))


def begin_anew(path: str, hardware: str) -> None:
    """After a repair (an administrator starts the guard again), leave out what the kernel's log holds so far. At the first start of a boot it counts."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        is_first = not os.path.exists(STARTED)
        with open(STARTED, "w"):
            pass
        expected = node_looks.read(path)
        if expected["check"] == "full" and not is_first:
            node_looks.diagnosed(expected, hardware, "--forget")


def tell(wrong: str) -> list[str]:
    """Set this node down in Slurm, unless a person has it; give what is to be said beside."""
    configure()
    node = socket.gethostname().partition(".")[0]
    if is_kept(scontrol("--oneliner", "show", "node", node)):
        return [f"{REASON}somebody drained this node or put it under maintenance: their reason stays"]
    scontrol("update", f"nodename={node}", "state=DOWN", f"reason={REASON}{wrong}")
    return []


def configure() -> None:
    """Write whom to ask. The daemon brings its copy of the configuration; for a few questions, this is enough. Without a RebootProgram scontrol asks for no reboot."""
    with open(SETTINGS) as file:
        settings = dict(line.strip().split("=", 1) for line in file if "=" in line)
    hosts = [f"SlurmctldHost=controller-{number}({host})" for number, host in enumerate(settings["CLUSTERWRIGHT_CONTROLLERS"].split(","))]
    with open(CONFIGURATION, "w") as file:
        file.write(
            "\n".join(
                [f"ClusterName={settings['CLUSTERWRIGHT_CLUSTER']}", "SlurmUser=slurm", "AuthType=auth/munge", "RebootProgram=/usr/sbin/reboot", *hosts, ""]
            )
        )


def is_kept(shown: str) -> bool:
    """Say whether a person took the node out of service: that person's word is not written over."""
    reason, _ = described(shown)
    return bool(HELD & states(shown)) and not reason.startswith(OURS)


def described(shown: str) -> tuple[str, bool]:
    """Give the reason that `scontrol --oneliner show node` says of a node, and whether the node is out of service."""
    reason = re.search(r" Reason=(.*?)(?: \[|$)", shown, re.MULTILINE)
    return reason[1] if reason else "", bool((HELD | {"DOWN", "FAIL", "ERROR"}) & states(shown))


def states(shown: str) -> set[str]:
    state = re.search(r" State=(\S+)", shown)
    found = set(re.split(r"[+*]", state[1])) if state else set()
    return found - {"MAINT", "MAINTENANCE"} if f" ReservationName={WINDOW}" in shown else found


def scontrol(*words: str, within_s: float = ANSWER_WITHIN_S) -> str:
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SLURM_CONF": CONFIGURATION}
    return subprocess.run(["scontrol", *words], env=environment, capture_output=True, text=True, check=True, timeout=within_s).stdout


if __name__ == "__main__":
    sys.exit(main())
