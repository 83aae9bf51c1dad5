"""What `down` removes beside the recorded groups (`components/removal.py`): nothing, since each group releases its own servers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import removal


class Removal:
    """Implements `removal.Removal`."""

    def check(self, stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse nothing: a server that belongs to another stack by now refuses its own release."""

    def sweep(self, stack: str, *, say: Callable[[str], None], agree: removal.Agree) -> bool:
        """Find nothing: without its record, nobody knows which servers a stack adopted; their marks name it."""
        return False

    def kept(self, stack: str) -> tuple[str, ...]:
        """Name nothing: what stays on a server is said by its release."""
        return ()
