"""What a report says, section by section, as values: tables, terms, notices. How it looks is decided elsewhere. Pure."""

import dataclasses
from collections.abc import Sequence

from blueprints.finding import Level


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    title: str
    is_number: bool = False
    is_whole: bool = False
    """Its words are never broken: codes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first cell of each names the row."""
    totals: tuple[tuple[str, ...], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Notice:
    """Something to know or to do."""

    level: Level
    what: str
    why: str
    remedy: str
    place: str
    """Code and position."""


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """One of the few numbers that stand at the top."""

    value: str
    label: str
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    key: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    notices: tuple[Notice, ...] = ()
    points: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    title: str
    subtitle: str
    description: str
    audience: str
    figures: tuple[Figure, ...]
    sections: tuple[Section, ...]
    """Those after the picture."""


def table(caption: str, columns: str, rows: Sequence[tuple[str, ...]], *, totals: Sequence[tuple[str, ...]] | None = None) -> Table:
    """Make a table.

    Args:
        columns: their titles, separated by `|`; those of numbers begin with `#`, those of codes with `=`.
    """
    titles = [title.strip() for title in columns.split("|")]
    made = tuple(Column(title.lstrip("#="), is_number=title.startswith("#"), is_whole=title.startswith("=")) for title in titles)
    return Table(caption, made, tuple(rows), tuple(totals or ()))
