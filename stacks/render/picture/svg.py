"""A picture as SVG: small, without scripts and links, light or dark as the reader's system is."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from blueprints.message_text import printable

from .shapes import Box, Card, Chips, Drawing, Frame, Kind, Line, Sample, Text
from .text_metrics import PICTURE

STYLE = (Path(__file__).parents[1] / "templates" / "picture.css").read_text(encoding="utf-8")
_ARROW = 6
"""Pixels: length and half the width of an arrow's head."""


def document(drawing: Drawing) -> str:
    """Write a file of its own, with its style inside."""
    return "\n".join([*_elements(drawing, mark="alone", style=STYLE, standalone=True)]) + "\n"


def element(drawing: Drawing, *, mark: str) -> str:
    """Write an element for a page that brings the style.

    Args:
        mark: makes ids and the class unlike those of other pictures in the page.
    """
    return "\n".join(_elements(drawing, mark=mark, style="", standalone=False))


def _elements(drawing: Drawing, *, mark: str, style: str, standalone: bool) -> Iterator[str]:
    names = 'xmlns="http://www.w3.org/2000/svg" ' if standalone else ""
    size = f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" width="{_n(drawing.width)}" height="{_n(drawing.height)}"'
    yield f'<svg {names}class="picture {mark}" {size} role="img" aria-labelledby="{mark}-title {mark}-description">'
    yield f'<title id="{mark}-title">{text(drawing.title)}</title>'
    yield f'<desc id="{mark}-description">{text(drawing.description)}</desc>'
    if style:
        yield f"<style>\n{style.strip()}\n</style>"
    yield _rectangle(Box(0.5, 0.5, drawing.width - 1, drawing.height - 1), "sheet", radius=10)
    for frame in drawing.frames:
        yield _frame(frame)
    for line in drawing.lines:
        yield _line(line)
    for card in drawing.cards:
        yield from _card(card)
    for entry in drawing.texts:
        yield _text(entry)
    for sample in drawing.samples:
        yield from _sample(sample)
    yield "</svg>"


def text(content: str) -> str:
    """Escape any text for markup, without control characters."""
    return escape(printable(content))


def _frame(frame: Frame) -> str:
    return "\n".join([_rectangle(frame.box, "zone" if frame.inner else "site", radius=10), *(_text(entry) for entry in frame.texts)])


def _card(card: Card) -> Iterator[str]:
    yield f'<g class="{card.role}">'
    yield _rectangle(card.box, "card elastic" if card.elastic else "card", radius=8)
    yield from (_text(entry) for entry in card.texts)
    if card.badge:
        yield _rectangle(card.badge.box, "badge", radius=8)
        yield _text(card.badge, inset=PICTURE.cell_pad)
    if card.chips:
        yield _chips(card.chips)
    yield "</g>"


def _chips(chips: Chips) -> str:
    squares = "".join(f"M{_n(cell.x)} {_n(cell.y)}h{_n(cell.width)}v{_n(cell.height)}h-{_n(cell.width)}z" for cell in chips.cells)
    return f'{_rectangle(chips.frame, "joined", radius=4)}\n<path class="gpu" d="{squares}"/>'


def _line(line: Line) -> str:
    path = f"M{_n(line.x1)} {_n(line.y1)}H{_n(line.x2)}" if line.y1 == line.y2 else f"M{_n(line.x1)} {_n(line.y1)}V{_n(line.y2)}"
    if line.kind is Kind.ROUTE:
        head = f"m-{_ARROW}-{_ARROW}l{_ARROW} {_ARROW}l-{_ARROW} {_ARROW}" if line.y1 == line.y2 else f"m-{_ARROW}-{_ARROW}l{_ARROW} {_ARROW}l{_ARROW}-{_ARROW}"
        path += head
    return f'<path class="{line.kind}" d="{path}"/>'


def _sample(sample: Sample) -> Iterator[str]:
    box, middle = sample.box, sample.box.y + sample.box.height / 2
    if sample.kind is None:
        yield _rectangle(Box(box.x, middle - 6, box.width, 12), "card elastic", radius=3)
    elif sample.kind is Kind.RAIL:
        for shift in (-4, 0, 4):
            yield _line(Line(Kind.RAIL, box.x, middle + shift, box.right, middle + shift))
    else:
        yield _line(Line(sample.kind, box.x, middle, box.right, middle))
    yield _text(sample.text)


def _text(entry: Text, *, inset: float = 0) -> str:
    face = PICTURE.faces[entry.style]
    baseline = entry.box.y + (entry.box.height + face.size * 0.72) / 2  # capitals are about 0.72 em high
    shown = entry.content.upper() if face.capitals else entry.content
    return f'<text class="{entry.style.value}" x="{_n(entry.box.x + inset)}" y="{_n(baseline)}">{text(shown)}</text>'


def _rectangle(box: Box, name: str, *, radius: float) -> str:
    return f'<rect class="{name}" x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" rx="{radius}"/>'


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
