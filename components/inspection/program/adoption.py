"""What a server had before the stack adopted it, as its record says: that is its owner's, and no drift. Runs on the host."""

import datetime as dt
import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

from . import accounts, asking

FOLDER = "/var/lib/clusterwright/adoption"
"""Written by adopting (`components/metal/guest/adoption.py`)."""


def read() -> Mapping[str, Any]:
    """Give the record; empty where it is gone."""
    try:
        return dict(json.loads("\n".join(asking.lines(f"{FOLDER}/record.json"))))
    except (ValueError, TypeError):
        return {}


def moment_s(record: Mapping[str, Any]) -> float | None:
    """Give when the server was adopted, seconds since 1970; None: unknown."""
    try:
        return dt.datetime.fromisoformat(record["mark"]["adopted_at"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return None


def root_keys(record: Mapping[str, Any]) -> list[str]:
    """Give the lines of root's authorized keys from before."""
    try:
        digest = os.path.basename(record["before"]["places"][accounts.ROOT_KEYS]["sha256"])
        with open(f"{FOLDER}/contents/{digest}", "rb") as stream:
            return zlib.decompress(stream.read()).decode(errors="replace").splitlines()
    except (KeyError, TypeError, OSError, zlib.error):
        return []


def is_older(path: str, moment: float | None) -> bool:
    """Say whether a file is unchanged since a moment, its owner and mode included: no system call sets `ctime`."""
    try:
        return moment is not None and os.lstat(path).st_ctime < moment
    except OSError:
        return False
