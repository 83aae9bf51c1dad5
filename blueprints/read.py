"""YAML text to plain values with positions.

A blueprint is plain data: no anchors, aliases, merge keys or tags, so that it says what it means where it says it, and can't grow in memory. Values follow
YAML 1.2's core schema with decimal numbers only: `no` and `on` are text, times and dates are text, `0123` is text (other readers disagree about it).
The events of the C parser are consumed without recursion, so that no nesting and no size of input can exhaust the stack.
"""

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import yaml

from . import content, document, finding, lookalikes, message_text, project, syntax
from .codes import Code
from .document import Mark, Path, Place

DEPTH_LIMIT = 24

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]{1,18}\.[0-9]*|[0-9]{1,18}(?=[eE]))([eE][-+]?[0-9]{1,4})?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, **dict.fromkeys(["null", "Null", "NULL"])}
_WORDS |= dict.fromkeys(["true", "True", "TRUE"], True) | dict.fromkeys(["false", "False", "FALSE"], False)
_NAMED_FLOATS = {".nan", ".NaN", ".NAN", *(f"{sign}{word}" for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF"))}


def read(path: pathlib.Path) -> document.Document:
    """Read a blueprint's file.

    Raises:
        finding.Invalid: the file is missing or unreadable, too large, not UTF-8, or not plain YAML; with everything that is wrong.
    """
    file = project.shown_path(path)
    return from_bytes(content.read(path, file), file=file)


def from_bytes(written: bytes, *, file: str) -> document.Document:
    """Read a blueprint from what its file holds.

    Args:
        file: the name that positions carry.
    Raises:
        finding.Invalid: as `read`.
    """
    text, noticed = content.decode(written, file)
    content.refuse_doubtful_breaks(text, file)
    lines = tuple(content.LINE_BREAK.split(text))
    source = document.Source(file, lines)
    reader = _Reader(source)
    try:
        reader.consume(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.MarkedYAMLError as error:
        reader.findings.append(syntax.explain(error, file=file, lines=lines))
    except _Stop:
        pass
    findings = finding.in_order([*noticed, *reader.findings])
    if finding.is_fatal(findings):
        raise finding.Invalid(findings)
    return document.Document(source, reader.root, reader.places, findings=findings)


class _Stop(Exception):
    """Nothing after this place can be understood."""


class _Frame:
    """A mapping or list that is being filled."""

    __slots__ = ("container", "key", "key_mark", "path", "skips")

    def __init__(self, path: Path, container: Any, *, skips: bool) -> None:
        self.path = path
        self.container = container
        self.key: str | None = None
        self.key_mark: Mark | None = None
        self.skips = skips
        """Its entries are refused already (under a duplicate key, or inside a key) and kept nowhere."""

    @property
    def expects_key(self) -> bool:
        return isinstance(self.container, dict) and self.key is None


class _Reader:
    """Fills containers from parser events, keeping a stack of its own."""

    def __init__(self, source: document.Source) -> None:
        self.source = source
        self.root: Any = None
        self.places: dict[Path, Place] = {}
        self.findings: list[finding.Finding] = []
        self._frames: list[_Frame] = []
        self._documents = 0

    def consume(self, events: Iterator[yaml.Event]) -> None:
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.MappingStartEvent):
                self._open(event, {})
            elif isinstance(event, yaml.SequenceStartEvent):
                self._open(event, [])
            elif isinstance(event, yaml.CollectionEndEvent):
                self._frames.pop()
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self._document(event)
        if not self._documents or (self.root is None and not self.findings):
            why = "it has no lines but blank ones and comments"
            remedy = "write a blueprint, or copy one from blueprints/library"
            where = finding.Position(self.source.file, 1, 1)
            self.findings.append(finding.Finding(finding.Level.ERROR, Code.FILE_EMPTY, where, "the file holds no blueprint", why, remedy))

    def _document(self, event: yaml.Event) -> None:
        self._documents += 1
        if self._documents > 1:
            why = "one file describes one cluster; `---` begins a second document"
            self._refuse(Code.SEVERAL_DOCUMENTS, _mark(event), "a second document begins here", why, "put each blueprint into a file of its own")
            raise _Stop

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._plain(event)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.expects_key:
            self._key(frame, event)
        else:
            self._store(_value(event), _mark(event))

    def _key(self, frame: _Frame, event: yaml.ScalarEvent) -> None:
        mark = _mark(event)
        name = event.value
        if name == "<<" and event.implicit[0]:
            why = "a blueprint is plain data: a pool is described in one place, the pool"
            self._refuse(Code.ALIAS, mark, "merge keys are not part of the language", why, "write the values out")
        odd = lookalikes.first_of_structure(name) if event.implicit[0] else None
        if odd is not None:
            place = Mark(mark.line, mark.column + odd, 1)
            self.findings.append(lookalikes.refusal(document.position(self.source.file, self.source.lines, place), name[odd]))
        frame.key, frame.key_mark = name, mark

    def _open(self, event: yaml.CollectionStartEvent, container: Any) -> None:
        self._plain(event)
        mark = _mark(event)
        if len(self._frames) >= DEPTH_LIMIT:
            why = f"no value of a blueprint is nested deeper than {DEPTH_LIMIT} levels"
            self._refuse(Code.TOO_DEEP, mark, "this is nested too deep", why, "check the brackets and the indentation")
            raise _Stop
        frame = self._frames[-1] if self._frames else None
        if frame is not None and frame.expects_key:
            if "{{" in self.source.lines[mark.line]:
                self._refuse(Code.KEY_NOT_TEXT, mark, "this is a variable", syntax.VARIABLE_WHY, syntax.VARIABLE_REMEDY)
            else:
                why = "keys are words"
                remedy = "write a word before the colon; quote it if it begins with [ or {"
                self._refuse(Code.KEY_NOT_TEXT, mark, "a mapping or list can't be a key", why, remedy)
            frame.key, frame.key_mark = "", mark
            self._frames.append(_Frame((), container, skips=True))
            # The key's own entries are skipped; the value that follows it is stored under the empty key.
            return
        path, skips = self._store(container, mark)
        self._frames.append(_Frame(path, container, skips=skips))

    def _store(self, value: Any, mark: Mark) -> tuple[Path, bool]:
        """Put a value into its place; give the path, and whether it was refused."""
        if not self._frames:
            self.root = value
            self.places[()] = Place(None, mark, self.source)
            return (), False
        frame = self._frames[-1]
        if isinstance(frame.container, list):
            path: Path = (*frame.path, len(frame.container))
            frame.container.append(value)
            key_mark = None
            skips = frame.skips
        else:
            key, key_mark = frame.key or "", frame.key_mark
            frame.key = frame.key_mark = None
            path = (*frame.path, key)
            skips = frame.skips or self._is_duplicate(frame, key, path, key_mark)
            if not skips:
                frame.container[key] = value
        if not skips:
            self.places[path] = Place(key_mark, mark, self.source)
        return path, skips

    def _is_duplicate(self, frame: _Frame, key: str, path: Path, key_mark: Mark | None) -> bool:
        if key not in frame.container or key in ("", "<<") or key_mark is None:
            return False
        first = self.places[path].key
        line = first.line + 1 if first else 0
        why = f"line {line} has it already; only one of the two could count"
        self._refuse(Code.DUPLICATE_KEY, key_mark, f"{message_text.quoted(key)} is here for the second time", why, "keep one of them, or rename one")
        return True

    def _alias(self, event: yaml.AliasEvent) -> None:
        mark = _mark(event)
        frame = self._frames[-1] if self._frames else None
        if frame is None or frame.key != "<<":  # a merge key is refused already
            why = "a blueprint is plain data: a pool is described in one place, the pool"
            self._refuse(Code.ALIAS, mark, "aliases (`*name`) are not part of the language", why, "write the value out; quote a text that begins with *")
        if frame is not None and frame.expects_key:
            frame.key, frame.key_mark = "", mark
        else:
            self._store(None, mark)

    def _plain(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.anchor is not None:
            why = "a blueprint is plain data: a pool is described in one place, the pool"
            self._refuse(Code.ALIAS, _mark(event), "anchors (`&name`) are not part of the language", why, "take it out; quote a text that begins with &")
        if event.tag is not None:
            why = "a blueprint is plain data: a value's type is seen from the value"
            self._refuse(Code.TAG, _mark(event), "tags (`!name`) are not part of the language", why, "take it out; quote a text that begins with !")

    def _refuse(self, code: Code, mark: Mark, what: str, why: str, remedy: str) -> None:
        where = document.position(self.source.file, self.source.lines, mark)
        self.findings.append(finding.Finding(finding.Level.ERROR, code, where, what, why, remedy))


def _mark(event: yaml.Event) -> Mark:
    start: Any = event.start_mark  # never None in events of a parser, whatever their type says
    end: Any = event.end_mark
    if isinstance(event, yaml.CollectionStartEvent):
        return Mark(start.line, start.column, 0)  # it extends over lines: its key is what to point at
    return Mark(start.line, start.column, end.column - start.column if start.line == end.line else 1)


def _value(event: yaml.ScalarEvent) -> Any:
    text = event.value
    if not event.implicit[0]:  # quoted, or a block of text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if text in _NAMED_FLOATS:
        return float(text.replace(".", "").lower())
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
