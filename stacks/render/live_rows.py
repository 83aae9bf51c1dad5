"""Lines at the bottom of a terminal that are replaced while an operation runs; lines that stay go above them."""

import shutil
from collections.abc import Sequence
from typing import TextIO

ROWS_AT_MOST = 12
_UP_AND_CLEAR = "\x1b[{}A\x1b[J"


class LiveRows:
    """The rows on one terminal."""

    def __init__(self, terminal: TextIO):
        self._terminal = terminal
        self._shown = 0

    def show(self, rows: Sequence[str], *, above: Sequence[str] = ()) -> None:
        """Replace the rows, and write lines that stay above them."""
        size = shutil.get_terminal_size()
        most = max(1, min(ROWS_AT_MOST, size.lines - 2))
        shown = [*rows[:most], *([f"    … and {len(rows) - most} more"] if len(rows) > most else [])]
        cleared = _UP_AND_CLEAR.format(self._shown) if self._shown else ""
        self._terminal.write(cleared + "".join(f"{line}\n" for line in (*above, *(row[: size.columns - 1] for row in shown))))
        self._terminal.flush()
        self._shown = len(shown)
