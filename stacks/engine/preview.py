"""Ask the engine, without a lock and without a change, what differs: between the record and the real resources, and between the record and the program.

Both are asked through the engine's event log: its events hold what each property was and is, and they come for all other resources even when one can't be read.
"""

import dataclasses
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from components.provider import packed

from ..errors import EngineFailed
from . import commands

_PREFIX = re.compile(r"^(?:error: )?(?:Preview failed: )?(?:preview failed)?")
_FROM_PROVIDER = re.compile(r"^reading \S+ \([^)]*\): ")

Event = Mapping[str, Any]
Step = Mapping[str, Any]
"""In the form of the engine's JSON: `op`, `urn`, `type`, `oldState`, `newState`, `diffReasons`, `detailedDiff`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Preview:
    """What the engine answered."""

    steps: tuple[Step, ...]
    unread: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """URN → why this resource could not be read."""
    error: str = ""
    """Why the engine did not finish; empty when it did."""


def of_resources(stack: str, folder: Path | None = None) -> Preview:
    """Read all resources: a refresh that is only previewed.

    Raises:
        EngineFailed: nothing could be read.
    """
    return _ask(["refresh", "--preview-only"], stack, folder, lambda event: event.get("resOutputsEvent"))


def of_program(stack: str, folder: Path | None = None) -> Preview:
    """Compare the program with the record.

    Raises:
        EngineFailed: the program can't be run, or the engine refuses it.
    """
    asked = _ask(["preview"], stack, folder, lambda event: event.get("resourcePreEvent"))
    if asked.error:
        raise _failed(asked.error)
    return asked


def creations(stack: str, *words: str) -> list[dict[str, Any]] | None:
    """Give the steps of the next `up` with the whole `newState` of each resource, as only the preview's JSON document has it; without secrets.

    Returns:
        None when the program can't be run; `up` itself reports that better.
    """
    done = commands.run("preview", "--json", *words, "--stack", stack)
    if done.returncode:
        return None
    found: list[dict[str, Any]] = json.loads(done.stdout).get("steps") or []
    return found


def _ask(words: Sequence[str], stack: str, folder: Path | None, of_interest: Callable[[Event], Mapping[str, Any] | None]) -> Preview:
    with tempfile.TemporaryDirectory(prefix="clusterwright-events-") as place:
        log = Path(place) / "events.jsonl"
        options = ["--non-interactive", "--stack", stack, "--event-log", str(log)]
        done = commands.run(*words, *options, folder=folder, variables=commands.EVENTS)
        events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    steps = tuple(_step(found["metadata"]) for event in events if (found := of_interest(event)))
    unread = {one["urn"]: _plain(one["message"]) for one in _complaints(events) if one.get("urn")}
    error = (_said(events) or done.stderr.strip()[-commands.LONGEST :] or f"it ended with status {done.returncode}") if done.returncode else ""
    if error and not any(one["oldState"].get("id") for one in steps):
        raise _failed(error)
    return Preview(steps, unread, error)


def _failed(said: str) -> EngineFailed:
    return EngineFailed("the engine could not compare the stack", why=said, remedy="correct what it names and run the command again")


def _step(metadata: Mapping[str, Any]) -> Step:
    return {
        "op": metadata["op"],
        "urn": metadata["urn"],
        "type": metadata["type"],
        "oldState": _state(metadata.get("old")),
        "newState": _state(metadata.get("new")),
        "diffReasons": metadata.get("diffs") or [],
        "detailedDiff": metadata.get("detailedDiff") or {},
    }


def _state(state: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if state is None:
        return {}
    return {"type": state["type"], "id": state.get("id", ""), **{side: packed.unpack_each(state.get(side) or {}) for side in ("inputs", "outputs")}}


def _complaints(events: Sequence[Event]) -> Iterator[Mapping[str, Any]]:
    for event in events:
        found = event.get("diagnosticEvent")
        if found and found.get("severity") == "error" and _plain(found["message"]):
            yield found


def _said(events: Sequence[Event]) -> str:
    """Give the engine's errors, equal errors of several resources once."""
    return "\n".join(dict.fromkeys(_FROM_PROVIDER.sub("", _plain(one["message"])) for one in _complaints(events)))[-commands.LONGEST :]


def _plain(message: str) -> str:
    return _PREFIX.sub("", re.sub(r"<\{%.*?%\}>", "", message).strip()).strip()
