"""Findings that are accepted: a comment inside the call that makes the resource, with the reason: `# accepted CKV_AWS_126, CKV_AWS_135: why it is right`.

A call that makes several resources names the one that is meant: `# accepted CKV_AWS_382 of hosts-security-group: why`.
"""

import ast
import dataclasses
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FORM = re.compile(r"\s*# accepted (?P<codes>CKV2?_[A-Z]+_\d+(, CKV2?_[A-Z]+_\d+)*)( of (?P<name>[a-z0-9-]+))?: (?P<why>\S.*)")
_BEGINNING = re.compile(r"#\s*accepted\b")


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """One code that is accepted of what one call makes."""

    file: str
    call: int
    """The call's first line."""
    code: str
    why: str
    name: str = ""
    """The only resource of which it is accepted; empty: of all that the call makes."""

    def covers(self, *, file: str, call: int, code: str, name: str) -> bool:
        return (self.file, self.call, self.code) == (file, call, code) and self.name in ("", name)


def of(folder: Path) -> set[Accepted]:
    """Read what all modules of a folder accept.

    Raises:
        ValueError: a comment that is meant to accept something and can't be read, or that stands in no call.
    """
    return {one for file in sorted(folder.rglob("*.py")) for one in _of_file(file)}


@functools.cache
def call(source: tuple[str, int]) -> tuple[str, int]:
    """Give the call that made a resource by its file and first line; `source` is where the SDK says that it was made."""
    file, line = unquote(urlsplit(source[0]).path), source[1]
    return file, max(first for first, last in _calls(Path(file)) if first <= line <= last and first == line)


def _of_file(file: Path) -> Iterator[Accepted]:
    for number, written in enumerate(file.read_text().splitlines(), start=1):
        if not _BEGINNING.search(written):
            continue
        said = _FORM.fullmatch(written)
        around = [first for first, last in _calls(file) if first < number < last]
        if said is None or not around:
            raise ValueError(f"{file}:{number}: write `# accepted CODE: reason` inside the call that makes the resource")
        for code in said["codes"].split(", "):
            yield Accepted(str(file), max(around), code, said["why"], said["name"] or "")


@functools.cache
def _calls(file: Path) -> tuple[tuple[int, int], ...]:
    """Give first and last line of every call."""
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
