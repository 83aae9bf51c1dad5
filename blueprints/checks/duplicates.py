"""Lists with duplicate entries."""

import itertools
from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document, Path

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

REPORTED_AT_MOST = 1_000
"""Duplicate entries that one run reports."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find duplicate entries of lists."""
    for path, entry in itertools.islice(_repeated(source), REPORTED_AT_MOST):
        what = f"{message_text.quoted(entry)} is in this list twice"
        why = "the second entry has no effect; it may be a typo"
        yield finding.Finding(finding.Level.WARNING, Code.LIST_DUPLICATE, source.where(*path), what, why, "remove one of them, or correct it")


def _repeated(source: Document) -> Iterator[tuple[Path, str]]:
    for pattern in _LISTS:
        for path in _paths(pattern, source):
            entries = source.at(*path)
            seen: set[str] = set()
            for number, entry in enumerate(entries if isinstance(entries, list) else ()):
                if isinstance(entry, str) and entry in seen:
                    yield (*path, number), entry
                elif isinstance(entry, str):
                    seen.add(entry)


def _paths(pattern: tuple[str, ...], source: Document) -> list[tuple[str, ...]]:
    if "*" not in pattern:
        return [pattern]
    section = source.at(pattern[0])
    return [(pattern[0], str(name), *pattern[2:]) for name in section] if isinstance(section, dict) else []
