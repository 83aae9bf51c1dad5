"""When hosts were switched: a broken host must not be cycled again and again. The file is beside the stack's keys in this checkout."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.bmc.model import Action
from components.files import atomic_files

FILE = "power.json"
KEPT = 500


def cycles(folder: Path) -> Mapping[str, Sequence[dt.datetime]]:
    """Give when each host was cycled."""
    found: dict[str, list[dt.datetime]] = {}
    for entry in _entries(folder):
        if entry["action"] == Action.CYCLE:
            found.setdefault(entry["host"], []).append(dt.datetime.fromisoformat(entry["at"]))
    return found


def add(folder: Path, host: str, action: Action, moment: dt.datetime) -> None:
    """Record that a host is switched; called before it is, so that a killed run counts."""
    entries = [*_entries(folder), {"host": host, "action": str(action), "at": moment.isoformat(timespec="seconds")}]
    atomic_files.write_text(folder / FILE, json.dumps(entries[-KEPT:], indent=1), mode=0o600)


def _entries(folder: Path) -> list[dict[str, str]]:
    try:
        found: list[dict[str, str]] = json.loads((folder / FILE).read_text())
    except (OSError, ValueError):
        return []
    return found
