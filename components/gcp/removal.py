"""Stacks on Google Cloud that `down` refuses to delete (`components/removal.py`): none."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import removal


class Removal:
    """Implements `removal.Removal`."""

    def check(self, stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
        """Allow everything: each stack records what terminates its nodes."""

    def sweep(self, stack: str, *, say: Callable[[str], None], agree: removal.Agree) -> bool:
        """Find nothing: everything in the project is recorded, or recovery finds it by the stack's mark."""
        return False

    def kept(self, stack: str) -> tuple[str, ...]:
        """Return nothing: recovery names the resources that stay in a project."""
        return ()
