"""Cards: what one part of a cluster says, laid out in a given width. Pure."""

import dataclasses
from collections.abc import Sequence

from .. import formatting
from .parts import Domain, Item, Role
from .shapes import Box, Card, Chips, Text
from .text_metrics import Metrics, Style, wrap

SIMULATED = "simulated"
_LEAST_CELL = 4.0
"""Pixels; smaller squares are no longer seen as such."""


@dataclasses.dataclass(slots=True)
class _Column:
    """Text that grows downward from a place."""

    x: float
    y: float
    width: float
    metrics: Metrics
    texts: list[Text] = dataclasses.field(default_factory=list)

    def add(self, content: str, style: Style, *, role: Role | None = None) -> None:
        for line in wrap(content, self.width, lambda text: self.metrics.width(text, style)):
            height = self.metrics.height(style)
            self.texts.append(Text(Box(self.x, self.y, self.metrics.width(line, style), height), line, style, role))
            self.y += height


def stacked(entries: Sequence[tuple[str, Style]], x: float, y: float, *, width: float, metrics: Metrics) -> tuple[Text, ...]:
    """Lay out lines of text below each other, broken where they are too long."""
    column = _Column(x, y, width, metrics)
    for content, style in entries:
        column.add(content, style)
    return tuple(column.texts)


def card(item: Item, x: float, y: float, *, width: float, metrics: Metrics) -> Card:
    """Lay out a card; its height is what its content needs."""
    column = _Column(x + metrics.pad_x, y + metrics.pad_y, width - 2 * metrics.pad_x, metrics)
    badge = _badge(item, column)
    column.add(item.kind, Style.KIND, role=item.role)
    column.y = max(column.y, badge.box.bottom) if badge else column.y
    column.add(item.title, Style.TITLE)
    for line in item.lines:
        column.add(line, Style.LINE)
    chips = _chips(item.domain, column) if item.domain else None
    return Card(item.key, Box(x, y, width, column.y + metrics.pad_y - y), item.role, item.elastic, tuple(column.texts), badge, chips)


def _badge(item: Item, column: _Column) -> Text | None:
    """Say on the right of the first line that the part is simulated; where there is no room, in a line of its own."""
    if not item.simulated:
        return None
    metrics = column.metrics
    width = metrics.width(SIMULATED, Style.BADGE) + 2 * metrics.cell_pad
    box = Box(column.x + column.width - width, column.y, width, metrics.height(Style.BADGE))
    if metrics.width(item.kind, Style.KIND) + width + metrics.cell_pad > column.width:
        box = dataclasses.replace(box, x=column.x)
        column.y += box.height + metrics.cell_gap
    return Text(box, SIMULATED, Style.BADGE)


def _chips(domain: Domain, column: _Column) -> Chips:
    """Draw one node's GPUs in a row, or those of an NVLink domain with a column for each node; and say how often that is there."""
    metrics = column.metrics
    wide, high = (domain.nodes, domain.gpus) if domain.nodes > 1 else (domain.gpus, 1)
    cell = _cell(wide, column.width, metrics)
    step = cell + metrics.cell_gap
    top = column.y + (metrics.cell_gap and metrics.cell_pad)
    across = wide * step - metrics.cell_gap + 2 * metrics.cell_pad
    frame = Box(column.x, top, across, high * step - metrics.cell_gap + 2 * (metrics.cell_gap and metrics.cell_pad))
    inset = metrics.cell_gap and metrics.cell_pad
    places = [(column_number, row) for row in range(high) for column_number in range(wide)]
    cells = tuple(Box(column.x + metrics.cell_pad + number * step, top + inset + row * step, cell, cell) for number, row in places)
    _times(domain, frame, column)
    return Chips(frame, cells)


def _cell(wide: int, width: float, metrics: Metrics) -> float:
    """Shrink the squares where so many don't fit side by side."""
    room = (width - 2 * metrics.cell_pad + metrics.cell_gap) / wide - metrics.cell_gap
    return metrics.cell if metrics.cell <= room or metrics.cell == 1 else max(_LEAST_CELL, room)


def _times(domain: Domain, frame: Box, column: _Column) -> None:
    """Say how often it is there: beside it if there is room, and below it where it has a name."""
    metrics = column.metrics
    times, height = f"× {domain.times}", metrics.height(Style.LINE)
    width = metrics.width(times, Style.LINE)
    x = frame.right + max(metrics.cell_pad, 1)
    column.y = frame.bottom
    if domain.named:
        column.add(f"{domain.times} NVLink domain{'' if domain.times == '1' else 's'} of {formatting.plural(domain.nodes * domain.gpus, 'GPU')}", Style.LINE)
    elif x + width <= column.x + column.width:
        column.texts.append(Text(Box(x, frame.y + (frame.height - height) // 2, width, height), times, Style.LINE))
    else:
        column.add(times, Style.LINE)
