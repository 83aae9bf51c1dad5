"""A picture as values: boxes, lines and texts with places, before anything is drawn."""

import dataclasses
import enum

from .parts import Role
from .text_metrics import Style


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def encloses(self, other: "Box") -> bool:
        return self.x <= other.x and self.y <= other.y and other.right <= self.right and other.bottom <= self.bottom

    def overlaps(self, other: "Box") -> bool:
        return self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    box: Box
    """As wide as the text was measured, as high as its line."""
    content: str
    style: Style
    role: Role | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Chips:
    """GPUs: a square each, in a frame that shows what NVLink or a node joins."""

    frame: Box
    cells: tuple[Box, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Card:
    key: str
    box: Box
    role: Role
    elastic: bool
    texts: tuple[Text, ...]
    badge: Text | None
    """Says that it is simulated."""
    chips: Chips | None


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """A place, around what is in it."""

    box: Box
    inner: bool
    """True: a zone inside a site."""
    texts: tuple[Text, ...]


class Kind(enum.StrEnum):
    NETWORK = "network"
    RAIL = "rail"
    SPINE = "spine"
    """Joins the rails of several rows."""
    ROUTE = "route"
    """The way in; ends in an arrow."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One straight line, to the right, or downward."""

    kind: Kind
    x1: float
    y1: float
    x2: float
    y2: float


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """One entry of the key to the signs."""

    box: Box
    kind: Kind | None
    """None: a border that comes and goes."""
    text: Text


@dataclasses.dataclass(frozen=True, slots=True)
class Drawing:
    width: float
    height: float
    title: str
    description: str
    frames: tuple[Frame, ...]
    cards: tuple[Card, ...]
    lines: tuple[Line, ...]
    texts: tuple[Text, ...]
    """Those outside of cards and frames."""
    samples: tuple[Sample, ...]
