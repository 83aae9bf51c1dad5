"""What components refuse, as the parts of the page that a user reads, and who did not answer them.

An exception of one package is beside what raises it. One that others catch is here, or beside the protocol that it belongs to.
"""

from collections.abc import Iterator


class Refusal(Exception):
    """A component can't go on.

    Args:
        what: one sentence.
        why: what was seen.
        remedy: what to do.
    """

    def __init__(self, what: str, *, why: str, remedy: str):
        super().__init__(what)
        self.what, self.why, self.remedy = what, why, remedy

    def page(self) -> str:
        return "\n".join([f"error: {self.what}", *_part("why:", self.why), *_part("do:", self.remedy)])


def _part(label: str, text: str) -> Iterator[str]:
    """Write a part of a page; its further lines are below its first word."""
    first, *others = text.splitlines() or [""]
    yield f"  {label:4} {first}"
    yield from (f"{'':7}{line}" for line in others)


class AccountUnavailable(Refusal):
    """The account can't be queried: its SDK is missing, there are no valid credentials, or the API does not answer."""


class SdkMissing(Refusal):
    """The SDK of a target for Pulumi is not installed."""


class AddressUnknown(Refusal):
    """Nobody says from which public address this machine reaches the Internet."""


class RemovalRefused(Refusal):
    """A stack can't be removed from here, or not by this version."""


class RebuildRefused(Refusal):
    """A host can't be rebuilt from here."""


class HostUnanswered(Exception):
    """A host, or a command on it, did not answer or failed; the text says what it said."""


class SchedulerUnanswered(Exception):
    """The scheduler could not be asked; the text says why."""


class TargetUnanswered(Exception):
    """The target could not list what runs; the text says why."""


class NotUp(Exception):
    """The stack's record contains no cluster that could be inspected."""
