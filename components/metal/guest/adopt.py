"""Adopt a host for a stack, and record what finishing changed on it."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import os
import shlex
import uuid
from typing import TYPE_CHECKING, Any

from . import adoption, data, lost_mark, occupied, places, root_login
from .system import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .system import System


def adopt(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Mark the host as the stack's, keep what is there, and let the stack's key log in as root. An adopted host only gets the files again that it lacks.

    Args:
        order: `role`, `stack`, `owner` (the checkout that runs the stack), `token` (of the stack's site), `admin_key` (OpenSSH public key),
            `files` (what the host has before it is finished: `path`, `content` in Base64, `mode`), `program` (this program's own text),
            `adopted` and `munge_key`, by which a host is known whose mark and record somebody deleted (`lost_mark.is_still_ours`).
    Returns:
        `is_new` (no stack had the host before), `is_lost` (what was there before its adoption was recorded, and is not known now) and `born` (another one for each adoption).
    Raises:
        Refused: the host is another's, runs what the stack would take over, or has no space. Nothing was changed.
    """
    record, mark, role = adoption.Record(system), adoption.mark(system), str(order.get("role", ""))
    kept = record.read()
    is_new = mark is None and kept is None and not lost_mark.is_still_ours(system, order)
    is_lost = kept is None and not is_new
    require_owner(mark or (kept or {}).get("mark"), order)
    if is_new:
        occupied.require_free(system, role)
    if kept is None:
        adoption.require_space(system)
        kept = _first(system, new_mark(order), record) if is_new else lost_mark.record(system, mark or new_mark(order), record, role)
        data.take_back(system, kept["mark"])
    kept.pop("plan", None)  # of a release that was cut off: the host is the stack's again
    # The record is first: a host with a mark and without a record could not become what it was.
    record.write(kept)
    adoption.write_mark(system, kept["mark"])
    keep_program(system, str(order.get("program", "")))
    for file in order.get("files", ()):
        _write(system, file)
    if order.get("admin_key"):
        root_login.allow(system, str(order["admin_key"]))
    return {"is_new": is_new, "is_lost": is_lost, "born": kept["mark"]["born"], "adopted_at": kept["mark"]["adopted_at"]}


def _first(system: System, mark: Mapping[str, Any], record: adoption.Record) -> dict[str, Any]:
    """Describe a host that no stack had before."""
    before = adoption.snapshot(system, record.contents)
    return {"mark": mark, "before": before, "left": None, "is_open": True, "is_complete": True, "others": adoption.others(system)}


