"""What `down` removes beside the recorded groups (`components/removal.py`): nothing, since each group releases its own servers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import removal


class Removal:
    """Implements `removal.Removal`."""

    def check(self, stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse nothing: a server that belongs to another stack by now refuses its own release."""

    def sweep(self, stack: str, *, say: Callable[[str], None], agree: removal.Agree) -> bool:
        """Find nothing: only a stack's record says which servers it adopted; a server's own mark names its stack."""
        return False

    def kept(self, stack: str) -> tuple[str, ...]:
        """Name nothing: what stays on a server is said by its release."""
        return ()
