"""Break long lines of Markdown: `python tools/markdown.py FILE...` rewrites paragraphs and entries of lists that have a line of more than 120 columns; `--check` names them and changes nothing.

Tables, code and headings stay. Code between backticks is one word.
"""

import argparse
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

COLUMNS = 120
FENCE = "```"
WORD = re.compile(r"(?:`[^`]*`|[^\s`])+")
MARK = re.compile(r"\s*([-*+]|\d+\.)\s+")
"""Begins an entry of a list."""


def wrapped(text: str) -> str:
    """Give the text with short lines."""
    return "\n".join(line for block in _blocks(text) for line in (_filled(block.lines) if _is_long(block) else block.lines))


def long_lines(text: str) -> list[int]:
    """Give the numbers of lines that are too long, of which `wrapped` would change something."""
    return [number for block in _blocks(text) if _is_long(block) for number, line in enumerate(block.lines, start=block.begin) if len(line) > COLUMNS]


@dataclasses.dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, an entry of a list, or one line of anything else."""

    begin: int
    lines: list[str]
    is_prose: bool


def _is_long(block: _Block) -> bool:
    return block.is_prose and any(len(line) > COLUMNS for line in block.lines) and _filled(block.lines) != block.lines


def _blocks(text: str) -> Iterator[_Block]:
    is_code, found, begin = False, list[str](), 0
    for number, line in enumerate(text.split("\n"), start=1):
        plain = line.strip()
        is_alone = is_code or not plain or plain.startswith((FENCE, "|", "#", "!", "<"))
        if found and (is_alone or MARK.match(line)):
            yield _Block(begin, found, is_prose=True)
            found = []
        if is_alone:
            yield _Block(number, [line], is_prose=False)
        else:
            begin = begin if found else number
            found.append(line)
        is_code ^= plain.startswith(FENCE)
    if found:
        yield _Block(begin, found, is_prose=True)


def _filled(lines: list[str]) -> list[str]:
    first = lines[0]
    mark = MARK.match(first)
    lead = mark[0] if mark else first[: len(first) - len(first.lstrip())]
    words = WORD.findall(" ".join([first[len(lead) :], *(line.strip() for line in lines[1:])]))
    filled = [lead + words[0]]
    for word in words[1:]:
        if len(filled[-1]) + 1 + len(word) <= COLUMNS:
            filled[-1] += f" {word}"
        else:
            filled.append(" " * len(lead) + word)
    return filled


def main() -> int:
    parser = argparse.ArgumentParser(description="Break long lines of Markdown")
    parser.add_argument("--check", action="store_true", help="name the lines and change nothing; status 1 if there are some")
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    found = False
    for file in given.files:
        text = file.read_text()
        for number in long_lines(text):
            found = True
            if given.check:
                print(f"{file}:{number}: more than {COLUMNS} columns: `make format` breaks the line")
        if not given.check and (short := wrapped(text)) != text:
            file.write_text(short)
    return int(given.check and found)


if __name__ == "__main__":
    raise SystemExit(main())