def open_for_changes(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Open the next round of changes, unless one is open: what others changed since the last one is theirs.

    Args:
        order: `token`.
    Raises:
        Refused: the host is not the stack's.
    """
    records = adoption.Record(system)
    kept = records.read()
    require_owner(adoption.mark(system) or (kept or {}).get("mark"), order)
    if kept is not None and not kept["is_open"]:
        records.write(open_round(kept, adoption.snapshot(system, records.contents)))
    return {}


def record(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Record what a finishing left, so that a release can tell it from what others change later. Without an open round nothing is recorded: what changed since is others'.

    Args:
        order: `token`.
    Returns:
        how many places and packages are the stack's; nothing where no round was open.
    Raises:
        Refused: the host is not the stack's.
    """
    records = adoption.Record(system)
    kept = records.read()
    require_owner(adoption.mark(system) or (kept or {}).get("mark"), order)
    if kept is None:
        raise Refused("this host was not adopted", why=f"{adoption.FOLDER} has no record", remedy="run `clusterwright up`, which adopts it")
    if not kept["is_open"]:
        return {}
    kept = close_round(kept, adoption.snapshot(system, records.contents))
    records.write(kept)
    records.prune(kept)
    left = kept["left"]
    return {
        "changed": {
            part: sum(left[part].get(one) != kept["before"][part].get(one) for one in {*left[part], *kept["before"][part]}) for part in ("places", "packages")
        }
    }


def write_mark_again(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Write the stack's mark where somebody removed it, as the record has it.

    Args:
        order: `token`.
    Raises:
        Refused: another stack has marked the host, or it has no record.
    """
    kept, mark = adoption.Record(system).read(), adoption.mark(system)
    require_owner(mark, order)
    if kept is None:
        raise Refused("this host was not adopted", why=f"{adoption.FOLDER} has no record", remedy="run `clusterwright up`, which adopts it")
    if mark is None:
        adoption.write_mark(system, kept["mark"])
    return {}


def restore_place(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Give a file the content that the record of this host has of it, where that is the wanted one.

    Drift checks record the checksum alone of what not everybody may read, such as the table of passwords; this record has the content, for a release.

    Args:
        order: `token`; `path`; `sha256` of the wanted content.
    Raises:
        Refused: the host is not the stack's, or its record has another content; nothing was changed.
    """
    records = adoption.Record(system)
    kept = records.read()
    require_owner(adoption.mark(system) or (kept or {}).get("mark"), order)
    path = str(order["path"])
    known = [part["places"].get(path, places.ABSENT) for part in ((kept or {}).get("left"), (kept or {}).get("before")) if part]
    entry = next((one for one in known if one.get("sha256") == order["sha256"]), None)
    why = places.restore(system, path, entry, records.contents) if entry else "no earlier state of the file has the content that it should have"
    if why:
        raise Refused(f"{path} can't be restored here", why=why, remedy="correct it on the host")
    return {}


def require_owner(mark: Mapping[str, Any] | None, order: Mapping[str, Any]) -> None:
    """Refuse a host that another stack or checkout adopted.

    Raises:
        Refused: with who has it, and how they release it.
    """
    if mark is None or mark.get("token") == order["token"]:
        return
    owner, stack = str(mark.get("owner", "")), str(mark.get("stack", ""))
    raise Refused(
        f"this host is owned by stack {stack} of {owner}",
        why=f"{adoption.MARK} says so, since {mark.get('adopted_at', 'an unknown time')}; the host was not changed",
        remedy=f"release it there: make --directory {shlex.quote(owner)} down STACK={stack}\n"
        f"or, if that stack no longer exists, on this host: sudo python3 {adoption.FOLDER}/release.py",
    )


def open_round(kept: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Begin another round of changes. Pure.

    What others changed since the last round, and the stack did not touch, is how the host was before from now on.
    """
    return {**kept, "is_open": True, "before": {part: _moved(kept["before"][part], kept["left"][part], now[part], part) for part in kept["before"]}}


def close_round(kept: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """End a round: everything is what the stack left. Pure."""
    return {**kept, "is_open": False, "left": {part: value for part, value in now.items() if part != "settings"} | {"settings": {}}}


def _moved(before: Any, left: Any, now: Any, part: str) -> Any:
    if part == "settings":
        return before  # only those that files name count, and those files are places
    if isinstance(before, list):
        stacks = set(before) ^ set(left)
        return sorted((set(before) & stacks) | (set(now) - stacks))
    moved = {}
    for key in {*before, *now}:
        is_stacks = left.get(key) != before.get(key) or key in places.OF_DAEMONS
        chosen = before.get(key) if is_stacks else now.get(key)
        if chosen is not None:
            moved[key] = chosen
    return moved


def new_mark(order: Mapping[str, Any]) -> dict[str, Any]:
    """Give the mark of an adoption that begins now."""
    return {
        "stack": order["stack"],
        "owner": order["owner"],
        "token": order["token"],
        "adopted_at": dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds"),
        "born": uuid.uuid4().hex,
    }


def _write(system: System, file: Mapping[str, Any]) -> None:
    """Write a file unless it is there as wanted."""
    path, content, mode = system.path(str(file["path"])), base64.b64decode(file["content"]), int(file["mode"])
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as stream:
        if stream.read() == content and os.fstat(stream.fileno()).st_mode & 0o7777 == mode:
            return
    os.makedirs(os.path.dirname(path), mode=0o755 if mode & 0o004 else 0o700, exist_ok=True)
    places.replace(path, content, mode=mode)


def keep_program(system: System, text: str) -> None:
    """Keep the program on the host, so that its administrator can release it without the stack's checkout."""
    os.makedirs(system.path(adoption.FOLDER), mode=0o700, exist_ok=True)
    places.replace(system.path(f"{adoption.FOLDER}/release.py"), text.encode(), mode=0o600)
