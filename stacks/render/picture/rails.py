"""Pools with the rails below them: lane n joins the n-th interface of all nodes, and a spine joins the rows. Pure."""

import itertools
from collections.abc import Sequence

from . import card_layout
from .grid import Grid, Sheet
from .parts import Rails, Topology
from .shapes import Card, Kind, Line
from .text_metrics import Metrics, Style


def pools(sheet: Sheet, topology: Topology, places: Grid) -> None:
    """Place the pools, row by row, and what joins their GPUs."""
    known = {entry.key: entry for entry in topology.rails}
    ends: dict[str, list[float]] = {}
    for row in places.rows:
        placed = sheet.row(row, places)
        for key, same in itertools.groupby(zip(row, placed, strict=True), key=lambda pair: pair[0].rails):
            if key is not None:
                _rails(sheet, known[key], [card for _, card in same], places, first=key not in ends)
                ends.setdefault(key, []).append(placed[0].box.bottom)
    for key, bottoms in ends.items():
        if key in places.spines:
            x = _spine(key, places)
            depth = places.metrics.rail_gap + _lanes(known[key], places.metrics) * places.metrics.lane
            sheet.lines.append(Line(Kind.SPINE, x, bottoms[0] + places.metrics.rail_gap, x, bottoms[-1] + depth))


def _lanes(entry: Rails, metrics: Metrics) -> int:
    return min(entry.lanes, metrics.most_lanes)


def _spine(key: str, places: Grid) -> float:
    return places.right + (places.spines.index(key) + 1) * places.metrics.spine - places.metrics.spine // 2


def _rails(sheet: Sheet, entry: Rails, placed: Sequence[Card], places: Grid, *, first: bool) -> None:
    """Draw the lanes below a row; the first row also has their title."""
    metrics = places.metrics
    lanes = _lanes(entry, metrics)
    top = placed[0].box.bottom + metrics.rail_gap
    last = _spine(entry.key, places) if entry.key in places.spines else placed[-1].box.right
    for lane in range(lanes):
        y = top + lane * metrics.lane
        starts = [card.box.x + metrics.pad_x + lane * metrics.lane for card in placed]
        sheet.lines += [Line(Kind.RAIL, x, card.box.bottom, x, y) for x, card in zip(starts, placed, strict=True)]
        sheet.lines.append(Line(Kind.RAIL, starts[0], y, last, y))
    sheet.y = max(sheet.y, top + lanes * metrics.lane)
    if first:
        entries = [(entry.title, Style.PLACE), ("; ".join(entry.lines), Style.NOTE)]
        x = places.x + metrics.pad_x
        texts = card_layout.stacked(entries, x, sheet.y + metrics.cell_gap, width=places.right - x, metrics=metrics)
        sheet.texts += texts
        sheet.y = texts[-1].box.bottom
