"""A blueprint's file to text: found, small, UTF-8, and nothing but text."""

import pathlib
import re
import stat

from . import finding
from .codes import Code

SIZE_LIMIT_BYTES = 1024 * 1024
"""A thousand times a usual blueprint."""

LINE_BREAK = re.compile("\r\n|[\r\n]")
"""Where lines end, as the YAML parser counts them where no doubtful ones are."""
DOUBTFUL_BREAK = re.compile("[\x85\u2028\u2029]")
"""Lines end there in YAML 1.1, and not in YAML 1.2 (section 5.4)."""
_NOT_ASCII_TEXT = re.compile("[^\t\n\r\x20-\x7e]")
_NOT_TEXT = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]"
"""Compiled only for the few files that need it: that takes longer than all checks of a usual blueprint."""


def read(path: pathlib.Path, file: str) -> bytes:
    """Give the bytes of a blueprint's file.

    Args:
        file: the name that positions carry.
    Raises:
        finding.Invalid: the file is missing, unreadable, no plain file, or larger than SIZE_LIMIT_BYTES.
    """
    where = finding.Position(file)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a plain file (a device, pipe or socket)"
            raise _refusal(Code.FILE_UNREADABLE, where, f"the blueprint is {kind}", "a blueprint is one YAML file", "name the file itself")
        with path.open("rb") as opened:
            content = opened.read(SIZE_LIMIT_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        why = "nothing of this name exists"
        raise _refusal(Code.FILE_MISSING, where, "there is no such file", why, "check the path, or name a blueprint of the library") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refusal(Code.FILE_UNREADABLE, where, "the file can't be read", f"the operating system reports: {reason}", "make the file readable") from None
    if len(content) > SIZE_LIMIT_BYTES:
        what = f"the file is larger than {SIZE_LIMIT_BYTES // 1024} KiB"
        why = "a blueprint describes a cluster in some hundred lines; a file of this size is something else"
        raise _refusal(Code.FILE_TOO_LARGE, where, what, why, "name the right file")
    return content


def decode(content: bytes, file: str) -> tuple[str, list[finding.Finding]]:
    """Give the text, and what was noticed about its encoding and can be lived with.

    Raises:
        finding.Invalid: it is not UTF-8, or holds characters that text doesn't have.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        why = "it begins with the byte order mark of UTF-16; blueprints are UTF-8"
        raise _refusal(Code.ENCODING, finding.Position(file, 1, 1), "the file is in UTF-16", why, "save it as UTF-8")
    noticed = []
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
        first = finding.Position(file, 1, 1)
        why = "it isn't needed in UTF-8, and other tools stumble over it"
        what = "the file begins with a byte order mark"
        noticed.append(finding.Finding(finding.Level.WARNING, Code.BYTE_ORDER_MARK, first, what, why, "save it as UTF-8 without one"))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        where = _place_after(before, file)
        what = f"byte 0x{content[error.start]:02x} is not UTF-8"
        why = "blueprints are text in UTF-8; this is another encoding, or no text at all"
        raise _refusal(Code.ENCODING, where, what, why, "save the file as UTF-8") from None
    if odd := _NOT_ASCII_TEXT.search(text) if text.isascii() else re.search(_NOT_TEXT, text):
        what = f"the file holds the character U+{ord(odd[0]):04X}"
        why = "text has no control characters; this may be a binary file"
        raise _refusal(Code.CONTROL_CHARACTER, _place_after(text[: odd.start()], file), what, why, "take the character out, or name the right file")
    return text, noticed


def refuse_doubtful_breaks(text: str, file: str) -> None:
    """Refuse what only some readers of YAML take for the end of a line, and editors show as nothing.

    Raises:
        finding.Invalid: the text has one.
    """
    if not text.isascii() and (odd := DOUBTFUL_BREAK.search(text)):
        name = {"\x85": "Next line", "\u2028": "Line separator", "\u2029": "Paragraph separator"}[odd[0]]
        what = f"here is a line break that can't be seen (U+{ord(odd[0]):04X}, {name})"
        why = "YAML 1.1 ends a line there and YAML 1.2 doesn't; it comes along when text is copied from a word processor or a web page"
        raise _refusal(Code.CONTROL_CHARACTER, _place_after(text[: odd.start()], file), what, why, "delete it, or break the line with the Enter key")


def _place_after(text: str, file: str) -> finding.Position:
    lines = LINE_BREAK.split(text)
    return finding.Position(file, len(lines), len(lines[-1]) + 1)


def _refusal(code: Code, where: finding.Position, what: str, why: str, remedy: str) -> finding.Invalid:
    return finding.Invalid([finding.Finding(finding.Level.ERROR, code, where, what, why, remedy)])
