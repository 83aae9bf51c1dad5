"""What an account listed, as a table. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.cloud.account import Listing

from .tables import Column, Facts, Section, Table


def section(listed: Listing, region: str) -> Section:
    """Write what was listed in a region."""
    title = f"{listed.title}, {region}"
    if not listed.entries:
        return Section(title, (Facts((("", "there are none"), ("", listed.hint))),))
    names = [*listed.entries[0]]
    rows = tuple(tuple(_text(entry[name]) for name in names) for entry in listed.entries)
    columns = tuple(Column(name.replace("_", " "), right=_is_number(listed.entries, name)) for name in names)
    return Section(title, (Table(columns, rows), Facts((("", listed.hint),))))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _is_number(entries: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(entry[name], int) and not isinstance(entry[name], bool) for entry in entries)
