"""Exceptions that carry findings."""

from collections.abc import Iterable

from .finding import Finding
from .page import render


class Invalid(Exception):
    """The input can't be used. Carries every finding, warnings included; at least one is an error."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(self.findings)

    def __str__(self) -> str:
        return render(self.findings)


class Unfit(ValueError):
    """One value can't be what it should; raised where values are parsed, turned into a Finding where their position is known."""

    def __init__(self, code: str, what: str, *, why: str, remedy: str, meant: str | None = None) -> None:
        """Keep what a finding says, and the value that was probably meant, to go on with."""
        self.code, self.what, self.why, self.remedy, self.meant = code, what, why, remedy, meant
        super().__init__(what)
