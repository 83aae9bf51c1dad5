"""Runs on every node inside a job step: write to the shared file systems, make and delete small files there, or read what the next node wrote. Prints one JSON document in pieces.

Sent to the nodes as text (`python3 -c`), so that nothing needs to be installed there. A phase ends by itself when its time is over.
"""

import contextlib
import hashlib
import json
import os
import pwd
import socket
import sys
import time
from collections.abc import Mapping
from typing import Any

BLOCK = 1 << 20
NUMBER = 8
PIECE_LETTERS = 800
ROOM = 4
"""A file system with less room than so many times what all nodes write is left alone."""


def main() -> None:
    task = json.loads(sys.argv[1])
    node = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    become(task["user"])
    phase = {"write": write, "read": read, "clear": clear}[task["phase"]]
    found = {}
    for place, size in task["places"].items():
        begin = time.monotonic()
        try:
            found[place] = phase(folder(place, task), node, {**task, "bytes": size})
        except OSError as error:
            found[place] = {"error": error.strerror or str(error), "seconds": time.monotonic() - begin}
    text = json.dumps({"node": node, "places": found})
    parts = [text[start : start + PIECE_LETTERS] for start in range(0, len(text), PIECE_LETTERS)]
    print("\n".join(f"@{os.environ['SLURM_PROCID']} {number} {len(parts)} {part}" for number, part in enumerate(parts)), flush=True)


def become(user: str) -> None:
    """Go on as a user, who may write less than root; as before where the node does not know the user."""
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        return
    os.initgroups(user, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def folder(place: str, task: "Mapping[str, Any]") -> str:
    """Give the folder of this job on a file system; where users have homes, it is in the user's."""
    return os.path.join(pwd.getpwuid(os.getuid()).pw_dir if place == task["homes"] else place, f".clusterwright-acceptance-{task['job']}")


def write(where: str, node: str, task: "Mapping[str, Any]") -> "dict[str, Any]":
    """Write blocks until all are written or the time is over, then make small files, ask for them and delete them."""
    os.makedirs(where, exist_ok=True)
    room = os.statvfs(where)
    if room.f_bavail * room.f_frsize < ROOM * task["bytes"] * len(task["nodes"]):
        return {"full": True}
    text, count = pattern(node, task["job"]), 0
    begin = time.monotonic()
    with open(os.path.join(where, node), "wb", buffering=0) as file:
        while count < task["bytes"] // BLOCK and time.monotonic() - begin < task["limit_s"]:
            file.write(block(text, count))
            count += 1
        os.fsync(file.fileno())
    seconds = time.monotonic() - begin
    return {"bytes": count * BLOCK, "seconds": seconds, **small_files(where, node, task)}


def small_files(where: str, node: str, task: "Mapping[str, Any]") -> "dict[str, Any]":
    begin, made = time.monotonic(), 0
    names = [os.path.join(where, f"{node}-{number}") for number in range(task["files"])]
    try:
        for name in names:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.stat(name)
            made += 1
            if time.monotonic() - begin > task["limit_s"]:
                break
    finally:
        for name in names[:made]:
            os.unlink(name)
    return {"files": made, "files_seconds": time.monotonic() - begin}


def read(where: str, node: str, task: "Mapping[str, Any]") -> "dict[str, Any]":
    """Read what the next node wrote, as far as the time allows, and count the blocks that are not what it wrote."""
    nodes = task["nodes"]
    other = nodes[(nodes.index(node) + 1) % len(nodes)]
    text, count, wrong = pattern(other, task["job"]), 0, 0
    with open(os.path.join(where, other), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # what this node wrote itself is read from the server, too
        begin = time.monotonic()
        while time.monotonic() - begin < task["limit_s"]:
            got = file.read(BLOCK)
            if not got:
                break
            wrong += got != block(text, count)
            count += 1
    return {"bytes": count * BLOCK, "seconds": time.monotonic() - begin, "wrong": wrong, "size": size, "of": other}


def clear(where: str, node: str, _task: "Mapping[str, Any]") -> "dict[str, Any]":
    """Delete what this node wrote; the last one deletes the folder."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(where):
            if name == node or name.startswith(f"{node}-"):
                os.unlink(os.path.join(where, name))
        with contextlib.suppress(OSError):
            os.rmdir(where)
    return {}


def pattern(node: str, job: str) -> bytes:
    return hashlib.shake_128(f"{node} {job}".encode()).digest(BLOCK - NUMBER)


def block(text: bytes, number: int) -> bytes:
    return number.to_bytes(NUMBER, "big") + text


if __name__ == "__main__":
    main()
