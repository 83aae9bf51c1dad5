"""Lists in which an entry stands twice."""

from collections.abc import Iterator

from .. import display, finding, language, spec
from ..codes import Code
from ..document import Document

_LISTS = (
    ("access", "allowed_cidrs"),
    ("network", "zones"),
    ("network", "subnets"),
    ("acceptance", "gate"),
    ("pools", "*", "partition", "accounts"),
    ("pools", "*", "partition", "qos"),
    ("accounts", "*", "qos"),
    ("qos", "*", "preempts"),
    ("users", "*", "accounts"),
    ("users", "*", "ssh_keys"),
)


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find entries that a list has already: one of the two was probably meant to be another."""
    for pattern in _LISTS:
        for path in _paths(pattern, source):
            entries = source.at(*path)
            seen: dict[str, int] = {}
            for number, entry in enumerate(entries if isinstance(entries, list) else ()):
                if isinstance(entry, str) and entry in seen:
                    what = f"{display.quoted(entry)} stands in this list for the second time"
                    why = "it counts once; perhaps another was meant"
                    where = source.where(*path, number)
                    yield finding.Finding(finding.Level.WARNING, Code.LIST_DUPLICATE, where, what, why, "take one of them out, or correct it")
                elif isinstance(entry, str):
                    seen[entry] = number


def _paths(pattern: tuple[str, ...], source: Document) -> list[tuple[str, ...]]:
    if "*" not in pattern:
        return [pattern]
    section = source.at(pattern[0])
    return [(pattern[0], str(name), *pattern[2:]) for name in section] if isinstance(section, dict) else []
