"""The documents read well: short lines and paragraphs, and the words of the field. Roles' specs, templates on hosts and messages use the same words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from blueprints.project import project_root

ROOT = project_root()
PAGES = sorted(path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "tests").glob("*/README.md")))
COLUMNS = 120
MOST_LINES = 5
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
WORD = re.compile(r"(?:`[^`]*`|[^\s`])+")
"""What can't be broken: code is one word."""
MARK = re.compile(r"\s*([-*+]|\d+\.)\s")
"""Begins an entry of a list."""
FORBIDDEN = re.compile(
    r"\b(stands?(?! in\b| for\b|-)|anew|comes? short|believed?s?|looks? after|held against|holds? \w+ against|in vain|mishaps?)\b", re.IGNORECASE
)
"""A cluster runs, a resource is created again, a node lacks something: `Clusterwright terminates idle nodes` is how infrastructure engineers write."""
OLDER = {"Both controllers stand on this machine, and the state that they share is a folder of it: nothing outlives the machine."}
"""A sentence of an earlier version, which is recognised and replaced."""


def paragraphs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Give paragraphs and entries of lists, with the numbers of their first lines: no tables, no code, no headings."""
    is_code, found, begin = False, list[str](), 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        plain = line.strip()
        is_code ^= plain.startswith("```")
        ends = is_code or not plain or plain.startswith(("```", "|", "#", "<", "!"))
        if found and (ends or MARK.match(plain)):
            yield begin, found
            found = []
        if not ends:
            begin = begin if found else number
            found.append(line)


def faults(text: str) -> list[str]:
    found = []
    for begin, lines in paragraphs(text):
        long = [(number, len(line)) for number, line in enumerate(lines, start=begin) if len(line) > COLUMNS and len(WORD.findall(MARK.sub("", line))) > 1]
        found += [f"line {number}: {columns} columns" for number, columns in long]
        if len(lines) > MOST_LINES and not MARK.match(lines[0]):
            found.append(f"line {begin}: a paragraph of {len(lines)} lines")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_and_paragraphs_are_short(page: Path) -> None:
    assert faults(page.read_text()) == []


def test_a_long_line_and_a_long_paragraph_are_found() -> None:
    text = "\n\n".join(["word " * 30, "one\n" * 6, "```\n" + "code " * 40 + "\n```", "| " + "cell " * 40, "- `" + "x" * 130 + "`"])
    assert faults(text) == ["line 1: 150 columns", "line 3: a paragraph of 6 lines"]


def messages(path: Path) -> Iterator[str]:
    """Give the texts of a module that a program may show: no docstrings."""
    tree = ast.parse(path.read_text())
    told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    yield from (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in told)


def texts() -> Iterator[tuple[str, str]]:
    yield from ((str(page.relative_to(ROOT)), CODE.sub("", page.read_text())) for page in PAGES)
    for package in ("blueprints", "components", "stacks", "playbooks"):
        yield from ((str(path.relative_to(ROOT)), text) for path in (ROOT / package).rglob("*.py") for text in messages(path) if text not in OLDER)
    for path in (ROOT / "playbooks").rglob("*.j2"):
        yield str(path.relative_to(ROOT)), path.read_text()
    for path in (ROOT / "playbooks").rglob("meta/argument_specs.yml"):
        yield str(path.relative_to(ROOT)), yaml.safe_dump(yaml.safe_load(path.read_text()), width=10_000)


def test_texts_for_users_use_the_words_of_the_field() -> None:
    assert [f"{place}: {found[0]}" for place, text in texts() if (found := FORBIDDEN.search(text))] == []


@pytest.mark.parametrize("text", ["hosts that always stand", "made anew", "holds it against the account", "a node that comes short", "Slurm believes it"])
def test_other_words_are_found(text: str) -> None:
    assert FORBIDDEN.search(text)


@pytest.mark.parametrize("text", ["a program stands in for nccl-tests", "stand-ins", "a word stands for it", "understand"])
def test_words_of_other_meaning_are_not(text: str) -> None:
    assert not FORBIDDEN.search(text)
