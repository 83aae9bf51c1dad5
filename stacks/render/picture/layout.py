"""Lay a topology out as boxes, lines and texts with places. Pure, the same for a browser and for a terminal.

From top to bottom: people, the site with its edge, the zone with hosts and pools, storage. The network is a trunk on the left with a line to every card; rails
run below the pools that they join.
"""

from collections.abc import Sequence

from . import card_layout, rails
from .grid import Grid, Sheet, grid
from .parts import Item, Place, Topology
from .shapes import Box, Drawing, Frame, Kind, Line, Sample, Text
from .text_metrics import Metrics, Style

_SIGNS = (Kind.ROUTE, Kind.NETWORK, Kind.RAIL)


def place(topology: Topology, *, width: float, metrics: Metrics) -> Drawing:
    """Lay a topology out in a given width; the height is what it needs.

    Args:
        width: pixels or cells; where one card needs more, the picture is as wide as that takes.
    """
    places = grid(topology, width=width, metrics=metrics)
    sheet = Sheet(metrics.margin)
    sheet.write([(topology.title, Style.PAGE), (topology.subtitle, Style.SUBTITLE)], metrics.margin, width=places.width - 2 * metrics.margin, metrics=metrics)
    sheet.y += metrics.gap_y // 2
    _group(sheet, topology.outside, places, joined=False)
    sheet.y += metrics.gap_y
    _site(sheet, topology, places)
    _routes(sheet, topology.routes, places)
    _signs(sheet, topology, places)
    _notes(sheet, topology.notes, places)
    return Drawing(
        width=places.width,
        height=sheet.y + metrics.margin,
        title=topology.title,
        description=topology.description,
        frames=tuple(sheet.frames),
        cards=tuple(sheet.cards.values()),
        lines=tuple(sheet.lines),
        texts=tuple(sheet.texts),
        samples=tuple(sheet.samples),
    )


def _site(sheet: Sheet, topology: Topology, places: Grid) -> None:
    before, after = _edge(topology, columns=places.columns)
    top = sheet.y
    texts = _label(sheet, topology.site, places)
    if topology.zone is None and len(before) + len(topology.hosts) <= places.columns:
        _group(sheet, [*before, *topology.hosts], places)
        rails.pools(sheet, topology, places)
    else:
        _group(sheet, before, places)
        _zone(sheet, topology, places)
    _group(sheet, after, places)
    _group(sheet, topology.storage, places)
    _trunk(sheet, places)
    sheet.y += places.metrics.inset_y
    sheet.frames.insert(0, Frame(Box(places.site_x, top, places.site_right - places.site_x, sheet.y - top), False, texts))


def _edge(topology: Topology, *, columns: int) -> tuple[list[Item], list[Item]]:
    """Divide what is at the edge: above the hosts is what the way in leads through, and the rest if its row has room; otherwise the rest is below."""
    on_way = {key for route in topology.routes for key in route}
    crossed = [item for item in topology.edge if item.key in on_way]
    before = list(topology.edge) if crossed and topology.zone and len(topology.edge) <= columns else crossed
    return before, [item for item in topology.edge if item not in before]


def _zone(sheet: Sheet, topology: Topology, places: Grid) -> None:
    if topology.zone is None:
        _group(sheet, topology.hosts, places)
        rails.pools(sheet, topology, places)
        return
    sheet.y += places.metrics.gap_y // 2
    top = sheet.y
    texts = _label(sheet, topology.zone, places)
    _group(sheet, topology.hosts, places)
    rails.pools(sheet, topology, places)
    sheet.y += places.metrics.inset_y
    sheet.frames.append(Frame(Box(places.zone_x, top, places.zone_right - places.zone_x, sheet.y - top), True, texts))


def _label(sheet: Sheet, entry: Place, places: Grid) -> tuple[Text, ...]:
    """Write the name of a place, right of where arrows come in."""
    metrics = places.metrics
    x = places.x + metrics.label
    texts = card_layout.stacked([(entry.title, Style.PLACE), (entry.line, Style.NOTE)], x, sheet.y + metrics.pad_y, width=places.right - x, metrics=metrics)
    sheet.y = texts[-1].box.bottom
    return texts


def _group(sheet: Sheet, items: Sequence[Item], places: Grid, *, joined: bool = True) -> None:
    """Place cards in rows as long as those of the whole picture allow."""
    for start in range(0, len(items), places.columns):
        sheet.row(items[start : start + places.columns], places, joined=joined)


def _trunk(sheet: Sheet, places: Grid) -> None:
    if sheet.joints:
        sheet.lines.insert(0, Line(Kind.NETWORK, places.trunk, min(sheet.joints), places.trunk, max(sheet.joints)))


def _routes(sheet: Sheet, routes: Sequence[tuple[str, str]], places: Grid) -> None:
    for start, end in routes:
        first, second = sheet.cards[start].box, sheet.cards[end].box
        if first.y == second.y:
            y = first.y + places.metrics.row_step
            sheet.lines.append(Line(Kind.ROUTE, first.right, y, second.x, y))
        else:
            x = second.x + places.metrics.arrow
            sheet.lines.append(Line(Kind.ROUTE, x, first.bottom, x, second.y))


def _signs(sheet: Sheet, topology: Topology, places: Grid) -> None:
    """Explain the signs that the picture has, side by side as far as there is room."""
    metrics = places.metrics
    signs = {Kind.ROUTE: "the way in", Kind.NETWORK: topology.network_sign, Kind.RAIL: "rails: GPUs of different nodes", None: topology.elastic_sign}
    kinds: list[Kind | None] = [kind for kind in _SIGNS if any(line.kind is kind for line in sheet.lines)]
    if any(item.elastic for item in topology.pools):
        kinds.append(None)
    x, height = metrics.margin, metrics.height(Style.NOTE)
    sheet.y += metrics.gap_y // 2
    for kind in kinds:
        words = signs[kind]
        across = metrics.sample + metrics.space + metrics.width(words, Style.NOTE)
        if x > metrics.margin and x + across > places.width - metrics.margin:
            x, sheet.y = metrics.margin, sheet.y + height
        text = Text(Box(x + metrics.sample + metrics.space, sheet.y, metrics.width(words, Style.NOTE), height), words, Style.NOTE)
        sheet.samples.append(Sample(Box(x, sheet.y, metrics.sample, height), kind, text))
        x += across + metrics.gap_x
    sheet.y += height if kinds else 0


def _notes(sheet: Sheet, notes: Sequence[str], places: Grid) -> None:
    metrics = places.metrics
    if notes:
        sheet.y += metrics.gap_y // 2
        entries = [("Simulated", Style.PLACE), *((note, Style.NOTE) for note in notes)]
        sheet.write(entries, metrics.margin, width=places.width - 2 * metrics.margin, metrics=metrics)
