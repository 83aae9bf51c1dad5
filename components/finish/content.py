"""Fingerprint a playbook with all that it runs, so that a change of what it reads shows as a change of what it made, and no other change does.

What a playbook reads is found by following what it names: playbooks, task files, roles with the task file that is asked for (`tasks_from`), modules by the names of tasks' keys, and of a role's files and
templates those that are named where it is used. Where a name is worked out only when the playbook runs, everything that it could be counts. Baking runs from a copy that holds these files alone
(`copy`), so that one that was missed fails there and can't go unseen.
"""

import functools
import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from .playbook import PLAYBOOKS

ALWAYS = ("ansible.cfg", "filter_plugins", "group_vars", "host_vars")
"""What every playbook may use without naming it."""
OF_EVERY_USE = ("meta", "defaults", "vars", "handlers", "library", "module_utils", "filter_plugins")
"""Folders of a role that Ansible reads whichever of its task files is asked for."""
NAMED = ("files", "templates")
"""Folders of a role whose files are read by name."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast; every run of the program reads all roles
INCLUDES = ("import_playbook", "import_tasks", "include_tasks")
ROLES = ("import_role", "include_role")
YAML = (".yml", ".yaml")
FILE_NAME = re.compile(r"[\w.-]+/[\w./-]+")
WORD = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
LOOKUP = re.compile(
    r"""(?:lookup|query|q)\(\s*['"](?:ansible\.builtin\.)?(?:file|template|fileglob|filetree|first_found|unvault|csvfile|ini)['"]\s*,\s*(?P<rest>.*)""",
    re.DOTALL,
)
LITERAL = re.compile(r"""(?:playbook_dir\s*~\s*)?(?:'[^']*'|"[^"]*")\s*(?:[,)]|if\b)""")
"""A name that is written out; a choice between such names begins with one, too."""
GLOBS = ("with_fileglob", "with_filetree", "with_first_found")


@functools.cache
def fingerprint(playbook: str, *, playbooks: Path = PLAYBOOKS) -> str:
    """Give a short hash of the playbook, the files and roles that it names, those that they name, and so on.

    Raises:
        FileNotFoundError: something that is named does not exist, so that what it does is not known.
    """
    return _digest(files(playbook, playbooks=playbooks), playbooks)


def files(playbook: str, *, playbooks: Path = PLAYBOOKS) -> tuple[Path, ...]:
    """Give the files that the fingerprint is of: all that the playbook can read.

    Raises:
        FileNotFoundError: something that is named does not exist.
    """
    return tuple(sorted(_Reading(playbook, playbooks).found))


def copy(playbook: str, to: Path, *, playbooks: Path = PLAYBOOKS) -> Path:
    """Copy what the playbook reads, and nothing else; give the folder that stands for the playbooks' own."""
    root = playbooks.parent
    for file in files(playbook, playbooks=playbooks):
        target = to / file.resolve().relative_to(root.resolve())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return to / playbooks.name


class _Reading:
    """What is found by following names from a playbook on."""

    def __init__(self, playbook: str, playbooks: Path):
        self._playbook, self._playbooks = playbook, playbooks
        self._modules = {file.stem: file for file in _below(playbooks / "library")}
        self.found: set[Path] = set()
        self._waiting: list[tuple[Path, Path | None]] = []
        self._seen: set[tuple[Path, Path | None]] = set()
        for name in ALWAYS:
            self._take(playbooks / name)
        self._take(self._existing(playbooks / playbook))
        while self._waiting:
            self._follow(*self._waiting.pop())

    def _take(self, path: Path, role: Path | None = None) -> None:
        """Take a file, or all files of a folder, and read them later for the names in them."""
        self._waiting += [(file, role) for file in _below(path)]

    def _follow(self, file: Path, role: Path | None) -> None:
        if (file, role) in self._seen:
            return
        self._seen.add((file, role))
        self.found.add(file)
        if file.suffix in YAML:
            content = yaml.load(file.read_text(), Loader=LOADER)  # noqa: S506 - both make plain values only
            self._follow_yaml(content, file, role)
        elif file.suffix == ".py":
            text = file.read_text()
            for shared in _below(self._playbooks / "module_utils"):
                if re.search(rf"\b{shared.stem}\b", text):
                    self._take(shared)
        elif role is not None and role / "templates" in file.parents:
            self._named(WORD.findall(file.read_text()), role)

    def _follow_yaml(self, content: Any, file: Path, role: Path | None) -> None:
        for name, tasks in _roles(content):
            self._use(self._playbooks / "roles" / name, tasks)
        for key in _keys(content):
            if key in self._modules:
                self._take(self._modules[key])
        for name in _words(content):
            for beside in (self._playbooks, file.parent):
                if (beside / name).is_file():
                    self._take(beside / name, role if role and role in (beside / name).parents else None)
        if role is not None:
            self._named((word for text in _strings(content) for word in WORD.findall(text)), role)
            if _is_worked_out(content):
                self._take(role, role)

    def _use(self, role: Path, tasks: str) -> None:
        """Take what Ansible reads of a role for one of its task files."""
        self._existing(role)
        for folder in OF_EVERY_USE:
            self._take(role / folder, role)
        if (role / "tasks").is_dir():
            self._take(role / "tasks" if "{{" in tasks else self._existing(role / "tasks" / (tasks if tasks.endswith(YAML) else f"{tasks}.yml")), role)

    def _named(self, words: Iterable[str], role: Path) -> None:
        for word in set(words):
            if ".." in word or not word.strip("."):
                continue
            for folder in NAMED:
                if (role / folder / word).exists():
                    self._take(role / folder / word, role)

    def _existing(self, path: Path) -> Path:
        if not path.exists():
            raise FileNotFoundError(f"{path} is named by playbook {self._playbook} and does not exist")
        return path


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def _roles(node: Any) -> Iterator[tuple[str, str]]:
    """Names of the roles that a piece of YAML refers to, each with the task file that it asks for."""
    if isinstance(node, list):
        for item in node:
            yield from _roles(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("roles", "dependencies") and isinstance(value, list):
                yield from ((item, "main") if isinstance(item, str) else (str(item.get("role") or item.get("name")), "main") for item in value)
            elif key.rpartition(".")[2] in ROLES and isinstance(value, dict):
                yield str(value["name"]), str(value.get("tasks_from", "main"))
            else:
                yield from _roles(value)


def _keys(node: Any) -> Iterator[str]:
    """The keys of all mappings, without the collection that a module's name may begin with."""
    if isinstance(node, list):
        for item in node:
            yield from _keys(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield str(key).rpartition(".")[2]
            yield from _keys(value)


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from _strings(item)
    elif isinstance(node, dict):
        for value in node.values():
            yield from _strings(value)


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


def _is_worked_out(node: Any) -> bool:
    """Say whether a role's tasks name a file in a way that only a run makes out."""
    if isinstance(node, str):
        return any(not LITERAL.match(found["rest"]) for found in LOOKUP.finditer(node))
    if isinstance(node, list):
        return any(_is_worked_out(item) for item in node)
    if not isinstance(node, dict):
        return False
    if "{{" in str(node.get("src", "")) and node.get("remote_src") is not True:
        return True
    for key, value in node.items():
        is_open = key in GLOBS or (str(key).rpartition(".")[2] in (*INCLUDES, "include_vars", "script") and "{{" in str(value))
        if is_open or _is_worked_out(value):
            return True
    return False


def _digest(files: Iterable[Path], playbooks: Path) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(playbooks)}\0{file.stat().st_mode & 0o111:o}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()[:12]
