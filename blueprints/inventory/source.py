"""The text of an inventory: from a file beside the blueprint, or printed by a command."""

import bisect
import dataclasses
import pathlib
import stat
import subprocess
from collections.abc import Sequence

from .. import content, document, finding, library, message_text, project
from ..codes import Code

SIZE_LIMIT_BYTES = 64 * 1024 * 1024
"""A record of NetBox has about 4 KB: more than 10,000 hosts."""
COMMAND_TIMEOUT_S = 60
_SHOWN_LINES = 3
"""Of what a failing command wrote."""


@dataclasses.dataclass(slots=True)
class Text:
    """An inventory as text, and where in it a host is."""

    text: str
    source: document.Source
    asked: finding.Position
    """Where the blueprint names it."""
    _from: int = 0
    _starts: list[int] = dataclasses.field(default_factory=list)

    @property
    def start(self) -> document.Mark:
        return document.Mark(0, 0, 1)

    def place(self, name: str) -> document.Place:
        """Find a host. Hosts follow each other mostly in the order in which they are asked for."""
        for form in (f'"{name}"', f"{name}:", name):
            found = self.text.find(form, self._from)
            if found < 0:
                found = self.text.find(form)
            if found >= 0:
                self._from = found
                return document.Place(None, self._mark(found, len(form.rstrip(":"))), self.source)
        return document.Place(None, self.start, self.source)

    def position(self, offset: int) -> finding.Position:
        return document.position(self.source.file, self.source.lines, self._mark(offset, 1))

    def refusal(self, what: str, why: str, remedy: str, *, offset: int = 0) -> finding.Invalid:
        """Make the error that this inventory can't be used."""
        return finding.Invalid([finding.Finding(finding.Level.ERROR, Code.INVENTORY_UNREADABLE, self.position(offset), what, why, remedy)])

    def _mark(self, offset: int, width: int) -> document.Mark:
        if not self._starts:
            self._starts = [0]
            for line in self.source.lines:
                self._starts.append(self._starts[-1] + len(line) + 1)
        number = bisect.bisect_right(self._starts, offset) - 1
        return document.Mark(number, offset - self._starts[number], width)


def of_file(name: str, folder: pathlib.Path, where: finding.Position) -> Text:
    """Read a file of the blueprint's own folder, so that a blueprint from somewhere else can't show what is on this machine.

    Raises:
        finding.Invalid: it lies elsewhere, is missing, is no plain file, is too large, or isn't text.
    """
    path = folder / name
    if pathlib.PurePath(name).name != name or not library.lies_in(path, folder):
        what = f"{message_text.quoted(name)} is not a file in the blueprint's own folder"
        raise _refusal(
            where, what, "a blueprint can read only files in its own folder, also through links", "put both files in one folder and write only the file name"
        )
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise _refusal(where, f"{message_text.quoted(name)} is not a plain file", "an inventory is one file of text", "write the name of the file")
        with path.open("rb") as opened:
            written = opened.read(SIZE_LIMIT_BYTES + 1)
    except FileNotFoundError:
        why = "the inventory of the blueprint is in it"
        near = [one.name for one in sorted(folder.iterdir()) if one.is_file()]
        meant = message_text.near(name, near)
        remedy = f"did you mean {message_text.quoted(meant)}?" if meant else "create the file in the blueprint's folder, or remove the key"
        raise _refusal(where, f"there is no file {message_text.quoted(name)} in the blueprint's folder", why, remedy) from None
    except OSError as error:
        raise _refusal(
            where, f"{message_text.quoted(name)} can't be read", f"the operating system reports: {error.strerror}", "make the file readable"
        ) from None
    return _text(written, project.shown_path(path), where)


def of_command(words: Sequence[str], folder: pathlib.Path, where: finding.Position) -> Text:
    """Run a command in the blueprint's folder, and take what it prints. No shell reads its words.

    Raises:
        finding.Invalid: it can't be run, fails, takes too long, or prints something else than text.
    """
    shown = f"`{' '.join(words)}`"
    try:
        done = subprocess.run(list(words), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        why = f"it was stopped after {COMMAND_TIMEOUT_S} seconds"
        raise _refusal(where, f"the inventory command {shown} takes too long", why, "let it write a file, and name the file as `inventory.file`") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        remedy = "write the path of a program (./inventory.sh in the blueprint's folder), and make it executable"
        raise _refusal(where, f"the inventory command {shown} can't be run", f"the operating system reports: {why}", remedy) from None
    if done.returncode:
        said = [message_text.printable(line) for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        why = f"it ended with status {done.returncode}" + (f" and said: {' / '.join(said[-_SHOWN_LINES:])}" if said else " and said nothing")
        raise _refusal(where, f"the inventory command {shown} failed", why, "run it yourself in the blueprint's folder, and correct it")
    return _text(done.stdout, f"output of {shown}", where)


def _text(written: bytes, file: str, where: finding.Position) -> Text:
    if len(written) > SIZE_LIMIT_BYTES:
        why = "it is larger than any list of hosts"
        raise _refusal(where, f"{file} has more than {SIZE_LIMIT_BYTES // 1024**2} MiB", why, "select the hosts of the cluster only")
    text, _ = content.decode(written, file)
    return Text(text, document.Source(file, tuple(text.split("\n"))), where)


def _refusal(where: finding.Position, what: str, why: str, remedy: str) -> finding.Invalid:
    return finding.Invalid([finding.Finding(finding.Level.ERROR, Code.INVENTORY_UNREADABLE, where, what, why, remedy)])
