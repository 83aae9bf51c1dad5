"""Fingerprint a playbook with all that it runs, so that a change of a role shows as a change of what the role made."""

import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from .playbook import PLAYBOOKS

ALWAYS = ("ansible.cfg", "library", "module_utils", "filter_plugins")
"""What every playbook may use."""
INCLUDES = ("import_playbook", "import_tasks", "include_tasks")


@functools.cache
def fingerprint(playbook: str) -> str:
    """Give a short hash of the playbook, the playbooks and roles that it names, and their files."""
    return _digest(sorted(_files(playbook)))


def _files(playbook: str) -> set[Path]:
    found: set[Path] = set()
    for name in ALWAYS:
        found |= set(_below(PLAYBOOKS / name))
    waiting: list[Path] = [PLAYBOOKS / playbook]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        files = set(_below(path))
        found |= files
        for file in files:
            if file.suffix in (".yml", ".yaml"):
                waiting += [PLAYBOOKS / "roles" / role for role in _roles(yaml.safe_load(file.read_text()))]
                waiting += [PLAYBOOKS / other for other in _included(yaml.safe_load(file.read_text()))]
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


def _included(node: Any) -> Iterator[str]:
    """Names of other playbooks and task files that a piece of YAML refers to; inside a role they name the role's own files, which count anyway."""
    if isinstance(node, list):
        for item in node:
            yield from _included(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key.rpartition(".")[2] in INCLUDES:
                yield str(value["file"] if isinstance(value, dict) else value)
            else:
                yield from _included(value)


def _digest(files: Iterable[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(PLAYBOOKS)}\0{file.stat().st_mode & 0o111:o}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:12]
