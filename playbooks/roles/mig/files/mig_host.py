"""What the program that divides GPUs (mig.py) reads and writes on its host."""

import json
import os
import stat
from collections.abc import Mapping
from typing import Any


def is_in_job(root: str) -> bool:
    """Whether a job's step is on this host: its program outlives slurmd. Another one (`slurmstepd infinity`) only holds the control group of all steps."""
    folder = os.path.join(root, "proc")
    commands = [text_of(os.path.join(folder, one, "cmdline")).rstrip("\0").split("\0") for one in listed(folder) if one.isdigit()]
    # It names itself `slurmstepd: [17.batch]`, a moment after it began.
    return any(words[0].startswith("slurmstepd: ") or (os.path.basename(words[0]) == "slurmstepd" and words[1:] != ["infinity"]) for words in commands)


def make_node(path: str, major: int, minor: int, mode: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mknod(path, mode | stat.S_IFCHR, os.makedev(major, minor))
    os.chmod(path, mode)


def number_of(path: str) -> int:
    """Give the number of a device file; -1: there is none."""
    try:
        return os.stat(path).st_rdev
    except OSError:
        return -1


def tool(name: str, root: str) -> str:
    return os.path.join(root, "usr/bin", name)


def read(path: str) -> dict[str, Any]:
    try:
        with open(path) as file:
            return dict(json.load(file))
    except FileNotFoundError:
        return {}


def write(path: str, value: Mapping[str, Any]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "w") as file:
        json.dump(value, file)
    os.replace(f"{path}.new", path)


def listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def text_of(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
