"""Values that findings compare. Code decides by these classes; `str` gives the text for people."""

import dataclasses
import enum


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """A value exactly as the program that keeps it takes it. A plain text may be shortened or described instead."""

    value: str

    def __str__(self) -> str:
        return self.value


class UnitState(enum.StrEnum):
    """Whether systemd starts a unit at boot, and whether it may start it at all."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    MASKED = "masked"
    PLAIN = "plain"
    """Not masked."""


@dataclasses.dataclass(frozen=True, slots=True)
class PackageState:
    version: str
    is_held: bool

    def __str__(self) -> str:
        return f"{self.version}, held" if self.is_held else self.version


@dataclasses.dataclass(frozen=True, slots=True)
class FileState:
    """A file or folder without its content."""

    kind: str
    """`file` or `folder`."""
    mode: str
    """Four octal digits."""
    owner: str
    group: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.mode} {self.owner}:{self.group}"


Value = str | Setting | UnitState | PackageState | FileState


@dataclasses.dataclass(frozen=True, slots=True)
class Values:
    """What should be, what was, and what is."""

    desired: Value | None = None
    """What the blueprint or the roles ask for; None where neither sets it."""
    recorded: Value | None = None
    """What was there when the stack was last brought up; None where nothing was recorded."""
    actual: Value | None = None
    """What is there now; None: nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Measurement:
    """What a check measured."""

    expected: str
    measured: str
    unit: str = ""

    @property
    def expected_text(self) -> str:
        return self._with_unit(self.expected)

    @property
    def measured_text(self) -> str:
        return self._with_unit(self.measured)

    def _with_unit(self, figure: str) -> str:
        return f"{figure} {self.unit}" if self.unit else figure
