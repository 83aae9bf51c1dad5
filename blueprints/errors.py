"""The exceptions of blueprints."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .finding import Finding


class BlueprintError(Exception):
    """Input that can't be used: a blueprint, one of its values, or a record of a cluster."""


class Invalid(BlueprintError):
    """The input can't be used. Carries every finding, warnings included; at least one is an error."""

    def __init__(self, findings: "Iterable[Finding]") -> None:
        self.findings = tuple(findings)
        super().__init__(self.findings)

    def __str__(self) -> str:
        from .finding import render

        return render(self.findings)


class Unfit(BlueprintError, ValueError):
    """One value is invalid. Parsers of values raise it; the caller that knows the value's position turns it into a finding."""

    def __init__(self, code: str, what: str, *, why: str, remedy: str, meant: str | None = None) -> None:
        """Keep the finding's texts, and the value that was probably meant: validation continues with it."""
        self.code, self.what, self.why, self.remedy, self.meant = code, what, why, remedy, meant
        super().__init__(what)


class Unreadable(BlueprintError, ValueError):
    """The record is not a spec that this version can read; the text says where."""
