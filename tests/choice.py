"""Choose the tests that a change can break: `python -m tests.choice COMMIT` prints their files, or `all`.

A test file is chosen when it reaches a changed module: by imports, by text that names a module (`python -m`, a table of dotted names, a program given as text), by the names of installed programs, or
by the conftest.py of a folder above it. A file of the playbooks belongs to the playbooks that read it and to the roles that it is in. Whatever else can't be attributed chooses all tests.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from blueprints.project import project_root
from components.finish import content

PACKAGES = ("bench", "blueprints", "components", "stacks", "tests")
PLAYBOOKS = "playbooks"
READS_SOURCES = (".py", "*.py", "**/*.py")
"""Text of tests that read the sources themselves: they are always chosen."""
NAME = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
LONGEST_PROGRAM = 20_000
"""Longer constants are data, not programs."""


class Unattributed(Exception):
    """Nobody can say which tests a change breaks."""


class Tree:
    """The modules of a checkout and who needs whom."""

    def __init__(self, root: Path, *, reads: Callable[[str], Iterable[Path]] | None = None):
        """Args: reads: the files that a playbook reads, by the playbook's name."""
        self._root, self._reads = root, reads or functools.partial(content.files, playbooks=root / PLAYBOOKS)
        files = [*root.glob("*.py"), *(file for package in PACKAGES for file in sorted((root / package).rglob("*.py")))]
        self._modules = {_module(file.relative_to(root)): file for file in files}
        self._nodes = {name: _telling(file.read_text()) for name, file in self._modules.items()}
        self._texts = {name: frozenset(_texts(nodes)) for name, nodes in self._nodes.items()}
        self._programs = _programs(root)
        self._users: dict[str, set[str]] = collections.defaultdict(set)
        for name in self._modules:
            for needed in self._needs(name):
                self._users[needed].add(name)

    def tests_of(self, changed: Iterable[str]) -> list[str]:
        """Give the test files that these changed paths, relative to the root, can break.

        Raises:
            Unattributed: that can't be said of one of them.
        """
        reached = {name for name, texts in self._texts.items() if _is_test(self._modules[name]) and not texts.isdisjoint(READS_SOURCES)}
        waiting = [name for path in changed for name in self._changed_by(path)]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += self._users[name]
        return sorted(str(self._modules[name].relative_to(self._root)) for name in reached if _is_test(self._modules[name]))

    def _changed_by(self, path: str) -> Iterator[str]:
        """Yield the modules that a changed file is a part of."""
        file = Path(path)
        if file.parts[0] == PLAYBOOKS:
            yield from self._readers(file)
        elif file.suffix == ".py" and (name := _module(file)) in self._modules:
            yield name
        elif file.suffix == ".md":
            yield from self._mentioning(lambda text: text.endswith(".md"))
        elif file.suffix != ".py" and file.parts[0] in PACKAGES and (self._root / path).exists():
            yield from self._beside(file)
        else:
            raise Unattributed(path)

    def _beside(self, data: Path) -> list[str]:
        """Give the modules that read data: those that name a folder of data, or those of the nearest folder that has modules."""
        folders = {module.parent for module in self._modules.values()}
        of_data = {folder.name for folder in data.parents if folder.parts and not any(one.is_relative_to(self._root / folder) for one in folders)}
        if found := self._mentioning(lambda text: not of_data.isdisjoint(text.split("/"))):
            return found
        nearest = next(folder for folder in data.parents if self._root / folder in folders)
        return [name for name, module in self._modules.items() if module.parent == self._root / nearest]

    def _readers(self, file: Path) -> list[str]:
        playbooks = self._read_by().get(self._root / file, set())
        if not playbooks:
            raise Unattributed(str(file))
        roles = {file.parts[2]} if file.parts[1] == "roles" else set()
        own = [name for name in self._modules if name.startswith(f"tests.{PLAYBOOKS}.")]
        return [*own, *self._mentioning(lambda text: text in playbooks | roles)]

    @functools.cache  # noqa: B019 - one tree for each run
    def _read_by(self) -> Mapping[Path, set[str]]:
        found: dict[Path, set[str]] = collections.defaultdict(set)
        for playbook in sorted((self._root / PLAYBOOKS).glob("*.yml")):
            for file in self._reads(playbook.name):
                found[file].add(playbook.name)
        return found

    def _mentioning(self, is_meant: Callable[[str], bool]) -> list[str]:
        return [name for name, texts in self._texts.items() if any(map(is_meant, texts))]

    def _needs(self, name: str) -> set[str]:
        file = self._modules[name]
        named = {*_imports(self._nodes[name], name, is_package=file.name == "__init__.py")}
        for text in self._texts[name]:
            named |= _named_in(text)
            named |= {self._programs[text]} if text in self._programs else set()
        if _is_test(file):
            named |= {_module((folder / "conftest.py").relative_to(self._root)) for folder in file.parents if folder.is_relative_to(self._root)}
        known = {module for one in named if (module := self._longest(one))}
        # A package is imported before what is in it, and `python -m package` runs its __main__.
        known |= {parent for one in [*known, name] for parent in _parents(one) if parent in self._modules}
        known |= {f"{one}.__main__" for one in known if f"{one}.__main__" in self._modules}
        return known - {name}

    def _longest(self, dotted: str) -> str | None:
        """Give the module that a dotted name is, or is in."""
        return next((one for one in (dotted, *_parents(dotted)) if one in self._modules), None)


