"""Fingerprint a playbook with all that it runs, so that a change of a role shows as a change of what the role made."""

import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from .playbook import PLAYBOOKS

ALWAYS = ("ansible.cfg", "library", "module_utils", "filter_plugins")
"""What every playbook may use."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast; every run of the program reads all roles
INCLUDES = ("import_playbook", "import_tasks", "include_tasks")
FILE_NAME = re.compile(r"[\w.-]+/[\w./-]+")


@functools.cache
def fingerprint(playbook: str, *, playbooks: Path = PLAYBOOKS) -> str:
    """Give a short hash of the playbook, the files and roles that it names, those that they name, and so on.

    Raises:
        FileNotFoundError: a role that is named does not exist, so that what it does is not known.
    """
    return _digest(files(playbook, playbooks=playbooks), playbooks)


def files(playbook: str, *, playbooks: Path = PLAYBOOKS) -> tuple[Path, ...]:
    """Give the files that the fingerprint is of: all that the playbook can read.

    Raises:
        FileNotFoundError: a role that is named does not exist.
    """
    return tuple(sorted(_files(playbook, playbooks)))


def _files(playbook: str, playbooks: Path) -> set[Path]:
    found: set[Path] = set()
    for name in ALWAYS:
        found |= set(_below(playbooks / name))
    waiting: list[Path] = [playbooks / playbook]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if not path.exists():
            raise FileNotFoundError(f"{path} is named by playbook {playbook} and does not exist")
        files = set(_below(path))
        found |= files
        for file in files:
            if file.suffix in (".yml", ".yaml"):
                content = yaml.load(file.read_text(), Loader=LOADER)  # noqa: S506 - both make plain values only
                waiting += [playbooks / "roles" / role for role in _roles(content)]
                waiting += [beside / name for name in _words(content) for beside in (playbooks, file.parent) if (beside / name).is_file()]
    return found


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def _roles(node: Any) -> Iterator[str]:
    """Names of the roles that a piece of YAML refers to."""
    if isinstance(node, list):
        for item in node:
            yield from _roles(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("roles", "dependencies") and isinstance(value, list):
                yield from (item if isinstance(item, str) else str(item.get("role") or item.get("name")) for item in value)
            elif key.rpartition(".")[2] in ("import_role", "include_role") and isinstance(value, dict):
                yield str(value["name"])
            else:
                yield from _roles(value)


def _words(node: Any) -> Iterator[str]:
    """What a piece of YAML says that may name a file beside the playbooks: a playbook, tasks, variables, a template inside of an expression."""
    if isinstance(node, list):
        for item in node:
            yield from _words(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key.rpartition(".")[2] in INCLUDES:
                yield str(value["file"] if isinstance(value, dict) else value)
            else:
                yield from _words(value)
    elif isinstance(node, str):
        yield from FILE_NAME.findall(node)


def _digest(files: Iterable[Path], playbooks: Path) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(playbooks)}\0{file.stat().st_mode & 0o111:o}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:12]
