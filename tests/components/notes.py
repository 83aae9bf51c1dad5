"""Kinds of resources that are small and real: files in a folder.

What goes wrong with them goes wrong by itself: a folder lies where a file should be, a parent is missing, a pipe that nobody reads blocks.
"""

import dataclasses
import math
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from components.provider.kind import UNKNOWN, Kind, PartlyMade, Refused, Values, Work


@dataclasses.dataclass(frozen=True, slots=True)
class NoteInputs:
    path: str
    text: str = ""
    copy: str = ""
    """A second file, written after the first."""


class Note(Kind[NoteInputs]):
    """One file, and maybe a copy; an error goes up as it came."""

    token = "test:files:Note"
    inputs = NoteInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"path"})

    def identity(self, inputs: NoteInputs) -> str:
        return inputs.path

    def check(self, inputs: NoteInputs) -> Any:
        if not inputs.path.startswith("/"):
            yield "path", "the path is not absolute"
        if "\0" in inputs.text:
            raise Refused("no file of text holds a null byte")

    def expected(self, inputs: NoteInputs) -> Values:
        return {"found": inputs.text, "changed_at": UNKNOWN}

    def read(self, inputs: NoteInputs, outputs: Values) -> Values | None:
        path = Path(inputs.path)
        return {"found": path.read_text(), "changed_at": str(path.stat().st_mtime_ns)} if path.exists() else None

    def create(self, inputs: NoteInputs, work: Work) -> Values:
        work.say("writing")
        for path in filter(None, (inputs.path, inputs.copy)):
            Path(path).write_text(inputs.text)
        return self.read(inputs, {}) or {}

    def delete(self, inputs: NoteInputs, outputs: Values, work: Work) -> None:
        Path(inputs.path).unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True, slots=True)
class NotesInputs:
    folder: str
    names: tuple[str, ...]
    text: str = ""
    key: str = ""


class Notes(Kind[NotesInputs]):
    """Several files as one resource; only those that are not as they should be are written, and what failed is told file by file."""

    token = "test:files:Notes"
    inputs = NotesInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"folder"})

    def identity(self, inputs: NotesInputs) -> str:
        return inputs.folder

    def expected(self, inputs: NotesInputs) -> Values:
        return {"present": list(inputs.names), "content": UNKNOWN}

    def read(self, inputs: NotesInputs, outputs: Values) -> Values | None:
        folder = Path(inputs.folder)
        if not folder.is_dir():
            return None
        present = [name for name in inputs.names if (folder / name).is_file() and (folder / name).read_text() == inputs.text]
        return {"present": present, "content": inputs.text}

    def create(self, inputs: NotesInputs, work: Work) -> Values:
        folder = Path(inputs.folder)
        folder.mkdir(exist_ok=True)
        failures = []
        for name in inputs.names:
            path = folder / name
            if path.is_file() and path.read_text() == inputs.text:
                continue
            work.say(name)
            try:
                path.write_text(inputs.text)
            except OSError as error:
                failures.append(f"{name}: {error.strerror}")
        if failures:
            raise PartlyMade(*failures, outputs=self.read(inputs, {}) or {})
        return self.read(inputs, {}) or {}

    def delete(self, inputs: NotesInputs, outputs: Values, work: Work) -> None:
        for name in inputs.names:
            (Path(inputs.folder) / name).unlink(missing_ok=True)
        if Path(inputs.folder).is_dir():
            Path(inputs.folder).rmdir()


@dataclasses.dataclass(frozen=True, slots=True)
class KeyInputs:
    words: dict[str, Any]


class Key(Kind[KeyInputs]):
    """A secret that exists in the state alone, and what it was made of: a word may name a file that must exist, or ask for a value that is no state's."""

    token = "test:files:Key"
    inputs = KeyInputs
    secret_outputs: ClassVar[frozenset[str]] = frozenset({"value"})

    def identity(self, inputs: KeyInputs) -> str:
        return "key"

    def check(self, inputs: KeyInputs) -> Any:
        if "path" in inputs.words and not Path(inputs.words["path"]).stat().st_size:
            yield "words", "the file is empty"

    def expected(self, inputs: KeyInputs) -> Values:
        return {"value": UNKNOWN}

    def read(self, inputs: KeyInputs, outputs: Values) -> Values | None:
        return {}

    def create(self, inputs: KeyInputs, work: Work) -> Values:
        return {"value": math.inf if inputs.words.get("value") == "infinite" else secrets.token_hex()}

    def delete(self, inputs: KeyInputs, outputs: Values, work: Work) -> None:
        pass


@dataclasses.dataclass(frozen=True, slots=True)
class MeetingInputs:
    place: str
    guest: str


class Meeting(Kind[MeetingInputs]):
    """A folder in which somebody else must appear."""

    token = "test:files:Meeting"
    inputs = MeetingInputs
    fixed: ClassVar[frozenset[str]] = frozenset({"place"})
    timeout_s = 60

    def identity(self, inputs: MeetingInputs) -> str:
        return inputs.place

    def read(self, inputs: MeetingInputs, outputs: Values) -> Values | None:
        place = Path(inputs.place)
        return {"guests": sorted(path.name for path in place.iterdir())} if place.is_dir() else None

    def create(self, inputs: MeetingInputs, work: Work) -> Values:
        place = Path(inputs.place)
        place.mkdir(exist_ok=True)
        work.say("waiting")
        work.wait_until((place / inputs.guest).exists, awaiting=inputs.guest, within_s=60)
        work.tell(f"met for {work.title}")
        return self.read(inputs, {}) or {}

    def delete(self, inputs: MeetingInputs, outputs: Values, work: Work) -> None:
        work.say("waiting")
        work.wait_until(lambda: not (Path(inputs.place) / inputs.guest).exists(), awaiting="the guest to leave", within_s=60)
        Path(inputs.place).rmdir()


@dataclasses.dataclass(frozen=True, slots=True)
class LedgerInputs:
    path: str
    entries: dict[str, int]


class Ledger(Kind[LedgerInputs]):
    """A file of numbers by name, written by somebody who trusts it: what it holds is never looked at with care."""

    token = "test:files:Ledger"
    inputs = LedgerInputs

    def identity(self, inputs: LedgerInputs) -> str:
        return inputs.path

    def read(self, inputs: LedgerInputs, outputs: Values) -> Values | None:
        words = Path(inputs.path).read_text().split()
        return {"sum": sum(int(word) for word in words), "pages": outputs.get("pages", 0)}

    def create(self, inputs: LedgerInputs, work: Work) -> Values:
        total = inputs.entries["total"]
        Path(inputs.path).write_text(str(total))
        return {"sum": total, "pages": 1}

    def delete(self, inputs: LedgerInputs, outputs: Values, work: Work) -> None:
        Path(inputs.path).unlink()


def named() -> Callable[[str], Kind[Any]]:
    kinds: dict[str, Kind[Any]] = {kind.token: kind for kind in (Note(), Notes(), Key(), Meeting(), Ledger())}
    return kinds.__getitem__
