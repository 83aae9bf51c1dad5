"""Runs on every node inside a job step: say what the step can see there, and meet the others by name. Prints one JSON document in pieces.

Sent to the nodes as text (`python3 -c`), so that nothing needs to be installed there.
"""

import errno
import json
import os
import pwd
import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

CONNECT_ATTEMPT_S = 2.0
PIECE_LETTERS = 800


def main() -> None:
    task = json.loads(sys.argv[1])
    strangers = unknown_users(task.get("users") or {})
    become(task.get("user") or "")
    seen: dict[str, Any] = {
        "unknown_users": strangers,
        "environment": {name: os.environ.get(name) for name in task.get("environment") or ()},
        "writable": writable(task.get("folders") or ()),
        "node": os.environ.get("SLURMD_NODENAME", socket.gethostname()),
        "rank": int(os.environ["SLURM_PROCID"]),
        "visible_gpus": [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu],
        "step_gpus": [gpu for gpu in os.environ.get("SLURM_STEP_GPUS", "").split(",") if gpu],
        "devices": devices(),
        "instances": instances(),
        "models": models(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "reachable_cpus": reachable_cpus(),
        "huge_pages": huge_pages(),
    }
    if task.get("meet"):
        seen.update(meet(task["nodes"], seen["rank"], seen["node"], port=task["port"], deadline_s=task["deadline_s"]))
    print("\n".join(pieces(json.dumps(seen), seen["rank"])), flush=True)


def pieces(text: str, rank: int) -> list[str]:
    """Cut a long answer into lines that each arrive whole: srun mixes the lines of all tasks, and cuts those of more than 1024 bytes (slurmstepd's MAX_MSG_LEN)."""
    parts = [text[start : start + PIECE_LETTERS] for start in range(0, len(text), PIECE_LETTERS)]
    return [f"@{rank} {number} {len(parts)} {part}" for number, part in enumerate(parts)]


def unknown_users(users: dict[str, int]) -> list[str]:
    """Name the users that this node does not know, or knows by another number."""
    found = []
    for name, number in users.items():
        try:
            if pwd.getpwnam(name).pw_uid != number:
                found.append(name)
        except KeyError:
            found.append(name)
    return found


def become(user: str) -> None:
    """Go on as a user, who may open less than root; as before where the node does not know the user."""
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        return
    os.initgroups(user, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def writable(folders: Sequence[str]) -> dict[str, bool]:
    """Say of each folder whether the user may write in it."""
    return {folder: os.access(folder, os.W_OK | os.X_OK, effective_ids=True) for folder in folders}


def devices() -> dict[str, str]:
    """Open every GPU device file; `open` or the error's name by number. ENXIO is a device file without a device (simulated)."""
    found = {}
    for name in os.listdir("/dev"):
        number = re.fullmatch(r"nvidia(\d+)", name)
        if number is None:
            continue
        try:
            os.close(os.open(f"/dev/{name}", os.O_RDWR))
            found[number.group(1)] = "open"
        except OSError as error:
            found[number.group(1)] = errno.errorcode.get(error.errno or 0, str(error.errno))
    return found


def instances() -> dict[str, str]:
    """Open the device file of every MIG instance for reading, which is all that a program may; `open` or the error's name by the link that Slurm knows."""
    folder, found = "/dev/clusterwright-mig", {}
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name.endswith("-compute"):
            try:
                os.close(os.open(os.path.join(folder, name), os.O_RDONLY))
                found[name.removesuffix("-compute")] = "open"
            except OSError as error:
                found[name.removesuffix("-compute")] = errno.errorcode.get(error.errno or 0, str(error.errno))
    return found


def models() -> list[str]:
    """Names of the GPUs as the driver knows them; none without a driver."""
    try:
        ended = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except FileNotFoundError:
        return []
    return ended.stdout.split("\n")[:-1] if ended.returncode == 0 else []


def huge_pages() -> dict[str, int]:
    """Count the huge pages of the usual size (Linux, Documentation/admin-guide/mm/hugetlbpage.rst); empty where the kernel has none."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        counts = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}
    wanted = {"total": "HugePages_Total", "free": "HugePages_Free", "size_kib": "Hugepagesize"}
    return {key: counts[name] for key, name in wanted.items()} if {*wanted.values()} <= {*counts} else {}


def reachable_cpus() -> list[int]:
    """Ask for every processor: a step confined to its cores gets no more than those, one that is only bound gets all."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        return sorted(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)


def meet(nodes: list[str], rank: int, node: str, *, port: int, deadline_s: float) -> dict[str, Any]:
    """Meet all others at the first node, found by its name, and learn from it who came."""
    unresolved = [name for name in nodes if not resolves(name)]
    deadline = time.monotonic() + deadline_s
    try:
        met = host(node, len(nodes), port, deadline) if rank == 0 else visit(nodes[0], node, port, deadline)
    except OSError as error:
        return {"unresolved": unresolved, "met": [], "meeting": f"{nodes[0]}:{port}: {error}"}
    return {"unresolved": unresolved, "met": met, "meeting": ""}


def resolves(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None, socket.AF_INET))
    except OSError:
        return False


def host(node: str, count: int, port: int, deadline: float) -> list[str]:
    guests: list[tuple[str, socket.socket]] = []
    with socket.create_server(("", port), backlog=count) as server:
        while len(guests) < count - 1:
            left = deadline - time.monotonic()
            try:
                server.settimeout(max(left, 0.001))
                connection, _ = server.accept()
            except TimeoutError:
                raise TimeoutError(f"only {len(guests)} of {count - 1} others came: {sorted(name for name, _ in guests)}") from None
            connection.settimeout(max(left, 0.001))
            guests.append((connection.makefile("r").readline().strip(), connection))
        met = sorted([node, *(name for name, _ in guests)])
        for _, connection in guests:
            connection.sendall((" ".join(met) + "\n").encode())
            connection.close()
    return met


def visit(first: str, node: str, port: int, deadline: float) -> list[str]:
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("nobody answered")
        try:
            connection = socket.create_connection((first, port), timeout=min(left, CONNECT_ATTEMPT_S))
        except OSError:
            # The first node may start its process after this one.
            time.sleep(0.05)
            continue
        with connection:
            connection.settimeout(left)
            connection.sendall(f"{node}\n".encode())
            return connection.makefile("r").readline().split()


if __name__ == "__main__":
    main()
