"""The value that stands for what an engine does not know yet. Kinds use it without the wire form, whose libraries take long to load."""

from typing import Final


class Unknown:
    """A value that only an apply will give."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
