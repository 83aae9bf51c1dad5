"""The kinds of capacity are named in one module: everything else names a member of its enumeration."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints.capacity_kind import CapacityKind

PROJECT = Path(__file__).resolve().parents[2]
AMBIGUOUS = frozenset({CapacityKind.BLOCK, CapacityKind.OWNED})
"""Words with another meaning elsewhere (a kind of storage, an owner); these count where a kind is compared with them."""
ALLOWED = {
    "blueprints/capacity_kind.py": "the one place",
    "components/elastic": "the program on controllers, which has the standard library and the values of its table alone",
    "components/aws/template.py": "EC2's own word for its market",
    "components/finish/node_states.py": "Slurm's word for the state of a node (sinfo(1))",
}


def words(source: str) -> Iterator[tuple[int, str]]:
    """Give the places in a module that write a kind as text."""
    tree = ast.parse(source)
    compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and _is_kind(node.left)]
    beside = {id(one) for node in compared for other in node.comparators for one in ast.walk(other)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in [*CapacityKind] and (node.value not in AMBIGUOUS or id(node) in beside):
            yield node.lineno, str(node.value)


def _is_kind(node: ast.expr) -> bool:
    """Say whether an expression is the kind of a purchase (`capacity.kind`, `pool.bought.kind`)."""
    return isinstance(node, ast.Attribute) and node.attr == "kind" and ast.unparse(node.value).rpartition(".")[2] in ("capacity", "bought")


def modules() -> Iterator[str]:
    for package in ("blueprints", "components", "stacks"):
        yield from (str(path.relative_to(PROJECT)) for path in sorted((PROJECT / package).rglob("*.py")))


def found(place: str) -> list[str]:
    return [f"{place}:{line}: {word}" for line, word in words((PROJECT / place).read_text(encoding="utf-8"))]


def test_only_one_module_names_the_kinds() -> None:
    assert not [line for place in modules() if not place.startswith((*ALLOWED,)) for line in found(place)]


@pytest.mark.parametrize("allowed", ALLOWED)
def test_every_exception_is_needed(allowed: str) -> None:
    assert [line for place in modules() if place.startswith(allowed) for line in found(place)]


@pytest.mark.parametrize(
    "code",
    ['KIND = "on-demand"', 'HELD = ("reserved", "lost")', 'x = node_set.capacity.kind == "block"', 'x = pool.bought.kind in ("block", "owned")'],
)
def test_a_kind_written_as_text_is_noticed(code: str) -> None:
    assert [*words(code)]


@pytest.mark.parametrize("code", ['x = entry.kind == "block"', 'record = {"owned": True}', '"""a spot"""'])
def test_words_with_another_meaning_are_fine(code: str) -> None:
    assert not [*words(code)]