def changed_since(commit: str, root: Path) -> list[str]:
    """Give the paths that differ from a commit, uncommitted and new ones included."""
    compared = ["git", "diff", "--name-only", "--no-renames", commit, "--"]
    untracked = ["git", "ls-files", "--others", "--exclude-standard"]
    said = [subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout for words in (compared, untracked)]
    return sorted({line for text in said for line in text.splitlines()})


def _module(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def _parents(dotted: str) -> Iterator[str]:
    while "." in dotted:
        dotted = dotted.rpartition(".")[0]
        yield dotted


def _is_test(file: Path) -> bool:
    return file.name.startswith("test_")


def _telling(program: str) -> list[ast.AST]:
    """Give the nodes of a program that name other modules or may do so. All nodes of a checkout are millions, which garbage collection would look through again and again."""
    return [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Import | ast.ImportFrom | ast.Constant)]


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _named_in(text: str) -> set[str]:
    """Give the modules that a text names, as a dotted name or as a program that imports them."""
    if len(text) > LONGEST_PROGRAM or not any(package in text for package in PACKAGES):
        return set()
    found = set(NAME.findall(text))
    if "import " in text:
        with contextlib.suppress(SyntaxError):
            found |= set(_imports(_telling(text), "", is_package=True))
    return found


def _imports(nodes: Iterable[ast.AST], module: str, *, is_package: bool) -> Iterator[str]:
    package = module if is_package else module.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folders = package.split(".")
            base = [*folders[: len(folders) - node.level + 1], *([node.module] if node.module else [])] if node.level else [node.module or ""]
            yield from (".".join([*base, alias.name]) for alias in node.names)


def _programs(root: Path) -> Mapping[str, str]:
    """Give the modules behind programs that tests start by name: those that the project installs, and Pulumi's, which runs the project itself."""
    file = root / "pyproject.toml"
    scripts: Mapping[str, str] = tomllib.loads(file.read_text()).get("project", {}).get("scripts", {}) if file.exists() else {}
    return {"pulumi": "__main__", **{name: entry.partition(":")[0] for name, entry in scripts.items()}}


def main() -> None:
    root = project_root()
    try:
        print(*Tree(root).tests_of(changed_since(sys.argv[1], root)), sep="\n")
    except Unattributed as path:
        print(f"all tests: nobody can say which ones {path} breaks", file=sys.stderr)
        print("all")


if __name__ == "__main__":
    main()
