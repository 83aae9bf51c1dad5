"""The program on a host: one order comes in, one answer goes out."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from . import adopt, host_facts, release
from .system import CommandFailed, Refused, System

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCK = "/run/clusterwright-adoption.lock"
LOOK_AFTER_S, LOOK_EVERY_S = 20, 0.1
WITHOUT_ANSWER = ("open", "record", "restore")
"""Orders whose caller wants to know only whether they were carried out."""
WORK = {
    "adopt": adopt.adopt,
    "open": adopt.open_for_changes,
    "record": adopt.record,
    "mark": adopt.write_mark_again,
    "restore": adopt.restore_place,
    "release": release.release,
}


def main(order: Mapping[str, Any], *, mark: str) -> None:
    """Carry out an order and print the answer as JSON on one line.

    Args:
        order: `do` (`adopt`, `open`, `record`, `mark`, `restore`, `release` or `look`) with what that needs, and `root`, the folder of the host's file system (default: `/`).
        mark: begins the line.
    """
    print(mark + json.dumps(answer(order)), flush=True)


def answer(order: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out an order. The answer has `ok`; where that is false, `refused` says what, why and what to do."""
    system = System(str(order.get("root", "/")))
    try:
        if order["do"] == "look":
            _wait_for_work(system)
            return {"ok": True, **host_facts.look(system)}
        with _only_one(system):
            done = WORK[str(order["do"])](system, order)
            return {"ok": True, **({} if order["do"] in WITHOUT_ANSWER else host_facts.look(system)), **done}
    except Refused as refused:
        return {"ok": False, "refused": {"what": refused.what, "why": refused.why, "remedy": refused.remedy}}
    except (CommandFailed, OSError) as error:
        return {
            "ok": False,
            "refused": {"what": "the work on this host stopped half-way", "why": str(error), "remedy": "run the same command again: it goes on"},
        }


def by_hand() -> None:
    """Work on the host this runs on, whoever has it: `release` for its administrator, `open` and `record` around each finishing, `mark` and `restore PATH SHA256` to repair it."""
    from . import adoption

    word = sys.argv[1] if len(sys.argv) > 1 else "release"
    record = adoption.Record(System()).read()
    token = (record or {}).get("mark", {}).get("token") or (adoption.mark(System()) or {}).get("token", "")
    found = answer({"do": word, "token": token, **dict(zip(("path", "sha256"), sys.argv[2:], strict=False))})
    if not found["ok"]:
        sys.exit("error: {what}\n  why: {why}\n  do:  {remedy}".format(**found["refused"]))
    if word != "release":
        return
    print("this host is released" if found["state"] == "released" else "no stack has adopted this host")
    for one in found["stays"]:
        print(f"  {one['what']} stays: {one['why']}")
    for one in found["kept"]:
        print(f"  data is kept in {one}")


def _wait_for_work(system: System) -> None:
    """Let a run that adopts or releases the host end first, for a while: one whose caller was killed goes on here, and what it does is not seen yet."""
    with contextlib.suppress(OSError), open(system.path(LOCK), encoding="utf-8") as lock:
        deadline = time.monotonic() + LOOK_AFTER_S
        while time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            time.sleep(LOOK_EVERY_S)


class _only_one:  # noqa: N801  # used as a function
    """Wait until no other run of the program works on the host: one whose caller was killed goes on here."""

    def __init__(self, system: System):
        path = system.path(LOCK)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115  # closed at the end of the block

    def __enter__(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()
