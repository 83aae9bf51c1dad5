"""The context of one resolve run: its inputs, and the findings that its steps add."""

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

from .. import catalog, finding, inventory, language
from ..codes import Code
from ..facts import Facts

Where: TypeAlias = Callable[..., finding.Position | None]
"""Returns the position of a value by its path (`document.Document.where`)."""

CLOUD, SITE, HERE = "cloud", "site", "here"
"""Where a target's hosts come from (`catalog.Target.hosts`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    blueprint: language.Blueprint
    target: catalog.Target
    region: str
    """Empty if the target has no regions."""
    architecture: str
    """Default architecture of hosts whose machine the blueprint doesn't name."""
    stack: str
    facts: Facts
    where: Where
    outside: inventory.Outside = dataclasses.field(default_factory=inventory.Outside)
    findings: list[finding.Finding] = dataclasses.field(default_factory=list)

    @property
    def is_cloud(self) -> bool:
        return self.target.hosts == CLOUD

    @property
    def is_rehearsal(self) -> bool:
        return self.target.hosts == HERE

    def error(self, code: Code, *path: str | int, what: str, why: str, remedy: str) -> None:
        self._add(finding.Level.ERROR, code, path, what, why, remedy)

    def warning(self, code: Code, *path: str | int, what: str, why: str, remedy: str) -> None:
        self._add(finding.Level.WARNING, code, path, what, why, remedy)

    def note(self, code: Code, *path: str | int, what: str, why: str, remedy: str) -> None:
        self._add(finding.Level.NOTE, code, path, what, why, remedy)

    def _add(self, level: finding.Level, code: Code, path: tuple[str | int, ...], what: str, why: str, remedy: str) -> None:
        self.findings.append(finding.Finding(level, code, self.where(*path), what, why, remedy))
