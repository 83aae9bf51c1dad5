"""What vendors call their interfaces, fabrics and identifiers is data of the catalogue: code outside of a target's folder never writes such a word."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import catalog
from components import registry

PROJECT = Path(__file__).resolve().parents[2]
CATALOGUE = ("blueprints/catalog/", "blueprints/language/")
"""The catalogue itself, and the language, whose descriptions give examples."""
GENERAL = frozenset({"ethernet", "nvlink"})
"""A kind of interface that no vendor owns, and a fabric whose name is a field of accelerators, too."""
WORDS = frozenset({nic.kind for layout in catalog.layouts().values() for nic in layout.interfaces} | {*catalog.fabrics()}) - GENERAL
IDENTIFIER = re.compile(r"(arn:|(ami|cr|eni|fs|igw|sg|subnet|vpc)-(\[.*)?)")
"""The beginning of an identifier, or a regular expression of one."""


def mentions(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (node.value in WORDS or IDENTIFIER.fullmatch(node.value)):
            yield node.lineno, node.value


def modules() -> Iterator[str]:
    """Give the modules that belong to no target."""
    for package in ("blueprints", "components", "stacks"):
        places = (path.relative_to(PROJECT) for path in sorted((PROJECT / package).rglob("*.py")))
        yield from (str(place) for place in places if not {*place.parts, place.stem} & registry.TARGETS.keys() and not str(place).startswith(CATALOGUE))


def test_only_the_catalogue_and_the_targets_write_vendors_words() -> None:
    found = [f"{place}:{line}: {word}" for place in modules() for line, word in mentions((PROJECT / place).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "code", ['EFA = ("efa", "efa-only")', 'x = nic.kind == "mrdma"', 'GROUP = "arn:"', 'IMAGE = re.compile(r"ami-[0-9a-f]+")', 'x.startswith("subnet-")']
)
def test_a_word_of_a_vendor_is_noticed(code: str) -> None:
    assert [*mentions(code)]


@pytest.mark.parametrize("code", ['x = "for example fs-0123456789abcdef0"', 'x = "cr"', 'x = "ethernet"'])
def test_other_words_are_fine(code: str) -> None:
    assert not [*mentions(code)]
