"""List the files that a playbook reads, and fingerprint them: what a playbook makes changes when one of these files changes, and only then.

Playbooks and roles declare what they read, each in its `meta/reads.yml`; `playbooks/meta/reads.yml` explains the form. The granularity is the task file, so that a change of how a role configures
hosts rebuilds no images. Images are baked from a copy that holds these files alone (`copy`).
"""

import functools
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from .playbook import PLAYBOOKS

EVERY_PLAYBOOK = ("ansible.cfg", "group_vars", "host_vars")
"""What Ansible reads beside every playbook."""
EVERY_USE = ("meta", "defaults", "vars", "handlers", "library", "module_utils", "filter_plugins", "action_plugins")
"""Folders of a role that Ansible reads whichever of the role's task files runs."""
DECLARATION = "meta/reads.yml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast

FOLDERS = {"modules": "library", "project": ".."}
"""Folders, below the playbooks' one, of what is declared under another name than its folder's."""
SUFFIXES = {"tasks": ".yml", "vars": ".yml", "modules": ".py", "module_utils": ".py", "filter_plugins": ".py"}
OF_ROLE = ("files", "templates", "vars")
"""What lies in the role's own folder when a role declares it."""


@functools.cache
def fingerprint(playbook: str, *, playbooks: Path = PLAYBOOKS) -> str:
    """Return a short hash of the names, contents and permissions of the files that the playbook reads.

    Raises:
        FileNotFoundError: a declared file does not exist, or a task file is not declared.
    """
    return _hash(files(playbook, playbooks=playbooks), playbooks)


@functools.cache
def installation(role: str, *, playbooks: Path = PLAYBOOKS) -> str:
    """Return a short hash of what installing the software of a role reads on a server that its owner set up (`playbooks/tasks/in_place_<role>.yml`).

    Args:
        role: of a group of hosts (`control`, `access`, `compute`).
    Raises:
        FileNotFoundError: as `fingerprint`.
    """
    reading = _Reading(playbooks)
    reading.follow("tasks", f"in_place_{role}")
    return _hash(sorted(reading.found), playbooks)


def _hash(found: Sequence[Path], playbooks: Path) -> str:
    total = hashlib.sha256()
    for file in found:
        total.update(f"{file.relative_to(playbooks)}\0{file.stat().st_mode & 0o111:o}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:12]


def files(playbook: str, *, playbooks: Path = PLAYBOOKS) -> tuple[Path, ...]:
    """Return all files that the playbook reads, sorted.

    Raises:
        FileNotFoundError: a declared file does not exist, or a task file is not declared.
    """
    reading = _Reading(playbooks)
    for name in EVERY_PLAYBOOK:
        reading.take(playbooks / name)
    reading.follow("playbooks", playbook)
    return tuple(sorted(reading.found))


def copy(playbook: str, to: Path, *, playbooks: Path = PLAYBOOKS) -> Path:
    """Copy the files that the playbook reads, and no others; return the copy's folder of playbooks."""
    root = playbooks.parent
    for file in files(playbook, playbooks=playbooks):
        target = to / file.resolve().relative_to(root.resolve())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return to / playbooks.name


class _Reading:
    """The files found by following declarations."""

    def __init__(self, playbooks: Path):
        self.found: set[Path] = set()
        self._playbooks = playbooks
        self._shared = _load(playbooks / DECLARATION)
        self._seen: set[tuple[str, str]] = set()

    def take(self, path: Path) -> None:
        """Add a file, or all files of a folder."""
        files = [path] if path.is_file() else path.rglob("*")
        self.found.update(file for file in files if file.is_file() and not file.match(DECLARATION) and "__pycache__" not in file.parts)

    def follow(self, kind: str, name: str) -> None:
        """Add a declared file and what is declared for it."""
        if (kind, name) in self._seen:
            return
        self._seen.add((kind, name))
        if kind == "roles":
            self._follow_role(*(name if "/" in name else f"{name}/main").split("/"))
            return
        folder = "" if kind == "playbooks" else FOLDERS.get(kind, kind)
        self.take(_existing(self._playbooks / folder / f"{name}{SUFFIXES.get(kind, '')}"))
        if kind in self._shared:
            self._follow_all(self._shared[kind], name)

    def _follow_role(self, name: str, tasks: str) -> None:
        role = self._playbooks / "roles" / name
        self.take(_existing(role / "tasks" / f"{tasks}.yml"))
        for folder in EVERY_USE:
            self.take(role / folder)
        self._follow_all(_load(role / DECLARATION), tasks, role)

    def _follow_all(self, declared: dict[str, Any], name: str, role: Path | None = None) -> None:
        if name not in declared:
            raise FileNotFoundError(f"{name} of {role or self._playbooks} is not declared in {DECLARATION}")
        for kind, names in declared[name].items():
            for each in names:
                if role and kind in OF_ROLE:
                    self.take(_existing(role / kind / f"{each}{SUFFIXES.get(kind, '')}"))
                else:
                    self.follow(kind, each)


def _load(path: Path) -> dict[str, Any]:
    return dict(yaml.load(_existing(path).read_text(), Loader=LOADER))  # noqa: S506 - both make plain values only


def _existing(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist, and {DECLARATION} says that a playbook reads it")
    return path
