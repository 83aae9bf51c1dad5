"""Where the catalogue's facts come from."""

import dataclasses
import functools
from collections.abc import Mapping

from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    name: str
    title: str
    where: str
    """A repository and path, a page or a document."""
    date: str
    """When it was made or read, as exactly as known."""
    note: str


@functools.cache
def sources() -> Mapping[str, Source]:
    """Give every source by the name that entries call it."""
    entries = files.mapping("sources")
    return {name: Source(name, title=entry["title"], where=entry["where"], date=entry["date"], note=entry.get("note", "")) for name, entry in entries.items()}


def source(name: str) -> Source:
    """Give one source.

    Raises:
        KeyError: there is none of this name.
    """
    return sources()[name]
