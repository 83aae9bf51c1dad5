"""Values that findings compare. Code decides by these classes; `str` gives the text for people."""

import dataclasses
import enum


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """A value exactly as the program that keeps it takes it. A plain text may be shortened or described instead."""

    value: str
    empty: str = ""
    """What reports write for an empty value."""

    def __str__(self) -> str:
        return self.value or self.empty


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


@dataclasses.dataclass(frozen=True, slots=True)
class FileContent:
    """A file with its content."""

    state: FileState
    text: str | None
    """None: it is secret, too long or no text."""
    shown: str
    """What reports write: the lines that differ, or the checksum."""
    is_written: bool = False
    """Whether a role wrote it, so that no package has it."""
    sha256: str = ""
    """Of the content, where another one is there now."""

    def __str__(self) -> str:
        return self.shown


@dataclasses.dataclass(frozen=True, slots=True)
class LinkTarget:
    """A symbolic link."""

    target: str

    def __str__(self) -> str:
        return f"link to {self.target}"


@dataclasses.dataclass(frozen=True, slots=True)
class UnitLink:
    """What a link of systemd says about its unit."""

    state: UnitState
    path: str
    target: str | None
    """None: there is no link."""

    def __str__(self) -> str:
        return str(self.state)


Value = str | Setting | UnitState | PackageState | FileState | FileContent | LinkTarget | UnitLink


@dataclasses.dataclass(frozen=True, slots=True)
class Values:
    """What should be, what was, and what is."""

    desired: Value | None = None
    """What the blueprint or the roles ask for; None where neither sets it."""
    recorded: Value | None = None
    """What was there when the stack was last brought up; None where nothing was recorded."""
    actual: Value | None = None
    """What is there now; None: nothing."""
    digest: str = ""
    """Of all that is there now, where `actual` shows a part of it or describes it; empty: `actual` says all."""


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
