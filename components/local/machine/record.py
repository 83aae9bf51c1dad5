"""Small JSON records that are there whole or not at all, also after a kill or a power cut."""

import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...files import atomic_files


def write(path: Path, value: Any, *, mode: int = 0o600) -> None:
    atomic_files.write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n", mode=mode)


def read(path: Path) -> Any | None:
    """Give the record, or None when there is none or it is not readable as one."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None


@contextlib.contextmanager
def lock(path: Path) -> Iterator[int]:
    """Hold a machine-wide lock and give its descriptor; the kernel releases it when the process ends, however it ends, and all that it was handed to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
