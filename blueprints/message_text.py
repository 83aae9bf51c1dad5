"""Text for people: safe for any terminal, short enough for one line, with words that come near a mistyped one."""

import dataclasses
import json
import unicodedata
from collections.abc import Iterable

_ANSI = {"bold": "1", "red": "31;1", "yellow": "33;1", "cyan": "36;1"}
_LONGEST_QUOTE = 60
_LINE_WIDTH = 140
"""Columns of a quoted source line; of a longer one the part around the place is shown."""
_LONGEST_NAME = 64
"""Longer words are not typing mistakes, and comparing them takes long."""
LIKE_ENOUGH = 0.6
"""Likeness of two words (`difflib`) from which on one may be meant by the other."""


@dataclasses.dataclass(frozen=True, slots=True)
class Paint:
    """Colours text, or leaves it as it is."""

    colour: bool

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_ANSI[style]}m{text}\x1b[0m" if self.colour else text


def printable(text: str) -> str:
    """Replace what would steer the terminal instead of being shown (escapes, line breaks, direction marks)."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def is_private(text: str) -> bool:
    """Say whether text holds a private key, which must be shown nowhere."""
    return "PRIVATE KEY" in text


def quoted(value: object) -> str:
    """Write a value as in YAML, between backticks, cut to a readable length."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = "(a private key)" if is_private(text) else printable(text)
    return f"`{text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + '…'}`"


def listed(words: Iterable[object]) -> str:
    """List words for a sentence: a, b and c."""
    names = [str(word) for word in words]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def near(word: str, candidates: Iterable[str], *, likeness: float = LIKE_ENOUGH) -> str | None:
    """Find the candidate that was probably meant: one that is a part of the word (`h100` of `nvidia-h100-80gb`), or is written nearly like it.

    Args:
        likeness: how alike they must be, from 0 to 1; from `LIKE_ENOUGH` upwards only words that are alike as wholes count.
    """
    import difflib

    if len(word) > _LONGEST_NAME:
        return None
    folded = _folded(word)
    by_folded = {_folded(candidate): candidate for candidate in candidates}
    parts = [candidate for candidate in by_folded if f"-{candidate}-" in f"-{folded}-"] if likeness <= LIKE_ENOUGH else []
    matches = [max(parts, key=len)] if parts else difflib.get_close_matches(folded, by_folded, n=1, cutoff=likeness)
    return by_folded[matches[0]] if matches else None


def _folded(word: str) -> str:
    return word.lower().replace("_", "-").replace(" ", "-")


def is_slip(word: str, other: str) -> bool:
    """Say whether one word is the other with two letters swapped, or with one letter too many or too few; digits are no slips."""
    if len(word) == len(other):
        places = [place for place, (mine, yours) in enumerate(zip(word, other, strict=True)) if mine != yours]
        return len(places) == 2 and places[1] == places[0] + 1 and word[places[0]] == other[places[1]] and word[places[1]] == other[places[0]]
    longer, shorter = (word, other) if len(word) > len(other) else (other, word)
    if len(longer) != len(shorter) + 1:
        return False
    return any(longer[:place] + longer[place + 1 :] == shorter and longer[place].isalpha() for place in range(len(longer)))


def did_you_mean(word: str, candidates: Iterable[str], *, allowed: str) -> str:
    """Write the remedy for an unknown word: the near one if there is any, and the list.

    Args:
        allowed: how the list is introduced (`allowed here`).
    """
    names = sorted(candidates)
    meant = near(word, names)
    suggestion = f"did you mean {quoted(meant)}? " if meant else ""
    return f"{suggestion}{allowed}: {', '.join(names)}"


def underlined(text: str, column: int, width: int) -> tuple[str, str]:
    """Cut a source line around a place and give the line that marks the place below it.

    Args:
        column: where the place begins, counted from 1.
        width: its length in characters.
    """
    start = max(0, column - 1 - _LINE_WIDTH // 2) if len(text) > _LINE_WIDTH else 0
    shown = printable(text[start : start + _LINE_WIDTH].replace("\t", " "))
    before = column - 1 - start
    marked = max(1, min(width, len(shown) - before))
    margin = "…" if start else ""
    end = "…" if start + _LINE_WIDTH < len(text) else ""
    return f"{margin}{shown}{end}", f"{' ' * (len(margin) + _columns(shown[:before]))}{'^' * max(1, _columns(shown[before : before + marked]))}"


def _columns(text: str) -> int:
    """Count the columns that text takes on a terminal: East Asian wide characters take two, combining marks none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)
