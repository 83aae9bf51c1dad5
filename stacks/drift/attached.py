"""Findings about what somebody attached to resources of the stack without recording it. Pure: the target's discovery asks."""

from collections.abc import Iterator

from components.discovery import Attachments

from .codes import Code
from .differences import shown
from .report import Drift, Layer, Unchecked, drift


def findings(seen: Attachments) -> Iterator[Drift]:
    """Report each attachment that no record names."""
    for one in seen.found:
        yield drift(
            Layer.CLOUD,
            Code.ATTACHED,
            f"{one.resource}: {one.what}",
            f"somebody attached it; {one.effect}",
            remedy="take it away, and find out who made it; if it shall stay, put it into the program",
            actual=shown(one.description),
        )


def unchecked(seen: Attachments) -> Iterator[Unchecked]:
    """Name the kinds of attachments that the account did not list."""
    for kind, why in seen.refused.items():
        yield Unchecked(Layer.CLOUD, f"{kind} that no resource stands for", f"it could not be listed: {why}")
