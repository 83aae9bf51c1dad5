"""Text for people: safe for any terminal, short enough for one line, with words that come near a mistyped one."""

import dataclasses
import difflib
import json
import unicodedata
from collections.abc import Iterable

_ANSI = {"bold": "1", "red": "31;1", "yellow": "33;1", "cyan": "36;1"}
_LONGEST_QUOTE = 60
_LINE_WIDTH = 140
"""Columns of a quoted source line; of a longer one the part around the place is shown."""
_LONGEST_NAME = 64
"""Longer words are nobody's typing mistake, and comparing them takes long."""


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
    """Write a value as it stands in YAML, between backticks, cut to a readable length."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = "(a private key)" if is_private(text) else printable(text)
    return f"`{text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + '…'}`"


def listed(words: Iterable[object]) -> str:
    """List words for a sentence: a, b and c."""
    names = [str(word) for word in words]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def near(word: str, candidates: Iterable[str]) -> str | None:
    """Find the candidate that was probably meant."""
    if len(word) > _LONGEST_NAME:
        return None
    by_folded = {candidate.lower().replace("_", "-"): candidate for candidate in candidates}
    matches = difflib.get_close_matches(word.lower().replace("_", "-"), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


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
