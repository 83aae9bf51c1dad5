"""Adopt a host for a stack, and record what finishing changed on it."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import os
import shlex
import uuid
from typing import TYPE_CHECKING, Any

from . import adoption, data, occupied, places, root_login
from .system import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .system import System

MUNGE_KEY = "/etc/munge/munge.key"
"""Where munge reads its key. The stack's own copy has the same name."""


def adopt(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Mark the host as the stack's, keep what is there, and let the stack's key log in as root. An adopted host only gets the files again that it lacks.

    Args:
        order: `role`, `stack`, `owner` (the checkout that runs the stack), `token` (of the stack's site), `admin_key` (OpenSSH public key),
            `files` (what the host has before it is finished: `path`, `content` in Base64, `mode`), `program` (this program's own text),
            `adopted` (machine ids of the hosts that the stack's record names: what runs there is the stack's also where somebody deleted mark and record).
    Returns:
        `is_new` (no stack had the host before), `is_lost` (what was there before its adoption was recorded, and is not known now) and `born` (another one for each adoption).
    Raises:
        Refused: the host is another's, runs what the stack would take over, or has no space. Nothing was changed.
    """
    record, mark = adoption.Record(system), adoption.mark(system)
    kept = record.read()
    is_new = mark is None and kept is None and not _was_adopted(system, order)
    is_lost = kept is None and not is_new
    require_owner(mark or (kept or {}).get("mark"), order)
    if is_new:
        occupied.require_free(system, str(order.get("role", "")))
        adoption.require_space(system)
    if kept is None:
        kept = _first(system, mark or _new_mark(order), record) if is_new else again(system, mark or _new_mark(order), record, str(order.get("role", "")))
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


def again(system: System, mark: Mapping[str, Any], record: adoption.Record, role: str) -> dict[str, Any]:
    """Describe a host whose record somebody deleted. What its first adoption would have refused was not there then, and leaves with the stack."""
    now = adoption.snapshot(system, record.contents)
    now["places"] = {path: entry for path, entry in now["places"].items() if not adoption.is_own(path)}
    before = occupied.without(now, role)
    return {"mark": mark, "before": before, "left": None, "is_open": True, "is_complete": False, "others": []}


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


def _was_adopted(system: System, order: Mapping[str, Any]) -> bool:
    """Say whether the stack's record names this installation and no other cluster has it now: the key of munge would be another one."""
    if adoption.machine_id(system) not in order.get("adopted", ()):
        return False
    try:
        with open(system.path(MUNGE_KEY), "rb") as stream:
            key = stream.read()
    except FileNotFoundError:
        return True
    name = os.path.basename(MUNGE_KEY)
    return any(base64.b64decode(file["content"]) == key for file in order.get("files", ()) if os.path.basename(str(file["path"])) == name)


def _new_mark(order: Mapping[str, Any]) -> dict[str, Any]:
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
