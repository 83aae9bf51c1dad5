"""A host whose mark and record somebody deleted: whether it is still the stack's, and what of it leaves with the stack."""

from __future__ import annotations

import base64
import fnmatch
import os
from typing import TYPE_CHECKING, Any

from . import adoption, occupied, places, root_login, units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .system import System

MUNGE_KEY = "/etc/munge/munge.key"


def is_still_ours(system: System, order: Mapping[str, Any]) -> bool:
    """Say whether a host without a mark runs what the stack installed.

    The stack's record must name the installation, and the host must have something that only this stack wrote: munge's key, or the line that lets the stack's key log in as root.
    A release removes both, and another cluster has another key of munge.

    Args:
        order: `adopted` (machine ids of the hosts that the stack's record names), `munge_key` (Base64) and `admin_key` of the stack, `role`.
    """
    if adoption.machine_id(system) not in order.get("adopted", ()) or not occupied.found(system, str(order.get("role", ""))):
        return False
    try:
        with open(system.path(MUNGE_KEY), "rb") as stream:
            return stream.read() == base64.b64decode(str(order.get("munge_key", "")))
    except FileNotFoundError:
        return root_login.is_allowed(system, str(order.get("admin_key", "")))


def record(system: System, mark: Mapping[str, Any], records: adoption.Record, role: str) -> dict[str, Any]:
    """Begin a new record of a host that the stack had before.

    What the first adoption refuses can't have been there before it, and neither can what has a name of the stack's own: both leave with the stack. All else counts as the owner's.
    """
    now = adoption.snapshot(system, records.contents)
    before = {
        **now,
        "packages": {name: package for name, package in now["packages"].items() if not occupied.is_refused(name, role)},
        "places": {path: entry for path, entry in now["places"].items() if not (_is_own(path, role) or _is_own(str(entry.get("link", "")), role))},
        "units": [name for name in now["units"] if not (name in occupied.units_of(role) or any(fnmatch.fnmatchcase(name, own) for own in units.OWN))],
    }
    return {"mark": mark, "before": before, "left": None, "is_open": True, "is_complete": False, "others": []}


def _is_own(path: str, role: str) -> bool:
    if os.path.basename(path) == "clusterwright" or places.is_in(path, (*adoption.OWN_FOLDERS, *occupied.folders_of(role))):
        return True
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in (*adoption.OWN_FILES, *adoption.OWN_PLACES))
