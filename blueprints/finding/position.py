"""A place in a file, or in a stack's settings."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """A place in a file, or in a stack's settings."""

    file: str
    """The file as the user named it; for a value from elsewhere, its origin (`stack setting clusterwright:set`)."""
    line: int = 0
    """Counted from 1; 0 when the place has no lines."""
    column: int = 0
    """In characters, counted from 1."""
    text: str = ""
    """The line itself."""
    width: int = 1
    """How many characters of the line are meant."""
    path: tuple[str | int, ...] | None = dataclasses.field(default=None, compare=False)
    """The way to the value in the blueprint, whichever file or setting it comes from; None for what is in no blueprint."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file
