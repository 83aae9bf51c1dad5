"""What components refuse, as the parts of the page that a user reads."""


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
        return f"error: {self.what}\n  why: {self.why}\n  do:  {self.remedy}"


class AccountUnavailable(Refusal):
    """The account can't be asked anything: its SDK is missing, there are no valid credentials, or nobody answers."""


class SdkMissing(Refusal):
    """The SDK of a target for Pulumi is not installed."""


class RemovalRefused(Refusal):
    """A stack can't be removed from here, or not by this version."""
