"""The program that inspects a host, as one text for the standard input of its Python."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprints.project import project_root

MARK = "clusterwright-facts "
"""Begins the line with the facts that a host prints: the login shell's own files may print others."""
PACKAGE = "inspection"
"""Name of the program's package on a host."""
SHARED = ("host_places", "kernel_set")
"""Modules of the roles that the program imports."""
_LOADER = """
import sys
from importlib.machinery import ModuleSpec
class Shipped:
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self, origin=name, is_package=name in PACKAGES) if name in SOURCES else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Shipped())
"""
"""Finds the shipped modules. `importlib.abc` has classes for this, and loads half of the standard library."""


def text(parameters: Mapping[str, Any]) -> bytes:
    """Give the program with its parameters (those of `program.main.main`)."""
    given = {**parameters, "mark": MARK}
    return f"{_shipped()}\nimport json\nfrom {PACKAGE} import main\nmain.main(json.loads({json.dumps(given)!r}))\n".encode()


@functools.cache
def _shipped() -> str:
    own = {f"{PACKAGE}.{path.stem}": path for path in sorted((Path(__file__).parent / "program").glob("*.py"))}
    own[PACKAGE] = own.pop(f"{PACKAGE}.__init__")
    shared = {f"ansible.module_utils.{name}": project_root() / "playbooks" / "module_utils" / f"{name}.py" for name in SHARED}
    sources = {name: path.read_text(encoding="utf-8") for name, path in {**own, **shared}.items()} | {"ansible": "", "ansible.module_utils": ""}
    packages = {PACKAGE, "ansible", "ansible.module_utils"}
    return f"SOURCES = {sources!r}\nPACKAGES = {sorted(packages)!r}\n{_LOADER}"
