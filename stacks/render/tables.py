"""Pages of tables and labelled lines: in colour and as wide as the window on a terminal, plain and uncut everywhere else.

`NO_COLOR` (any value) leaves colours out on a terminal too. What is shown is plain text: nothing in it is read as markup.
"""

import dataclasses
import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO, TypeAlias

from blueprints import message_text

from . import formatting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

UNCUT = 100_000
"""Columns of a page that no window bounds: wide enough that nothing is ever broken or cut."""
INDENT = 2
LONGEST_WORD = 32
"""On a narrow terminal words up to this length are never broken; the line is rather too long."""

STYLES = {"good": "green", "care": "yellow", "bad": "bold red", "soft": "dim"}
"""What a cell can mean, and how that looks."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    text: str
    style: str = ""
    """A key of STYLES, or empty."""


Shown: TypeAlias = str | Cell


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    title: str
    right: bool = False
    """Numbers are aligned to the right and never broken."""
    detail: bool = False
    """Shown on a page, where there is room, and not on a terminal."""


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """Rows below the titles of their columns; a column in which no row has anything is left out."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Shown, ...], ...]
    caption: str = ""
    """For readers of a page who can't see it; empty: the section's title."""
    merges: bool = False
    """Rows that differ in their first cell only are shown as one, with a list of names."""
    detail: bool = False

    def shown(self, *, detailed: bool) -> "Table":
        """Give what is shown of it: columns that have content, and equal rows as one."""
        kept = [place for place, column in enumerate(self.columns) if (detailed or not column.detail) and any(plain(row[place]) for row in self.rows)]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return dataclasses.replace(self, columns=tuple(self.columns[place] for place in kept), rows=_merged(rows) if self.merges else rows)


def _merged(rows: Sequence[tuple[Shown, ...]]) -> tuple[tuple[Shown, ...], ...]:
    names: dict[tuple[Shown, ...], list[str]] = {}
    for first, *rest in rows:
        names.setdefault(tuple(rest), []).append(plain(first))
    return tuple((formatting.named(several), *rest) for rest, several in names.items())


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """Lines that each begin with what they are about; with no such words at all, lines alone."""

    lines: tuple[tuple[str, Shown], ...]
    detail: bool = False

    @property
    def is_labelled(self) -> bool:
        return any(label for label, _ in self.lines)


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    title: str
    parts: tuple[Table | Facts, ...]
    lead: str = ""
    """A sentence that a page begins the section with."""

    def shown(self, *, detailed: bool) -> tuple[Table | Facts, ...]:
        """Give the parts that have content."""
        chosen = (part for part in self.parts if detailed or not part.detail)
        return tuple(
            part.shown(detailed=detailed) if isinstance(part, Table) else part for part in chosen if (part.rows if isinstance(part, Table) else part.lines)
        )


def plain(cell: Shown) -> str:
    """Give the text of a cell."""
    return cell.text if isinstance(cell, Cell) else cell


def show(sections: Iterable[Section], *, stream: TextIO | None = None) -> None:
    """Write sections, those without content left out, to a stream (standard output)."""
    out = stream or sys.stdout
    if out.isatty():
        _write(sections, _console(out))
    else:
        out.write(text(sections))


def text(sections: Iterable[Section]) -> str:
    """Give a page as plain text without trailing spaces."""
    written = io.StringIO()
    _write(sections, _console(written))
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    on_terminal = stream.isatty()
    plain = not on_terminal or "NO_COLOR" in os.environ
    return Console(
        file=stream,
        color_system=None if plain else "auto",
        force_terminal=on_terminal,
        width=None if on_terminal else UNCUT,
        markup=False,
        highlight=False,
        emoji=False,
    )


def _write(sections: Iterable[Section], console: "Console") -> None:
    from rich.text import Text

    wanted = [(section.title, parts) for section in sections if (parts := section.shown(detailed=False))]
    for number, (title, parts) in enumerate(wanted):
        if number:
            console.print()
        if title:
            console.print(Text(message_text.printable(title), style="bold"))
        for part in parts:
            console.print(_table(part) if isinstance(part, Table) else _facts(part))


def _table(table: Table) -> "RichTable":
    grid = _grid(header=True)
    for place, column in enumerate(table.columns):
        least = _longest_word(column.title, *(_text(row[place]) for row in table.rows))
        grid.add_column(column.title, justify="right" if column.right else "left", no_wrap=column.right, overflow="fold", header_style="dim", min_width=least)
    _add(grid, table.rows)
    return grid


def _longest_word(*texts: str) -> int:
    return min(LONGEST_WORD, max(len(word) for text in texts for word in ("", *text.split())))


def _facts(facts: Facts) -> "RichTable":
    grid = _grid(header=False)
    if facts.is_labelled:
        grid.add_column(style="dim", no_wrap=True, overflow="fold")
    grid.add_column(overflow="fold")
    _add(grid, facts.lines if facts.is_labelled else [(line,) for _, line in facts.lines])
    return grid


def _grid(*, header: bool) -> "RichTable":
    from rich.table import Table as RichTable

    # The first column's left padding is the page's indent.
    return RichTable(box=None, show_header=header, padding=(0, 0, 0, INDENT), pad_edge=True, collapse_padding=False)


def _add(grid: "RichTable", rows: Iterable[Sequence[Shown]]) -> None:
    from rich.text import Text

    for row in rows:
        grid.add_row(*(Text(_text(cell), style=STYLES.get(cell.style, "") if isinstance(cell, Cell) else "") for cell in row))


def _text(cell: Shown) -> str:
    return message_text.printable(plain(cell))
