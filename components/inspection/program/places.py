"""Files, links and folders that differ from the host's records."""

import fnmatch
import functools
import grp
import os
import pwd
import re
import stat
from typing import Any

from ansible.module_utils import host_places

from .digests import Digests


def differing(installed: dict[str, Any], written: dict[str, Any], digests: Digests) -> list[dict[str, Any]]:
    """Give the places that differ from their records. What a role wrote counts more than what the installation left."""
    actual = _places(digests)
    for path in written:
        if path not in actual and (described := _describe(path, digests)) is not None:
            actual[path] = described  # a role may write outside of the roots
    found = differences({**installed, **written}, actual, written=set(written))
    for one in found:  # with the text, which shows what differs line by line
        if one["actual"] and one["actual"]["kind"] == "file":
            one["actual"] = host_places.describe(one["path"]) or one["actual"]
    return found


def differences(recorded: dict[str, Any], actual: dict[str, Any], *, written: set[str]) -> list[dict[str, Any]]:
    """Compare descriptions of places, path by path. Pure."""
    found: list[dict[str, Any]] = []
    # Folders that were made on the way to a place that was written.
    made = {parent for path in written for parent in _parents(path)}
    for path in sorted({*recorded, *actual}):
        before, now = recorded.get(path), actual.get(path)
        if is_left_out(path) or (before is None and path in made):
            continue
        if before == host_places.ABSENT:
            before = None
        if _core(before) != _core(now):
            found.append({"path": path, "recorded": before, "actual": now, "written": path in written})
    # A folder that went or came says the same of all that was in it.
    whole = {one["path"] for one in found if (one["recorded"] or one["actual"])["kind"] == "folder" and not (one["recorded"] and one["actual"])}
    return [one for one in found if os.path.dirname(one["path"]) not in whole]


def _parents(path: str) -> list[str]:
    parents = []
    while (path := os.path.dirname(path)) not in ("", "/"):
        parents.append(path)
    return parents


def _core(place: dict[str, Any] | None) -> dict[str, Any] | None:
    """Leave out what describes the same thing again."""
    return None if place is None else {name: value for name, value in place.items() if name != "text"}


_LEFT_OUT = re.compile("|".join(map(fnmatch.translate, host_places.LEFT_OUT)))


def is_left_out(path: str) -> bool:
    return _LEFT_OUT.match(path) is not None


def _places(digests: Digests) -> dict[str, dict[str, Any]]:
    found = {}
    for root in host_places.ROOTS:
        for folder, folders, files in os.walk(root):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                if not is_left_out(path) and (described := _describe(path, digests)) is not None:
                    found[path] = described
    return found


def described(paths: list[str], digests: Digests) -> list[dict[str, Any] | None]:
    """Describe what is at these paths, without its text, and what a link among them leads to; None: nothing that can be read."""
    found: list[dict[str, Any] | None] = []
    for path in paths:
        for place in dict.fromkeys((path, os.path.realpath(path) if os.path.islink(path) else path)):
            try:
                found.append(_describe(place, digests))
            except OSError:
                found.append(None)
    return found


def _describe(path: str, digests: Digests) -> dict[str, Any] | None:
    """Describe a place as `host_places.describe` does, without its text and with a remembered checksum."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return {"kind": "link", "link": os.readlink(path)}
        attributes = {"mode": f"{stat.S_IMODE(status.st_mode):04o}", "owner": _owner(status.st_uid), "group": _group(status.st_gid)}
        if stat.S_ISREG(status.st_mode):
            return {"kind": "file", **attributes, "sha256": digests.of(path, status)}
        return {"kind": "folder" if stat.S_ISDIR(status.st_mode) else "special", **attributes}
    except (FileNotFoundError, NotADirectoryError):
        return None


@functools.cache
def _owner(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@functools.cache
def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
