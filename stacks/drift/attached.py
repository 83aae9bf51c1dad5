"""Findings about what somebody attached to resources of the stack without recording it. Pure: the target's discovery asks."""

from collections.abc import Iterator

from blueprints.finding import Finding
from blueprints.finding.subject import Attachment
from components.discovery import Attachments
from components.inspection.codes import Code
from components.inspection.finding import Unchecked, drift
from components.inspection.layer import Layer

from .differences import shown


def findings(seen: Attachments) -> Iterator[Finding]:
    """Report each attachment that no record names."""
    for one in seen.found:
        yield drift(
            Code.ATTACHED,
            Attachment(one.resource, one.what),
            f"somebody attached it; {one.effect}",
            remedy="detach it, and find out who attached it; to keep it, put it into the program",
            actual=shown(one.description),
        )


def unchecked(seen: Attachments) -> Iterator[Unchecked]:
    """Name the kinds of attachments that the account did not list."""
    for kind, why in seen.refused.items():
        yield Unchecked(Layer.CLOUD, f"unrecorded {kind}", f"it could not be listed: {why}")
