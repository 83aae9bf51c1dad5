"""The program that adopts, inspects and releases a host, as one text for the standard input of the host's Python (`guest`).

It is run as root (`sudo -n /usr/bin/python3 -IS -`) with Python 3.9 or newer, and needs nothing but the standard library.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = "clusterwright-guest "
"""Begins the line with the answer: the login shell's own files may print others."""
PACKAGE = "clusterwright_guest"
"""Name of the program's package on a host."""
FOLDER = Path(__file__).with_name("guest")
PYTHON_LEAST = (3, 9)
_REQUIRE_PYTHON = f"""
import sys
if sys.version_info < {PYTHON_LEAST!r}:
    sys.exit("this needs Python {".".join(str(part) for part in PYTHON_LEAST)}, and the host has %d.%d" % sys.version_info[:2])
"""
_LOADER = """
from importlib.machinery import ModuleSpec
class Shipped:
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self, origin=name, is_package=name == PACKAGE) if name in SOURCES else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Shipped())
"""


class NoAnswer(Exception):
    """The program ended without an answer; the text is what there was instead."""


def text(order: Mapping[str, Any]) -> bytes:
    """Give the program with its order (`guest.main.main`)."""
    return _text("main", {**order, "program": by_hand()} if order["do"] == "adopt" else order)


def probe(order: Mapping[str, Any]) -> bytes:
    """Give the program that asks a host whether it can be adopted (`guest.probe.main`)."""
    return _text("probe", order)


def _text(module: str, order: Mapping[str, Any]) -> bytes:
    return f"{_shipped()}\nimport json\nfrom {PACKAGE} import {module}\n{module}.main(json.loads({json.dumps(order)!r}), mark={MARK!r})\n".encode()


def by_hand() -> str:
    """Give the program that an administrator runs on an adopted host to release it."""
    return f"{_shipped()}\nfrom {PACKAGE} import main\nmain.by_hand()\n"


def answer(output: bytes) -> Mapping[str, Any]:
    """Read what the program printed.

    Raises:
        NoAnswer: it printed no answer.
    """
    line = next((line for line in reversed(output.splitlines()) if line.startswith(MARK.encode())), None)
    if line is None:
        raise NoAnswer(output.decode(errors="replace").strip()[-1000:] or "it printed nothing")
    found: Mapping[str, Any] = json.loads(line.removeprefix(MARK.encode()))
    return found


@functools.cache
def _shipped() -> str:
    sources = {PACKAGE if path.stem == "__init__" else f"{PACKAGE}.{path.stem}": path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
    return f"{_REQUIRE_PYTHON}\nSOURCES = {sources!r}\nPACKAGE = {PACKAGE!r}\n{_LOADER}"
