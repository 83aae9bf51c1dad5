"""The documents read well: short lines and paragraphs, and the words of the field. Roles' specs, templates on hosts and messages use the same words."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from blueprints.project import project_root

ROOT = project_root()
PAGES = sorted(path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "tests").glob("*/README.md")))
MOST_LINES = 5
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
MARK = re.compile(r"\s*([-*+]|\d+\.)\s")
"""Begins an entry of a list."""
FORBIDDEN = re.compile(
    r"\b(stands?(?! in\b| for\b|-)|anew|comes? short|believed?s?|looks? after|held against|holds? \w+ against|in vain|mishaps?)\b", re.IGNORECASE
)
"""A cluster runs, a resource is created again, a node lacks something: `Clusterwright terminates idle nodes` is how infrastructure engineers write."""
OLDER = {"Both controllers stand on this machine, and the state that they share is a folder of it: nothing outlives the machine."}
"""A sentence of an earlier version, which is recognised and replaced."""


def paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Give the first line and the number of lines of each paragraph: no lists, no tables, no code, no headings."""
    begin, is_code = 0, False
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        plain = line.strip()
        is_code ^= plain.startswith("```")
        is_prose = not is_code and bool(plain) and not plain.startswith(("```", "|", "#", "<", "!"))
        if begin and not is_prose:
            yield begin, number - begin
            begin = 0
        if is_prose and not begin and not line.startswith(" ") and not MARK.match(line):
            begin = number


def formatted(*files: Path, check: bool = False) -> list[str]:
    """Run the formatter and give the lines that it names."""
    words = [*(["--check"] if check else []), *map(str, files)]
    answer = subprocess.run([sys.executable, ROOT / "tools" / "markdown.py", *words], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (int(bool(answer.stdout)), "")
    return [line.rpartition("/")[2].partition(": more")[0] for line in answer.stdout.splitlines()]


def test_lines_are_short() -> None:
    assert formatted(*PAGES, check=True) == [], "`make format` breaks them"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paragraphs_are_short(page: Path) -> None:
    assert [f"line {begin}: {lines} lines" for begin, lines in paragraphs(page.read_text()) if lines > MOST_LINES] == []


def test_a_long_paragraph_is_found() -> None:
    assert list(paragraphs("# One\n" + "two\n" * 6 + "\n- three\n  three\n\n```\nfour\nfour\n```\nfive\n")) == [(2, 6), (16, 1)]


def test_long_lines_are_broken_between_words_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    code, table = f"```\n{'code ' * 40}\n```", f"| {'cell ' * 40}|"
    entry, alone = f"- {'word ' * 15}`a call of {'words ' * 10}` word", f"- `{'x' * 130}`"
    page.write_text("\n\n".join([("word " * 30).strip(), code, table, entry, alone, "short"]) + "\n")
    assert formatted(page, check=True) == ["page.md:1", "page.md:9"]
    assert formatted(page) == []
    broken = entry.replace(" `a call", "\n  `a call").replace("words ` word", "words ` word")
    assert page.read_text() == "\n\n".join([f"{' '.join(['word'] * 24)}\n{' '.join(['word'] * 6)}", code, table, broken, alone, "short"]) + "\n"
    assert formatted(page, check=True) == []


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
