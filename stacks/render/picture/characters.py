"""A picture for a terminal: the same drawing in cells, with box drawing characters or plain ASCII."""

import dataclasses
import enum
import unicodedata

from blueprints.message_text import printable

from .shapes import Box, Card, Drawing, Kind, Line, Sample, Text
from .text_metrics import Style


class Way(enum.IntFlag):
    """Where a line leaves a cell to."""

    UP = 1
    DOWN = 2
    LEFT = 4
    RIGHT = 8


_ACROSS, _DOWN = Way.LEFT | Way.RIGHT, Way.UP | Way.DOWN


@dataclasses.dataclass(frozen=True, slots=True)
class Signs:
    """The characters that a terminal can show. Strings of sixteen have the character for each sum of `Way`s at its place."""

    line: str
    rail: str
    dashed: dict[Way, str]
    """Borders that come and go."""
    right: str
    down: str
    gpu: str


UNICODE = Signs(" ╵╷│╴┘┐┤╶└┌├─┴┬┼", " ╹╻┃╸┛┓┫╺┗┏┣━┻┳╋", {_ACROSS: "┄", _DOWN: "┆"}, "▶", "▼", "■")
ASCII = Signs(" |||-+++-+++-+++", " ###=###=###=###", {_ACROSS: ".", _DOWN: ":"}, ">", "v", "#")
_IN_ASCII = str.maketrans({"×": "x", "…": ".", "·": "-", "–": "-", "≥": ">"})


def render(drawing: Drawing, *, ascii_only: bool) -> str:
    """Draw with characters, a line of text for each row of cells.

    Args:
        drawing: laid out with `measure.TERMINAL`.
        ascii_only: for terminals that can't show box drawing; other characters become `?`.
    """
    cells = _Cells(ASCII if ascii_only else UNICODE, ascii_only)
    for frame in drawing.frames:
        cells.border(frame.box)
    for line in drawing.lines:
        cells.line(line)
    for card in drawing.cards:
        cells.card(card)
    for entry in (*(entry for frame in drawing.frames for entry in frame.texts), *drawing.texts):
        cells.write(entry)
    for sample in drawing.samples:
        cells.sample(sample)
    return cells.rows()


class _Cells:
    """A grid of cells that is drawn on; what is drawn later covers what was there, and lines join."""

    def __init__(self, signs: Signs, ascii_only: bool) -> None:
        self.signs, self.ascii_only = signs, ascii_only
        self.lines: dict[tuple[int, int], Way] = {}
        self.rails: dict[tuple[int, int], Way] = {}
        self.dashed: set[tuple[int, int]] = set()
        self.characters: dict[tuple[int, int], str] = {}

    def rows(self) -> str:
        places = {*self.lines, *self.rails, *self.characters}
        height = max(y for y, _ in places) + 1
        rows = [[" "] * (max(x for _, x in places) + 1) for _ in range(height)]
        for y, x in places:
            rows[y][x] = self._character(y, x)
        return "\n".join("".join(row).rstrip() for row in rows) + "\n"

    def _character(self, y: int, x: int) -> str:
        if (y, x) in self.characters:
            return self.characters[y, x]
        if (y, x) in self.rails:
            return self.signs.rail[self.rails[y, x]]
        ways = self.lines[y, x]
        return self.signs.dashed.get(ways, self.signs.line[ways]) if (y, x) in self.dashed else self.signs.line[ways]

    def line(self, line: Line) -> None:
        x1, y1, x2, y2 = int(line.x1), int(line.y1), int(line.x2), int(line.y2)
        if line.kind is Kind.ROUTE:
            x2, y2 = (x2 - 1, y2) if y1 == y2 else (x2, y2 - 1)
        on = self.rails if line.kind in (Kind.RAIL, Kind.SPINE) else self.lines
        if (x1, y1) == (x2, y2):
            on[y1, x1] = on.get((y1, x1), Way(0)) | Way.UP
        else:
            _draw(on, x1, y1, x2, y2)
        if line.kind is Kind.ROUTE:
            self.characters[y2, x2] = self.signs.right if y1 == y2 else self.signs.down

    def border(self, box: Box) -> None:
        left, top, right, bottom = int(box.x), int(box.y), int(box.right) - 1, int(box.bottom) - 1
        for y in (top, bottom):
            _draw(self.lines, left, y, right, y)
        for x in (left, right):
            _draw(self.lines, x, top, x, bottom)

    def card(self, card: Card) -> None:
        self.border(card.box)
        if card.elastic:
            self.dashed |= {(y, x) for y in range(int(card.box.y), int(card.box.bottom)) for x in range(int(card.box.x), int(card.box.right))}
        for entry in card.texts:
            self.write(entry)
        if card.badge:
            self.put(int(card.badge.box.y), int(card.badge.box.x), f"({card.badge.content})")
        if card.chips:
            frame = card.chips.frame
            for y in range(int(frame.y), int(frame.bottom)):
                self.put(y, int(frame.x), f"[{self.signs.gpu * (int(frame.width) - 2)}]")

    def sample(self, sample: Sample) -> None:
        y, x = int(sample.box.y), int(sample.box.x)
        table = self.signs.rail if sample.kind is Kind.RAIL else self.signs.line
        line = self.signs.dashed[_ACROSS] if sample.kind is None else table[_ACROSS]
        self.put(y, x, line + (self.signs.right if sample.kind is Kind.ROUTE else line))
        self.write(sample.text)

    def write(self, entry: Text) -> None:
        shown = entry.content.upper() if entry.style is Style.KIND else entry.content
        self.put(int(entry.box.y), int(entry.box.x), printable(shown))

    def put(self, y: int, x: int, text: str) -> None:
        """Write text from a cell on; wide characters take two, combining marks none."""
        for character in text:
            if unicodedata.combining(character):
                self.characters[y, x - 1] = self.characters.get((y, x - 1), "") + character
                continue
            self.characters[y, x] = self._shown(character)
            if unicodedata.east_asian_width(character) in "WF":
                self.characters[y, x + 1] = "?" if self.ascii_only else ""
                x += 1
            x += 1

    def _shown(self, character: str) -> str:
        if not self.ascii_only or character.isascii() or character in self.signs.line:
            return character
        replaced = character.translate(_IN_ASCII)
        return replaced if replaced.isascii() else "?"


def _draw(on: dict[tuple[int, int], Way], x1: int, y1: int, x2: int, y2: int) -> None:
    """Lead a line through cells, joining what is there."""
    forward, backward = (Way.RIGHT, Way.LEFT) if y1 == y2 else (Way.DOWN, Way.UP)
    for number, (y, x) in enumerate((y, x) for y in range(y1, y2 + 1) for x in range(x1, x2 + 1)):
        ways = on.get((y, x), Way(0))
        ways |= forward if (y, x) != (y2, x2) else Way(0)
        on[y, x] = ways | (backward if number else Way(0))
