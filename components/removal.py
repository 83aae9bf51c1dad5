"""What `down` asks a target: which stacks it must refuse, and which remains it deletes after the engine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

Agree = Callable[[str, Sequence[str]], bool]
"""Shows why a question is asked and what would be removed, and says whether somebody agrees."""


class Removal(Protocol):
    """What a target implements."""

    def check(self, stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a stack whose resources the engine could delete only in part.

        Args:
            recorded: the stack's resources.
        Raises:
            RemovalRefused: nothing was changed.
        """

    def sweep(self, stack: str, *, say: Callable[[str], None], agree: Agree) -> bool:
        """Remove what the engine left of the stack, and say whether there was anything.

        Args:
            agree: asked before anything of an owner that no longer exists is removed.
        Raises:
            RemovalRefused: it can't be seen or removed, or is somebody else's.
        """

    def kept(self, stack: str) -> tuple[str, ...]:
        """Name what stays because it is protected."""
