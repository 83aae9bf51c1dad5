"""How much room text takes, in a browser's fonts and on a terminal, and where it breaks. Pure."""

import dataclasses
import enum
import re
import unicodedata
from collections.abc import Callable, Mapping


class Style(enum.Enum):
    """What a line of text is, and with that how large and heavy it is drawn."""

    PAGE = "page"
    SUBTITLE = "subtitle"
    PLACE = "place"
    KIND = "kind"
    BADGE = "badge"
    TITLE = "title"
    LINE = "line"
    NOTE = "note"


@dataclasses.dataclass(frozen=True, slots=True)
class Face:
    """One style in a picture."""

    size: float
    line_height: float
    bold: bool = False
    spacing: float = 0.0
    """Added between letters."""
    capitals: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Metrics:
    """The sizes that a layout works with: pixels of a picture, or cells of a terminal."""

    faces: Mapping[Style, Face]
    width_of: Callable[[str, Face], float]
    margin: float
    """Around the whole picture."""
    pad_x: float
    pad_y: float
    """Between a card's border and its text."""
    gap_x: float
    gap_y: float
    """Between cards."""
    inset: float
    inset_y: float
    """Between a place's border and what it encloses, on the right and at the bottom."""
    gutter: float
    """The same on the left, where the network's trunk is."""
    arrow: float
    drop: float
    """From a card's left edge to where an arrow and the network's line reach it."""
    label: float
    """From there to the name of a place, which is right of arrows."""
    rail_gap: float
    """Between a card and the rails below it."""
    spine: float
    """The width that a spine takes."""
    sample: float
    space: float
    """In the key to the signs: a sign, and what is between it and its words."""
    lane: float
    """Between the lanes of rails."""
    most_lanes: int
    cell: float
    cell_gap: float
    cell_pad: float
    """GPUs: the square, what is between two, and what is around all."""
    least_card: float
    """The narrowest card; it decides how many are side by side."""
    row_step: float
    """From a card's top edge to where a line meets its side."""

    def width(self, text: str, style: Style) -> float:
        return self.width_of(text, self.faces[style])

    def height(self, style: Style) -> float:
        return self.faces[style].line_height


_EM_BY_WIDTH = {
    0.30: "'ijl",
    0.35: " IJ,./:;\\|·",
    0.40: "!()-[]f",
    0.45: "rt",
    0.50: '"*_`–',
    0.55: "?csz",
    0.60: "FLkvxy",
    0.65: "$0123456789EPSTYabdeghnopqu{}",
    0.70: "ABCKRVXZ",
    0.75: "NU",
    0.80: "&DGHOQ",
    0.85: "#+<=>^w~×≥→",
    0.90: "M",
    0.95: "%",
    1.00: "@Wm…",
}
_EMS = {character: ems for ems, characters in _EM_BY_WIDTH.items() for character in characters}
"""Advance widths in ems, rounded up, of DejaVu Sans: of the fonts that `sans-serif` means somewhere, a wide one."""
_OTHER_EMS, _WIDE_EMS = 0.85, 1.05
_BOLD = 1.14
"""How much wider its bold letters are; with the rounding above none of them is wider."""


def ems(text: str, face: Face) -> float:
    """Measure text in a browser: never less than it takes there, in pixels."""
    shown = text.upper() if face.capitals else text
    widths = sum(_WIDE_EMS if _is_wide(character) else _EMS.get(character, _OTHER_EMS) for character in shown)
    return widths * face.size * (_BOLD if face.bold else 1.0) + face.spacing * len(shown)


def columns(text: str, _: Face) -> float:
    """Measure text on a terminal: East Asian wide characters take two cells, combining marks none."""
    return float(sum(2 if _is_wide(character) else unicodedata.combining(character) == 0 for character in text))


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


_BETWEEN_WORDS = re.compile(r" (?![KMGTP]i?[Bb](?:/s)?\b)")
"""A number stays with its unit."""
_SEPARATORS = "-/,.:@"


def wrap(text: str, width: float, measure: Callable[[str], float]) -> list[str]:
    """Break text into lines no wider than this: between words, and inside of a word that is wider alone."""
    lines: list[str] = []
    line = ""
    for word in filter(None, _BETWEEN_WORDS.split(text)):
        joined = f"{line} {word}" if line else word
        if measure(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = _pieces(word, width, measure)
        lines += full
    return [*lines, line] if line else lines


def _pieces(word: str, width: float, measure: Callable[[str], float]) -> list[str]:
    """Break a word where it doesn't fit, after a sign that separates if there is one not far before."""
    pieces, piece = [], ""
    for character in word:
        if piece and measure(piece + character) > width:
            end = max((piece.rfind(sign) + 1 for sign in _SEPARATORS), default=0)
            end = end if end > len(piece) // 2 else len(piece)
            pieces.append(piece[:end])
            piece = piece[end:]
        piece += character
    return [*pieces, piece]


_FONTS = {
    Style.PAGE: Face(18, 26, bold=True),
    Style.SUBTITLE: Face(12.5, 18),
    Style.PLACE: Face(12.5, 18, bold=True),
    Style.KIND: Face(11, 16, bold=True, spacing=0.5, capitals=True),
    Style.BADGE: Face(11, 16, bold=True),
    Style.TITLE: Face(14.5, 21, bold=True),
    Style.LINE: Face(12.5, 17),
    Style.NOTE: Face(12, 17),
}

PICTURE = Metrics(
    faces=_FONTS,
    width_of=ems,
    margin=16,
    pad_x=14,
    pad_y=11,
    gap_x=26,
    gap_y=26,
    inset=14,
    inset_y=16,
    gutter=28,
    arrow=26,
    drop=52,
    label=42,
    rail_gap=12,
    spine=16,
    sample=24,
    space=8,
    lane=4,
    most_lanes=8,
    cell=10,
    cell_gap=3,
    cell_pad=5,
    least_card=188,
    row_step=24,
)

TERMINAL = Metrics(
    faces={style: Face(1, 1) for style in Style},
    width_of=columns,
    margin=0,
    pad_x=2,
    pad_y=1,
    gap_x=3,
    gap_y=2,
    inset=2,
    inset_y=1,
    gutter=4,
    arrow=3,
    drop=6,
    label=5,
    rail_gap=0,
    spine=3,
    sample=2,
    space=1,
    lane=1,
    most_lanes=1,
    cell=1,
    cell_gap=0,
    cell_pad=1,
    least_card=22,
    row_step=1,
)
