"""Characters that look like those of the language and are others: Cyrillic and Greek letters, full-width forms, typographic dashes, quotes and spaces; and those
that nobody sees.
"""

import dataclasses
import unicodedata
from collections.abc import Container

from . import finding, message_text
from .codes import Code
from .finding import Position

_CYRILLIC = dict(
    zip(
        "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d",
        "ABESIJKMHOPCTXYaeopcxyijshdqw",
        strict=True,
    )
)
"""Letters that Unicode lists as confusable with Latin ones (UTS #39, confusables.txt), as are the Greek ones."""
_GREEK = dict(zip("\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u03b1", "ABEZHIKMNOPTYXova", strict=True))
_MARKS = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63", "-"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2018\u2019\u201b", "'"),
    **dict.fromkeys("\u2236\u02d0\ua789", ":"),
    **dict.fromkeys("\u201a\u060c", ","),
    **dict.fromkeys("\u2044\u2215", "/"),
}
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_TABLE = {**_CYRILLIC, **_GREEK, **_MARKS, **dict.fromkeys(_SPACES, " ")}
_STRUCTURE = ":,[]{}"
_INVISIBLE = ("Cf", "Mn")
"""Unicode's categories of characters without a width: zero-width spaces and joiners, direction marks, soft hyphens, variation selectors."""
_WHY = "the language reads ASCII letters, digits and marks; a character that only looks like one is another character, often from a word processor or keyboard layout"


def of(character: str) -> str | None:
    """Give the ASCII character that one looks like, nothing for one that isn't seen; None for ASCII itself and for characters that look like none."""
    if character.isascii():
        return None
    if character in _TABLE:
        return _TABLE[character]
    if unicodedata.category(character) in _INVISIBLE:
        return ""
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 and plain.isascii() else None


def folded(text: str) -> str:
    """Write a text with the ASCII characters that its own look like, without those that aren't seen."""
    return "".join(character if (meant := of(character)) is None else meant for character in text)


def first(text: str) -> int | None:
    """Find the first character that looks like an ASCII one."""
    return next((number for number, character in enumerate(text) if of(character) is not None), None)


def first_of_structure(text: str) -> int | None:
    """Find the first character in unquoted YAML that looks like one of its marks, like the space or dash that a line begins with, or like the space after a colon or dash."""
    start = len(text) - len(text.lstrip())
    for number, character in enumerate(text):
        meant = of(character)
        if meant is None:
            continue
        is_opening = number <= start and meant in (" ", "-")
        is_after_mark = meant in (" ", "") and (text[number - 1 : number] == ":" or text[start:number] == "-")
        if (meant and meant in _STRUCTURE) or is_opening or is_after_mark:
            return number
    return None


def refusal(where: Position, character: str) -> finding.Finding:
    """Say that a character only looks like one of the language's.

    Args:
        where: the place of the character, or of the text that holds it.
    """
    meant = of(character) or ""
    name = unicodedata.name(character, "a character without a name").capitalize()
    if not meant:
        what = f"here is a character that can't be seen (U+{ord(character):04X}, {name})"
        why = "it makes another word of the one that is shown; such characters come along when text is copied from a web page or a chat"
        return finding.Finding(finding.Level.ERROR, Code.LOOK_ALIKE, where, what, why, "delete it, or type the whole word again")
    what = f"{message_text.quoted(character)} (U+{ord(character):04X}, {name}) only looks like {_words(meant)}"
    return finding.Finding(finding.Level.ERROR, Code.LOOK_ALIKE, where, what, _WHY, f"type {_words(meant)} in its place")


def refusal_of_text(where: Position, text: str) -> finding.Finding:
    """Say which character of a text on one line is the first that only looks like another.

    Args:
        where: the place of the text.
    """
    character = text[first(text) or 0]
    column = where.text.find(character, where.column - 1)
    return refusal(dataclasses.replace(where, column=column + 1, width=1) if column >= 0 else where, character)


def explanation(text: str, known: Container[str]) -> str:
    """Name the character of a text that only looks like the one in a known word, to follow the text; empty if the text is like none."""
    return f": {refusal_of_text(Position('', text=text), text).what}" if first(text) is not None and folded(text) in known else ""


def _words(meant: str) -> str:
    return "a space" if meant == " " else f"`{meant}`"
