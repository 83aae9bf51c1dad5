"""The grid of a picture: its columns, and what is placed on the sheet already."""

import dataclasses
import itertools
from collections.abc import Sequence

from . import card_layout
from .parts import Item, Topology
from .shapes import Card, Frame, Kind, Line, Sample, Text
from .text_metrics import Metrics, Style

LEAST_COLUMNS, MOST_COLUMNS = 3, 4
"""Where there is room: wider cards would only be emptier."""


@dataclasses.dataclass(frozen=True, slots=True)
class Grid:
    """Where columns begin and end, the same from top to bottom."""

    metrics: Metrics
    width: float
    has_zone: bool
    rows: tuple[tuple[Item, ...], ...]
    """The pools, row by row."""
    columns: int
    """How many cards are side by side."""
    spines: tuple[str, ...]
    """Keys of the rails that run below several rows."""

    @property
    def site_x(self) -> float:
        return self.metrics.margin

    @property
    def site_right(self) -> float:
        return self.width - self.metrics.margin

    @property
    def trunk(self) -> float:
        return self.site_x + self.metrics.gutter // 2

    @property
    def zone_x(self) -> float:
        return self.site_x + self.metrics.gutter

    @property
    def zone_right(self) -> float:
        return self.site_right - self.metrics.inset

    @property
    def x(self) -> float:
        """Where cards begin."""
        return self.zone_x + (self.metrics.inset if self.has_zone else 0)

    @property
    def right(self) -> float:
        """Where cards end."""
        inset = self.metrics.inset if self.has_zone else 0
        return self.zone_right - inset - len(self.spines) * self.metrics.spine

    @property
    def card_width(self) -> float:
        return (self.right - self.x - self.metrics.gap_x * (self.columns - 1)) // self.columns


def grid(topology: Topology, *, width: float, metrics: Metrics) -> Grid:
    """Divide a width into columns."""
    around = 2 * metrics.margin + metrics.gutter + metrics.inset * (3 if topology.zone else 1)
    empty = Grid(metrics, max(width, around + metrics.least_card), topology.zone is not None, (), 1, ())
    groups = (topology.edge, topology.hosts, topology.pools, topology.storage)
    most = max(LEAST_COLUMNS, *(len(group) for group in groups))
    divided = empty
    for number in range(columns(most, width=empty.right - empty.x, metrics=metrics), 0, -1):
        rows = in_rows(topology.pools, number)
        keys = [key for row in rows for key in dict.fromkeys(item.rails for item in row) if key]
        divided = dataclasses.replace(empty, rows=rows, columns=number, spines=tuple(key for key in dict.fromkeys(keys) if keys.count(key) > 1))
        if divided.card_width >= metrics.least_card:  # spines take their width of the cards
            return divided
    return dataclasses.replace(divided, width=divided.width + metrics.least_card - divided.card_width)


def columns(number: int, *, width: float, metrics: Metrics) -> int:
    """Give the number of cards in a row, so that rows are about equally long."""
    fitting = int((width + metrics.gap_x) // (metrics.least_card + metrics.gap_x))
    most = max(1, min(MOST_COLUMNS, fitting))
    rows = -(-number // most)
    return -(-number // rows) if rows else 1


def in_rows(items: Sequence[Item], number: int) -> tuple[tuple[Item, ...], ...]:
    """Divide pools into rows: those on one fabric begin a row, and those without one fill up the last."""
    rows: list[tuple[Item, ...]] = []
    for key, same in itertools.groupby(items, key=lambda item: item.rails):
        left = tuple(same)
        if key is None and rows:
            room = number - len(rows[-1])
            rows[-1] += left[:room]
            left = left[room:]
        rows += [left[start : start + number] for start in range(0, len(left), number)]
    return tuple(rows)


@dataclasses.dataclass(slots=True)
class Sheet:
    """What is placed already, and how far down it goes."""

    y: float
    frames: list[Frame] = dataclasses.field(default_factory=list)
    cards: dict[str, Card] = dataclasses.field(default_factory=dict)
    lines: list[Line] = dataclasses.field(default_factory=list)
    texts: list[Text] = dataclasses.field(default_factory=list)
    samples: list[Sample] = dataclasses.field(default_factory=list)
    joints: list[float] = dataclasses.field(default_factory=list)
    """Heights at which something joins the network's trunk."""

    def write(self, entries: Sequence[tuple[str, Style]], x: float, *, width: float, metrics: Metrics) -> None:
        """Write lines of text, and go on below them."""
        texts = card_layout.stacked(entries, x, self.y, width=width, metrics=metrics)
        self.texts += texts
        self.y = texts[-1].box.bottom if texts else self.y

    def row(self, items: Sequence[Item], places: Grid, *, joined: bool = True) -> list[Card]:
        """Place cards side by side, as high as the highest of them, and go on below.

        Args:
            joined: they are on the hosts' network.
        """
        metrics = places.metrics
        self.y += metrics.gap_y if joined else 0
        width = places.card_width
        placed = [
            card_layout.card(item, places.x + number * (width + metrics.gap_x), self.y, width=width, metrics=metrics) for number, item in enumerate(items)
        ]
        height = max(card.box.height for card in placed)
        placed = [dataclasses.replace(card, box=dataclasses.replace(card.box, height=height)) for card in placed]
        self.cards.update({card.key: card for card in placed})
        if joined:
            self._join(placed, places, alone=places.columns == 1)
        self.y += height
        return placed

    def _join(self, placed: Sequence[Card], places: Grid, *, alone: bool) -> None:
        """Draw the network's lines from the trunk: to the side of a single card, else along the row and down to each."""
        metrics = places.metrics
        if alone:
            y = self.y + metrics.row_step
            self.lines.append(Line(Kind.NETWORK, places.trunk, y, placed[0].box.x, y))
        else:
            y = self.y - metrics.gap_y // 2
            ends = [card.box.x + metrics.drop for card in placed]
            self.lines.append(Line(Kind.NETWORK, places.trunk, y, ends[-1], y))
            self.lines += [Line(Kind.NETWORK, x, y, x, card.box.y) for x, card in zip(ends, placed, strict=True)]
        self.joints.append(y)
