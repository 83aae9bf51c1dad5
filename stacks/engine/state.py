"""What the backend holds of a stack: whether it exists, what an interrupted run left in its record, and repairing a state file that a kill cut off."""

import datetime as dt
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.inspection import record
from components.provider import packed

from .. import settings
from ..errors import Problem
from . import backend, commands, locks

STATE_SUFFIXES = (".json", ".json.gz", ".json.zst")  # other suffixes are copies, which stay when the stack is removed
STATUS_NOT_FOUND = 6  # Pulumi's exit status for an unknown stack
HISTORY_LENGTH = 20
"""Operations among which the latest update is looked for."""


def create_if_missing(stack: str) -> None:
    """Create the stack unless the backend has it. It is not selected: Pulumi's selection is one file for all terminals, so that a bare command elsewhere would hit another stack."""
    if not exists(stack):
        commands.answer("stack", "init", "--no-select", "--stack", stack)


def record_values(stack: str, values: Mapping[str, Any]) -> None:
    """Record the stack's setting `set` as an object: Pulumi drops the values of one that is text when it adds another to it."""
    setting = {f"{settings.NAMESPACE}:set": {"value": json.dumps(values), "objectValue": values, "secret": False}}
    commands.answer("config", "set-all", "--stack", stack, "--json", json.dumps(setting))


def exists(stack: str) -> bool:
    """Say whether the backend has the stack; for the file backend without starting the engine."""
    folder = backend.folder()
    if folder is not None:
        return any(_state_file(folder, stack).with_suffix(suffix).exists() for suffix in STATE_SUFFIXES)
    done = commands.run("stack", "--stack", stack)
    if done.returncode in (0, STATUS_NOT_FOUND):
        return done.returncode == 0
    # Any other status is no answer. Read as "no such stack", it would make `down` delete the resources of a live stack.
    raise Problem(
        f"the backend did not say whether there is a stack {stack}",
        why=done.stderr.strip() or "it printed nothing",
        remedy="check its credentials and the network, then run the command again",
    )


def spec(stack: str) -> Mapping[str, Any] | None:
    """Give the cluster that the last finished `up` recorded; None when no `up` of the stack has finished.

    It is no secret: an engine that is started to decrypt the others needs a third of a second of processor time (a record of the starter, 2026-11-24).
    """
    if not exists(stack):
        return None
    deployment = _latest(stack) or commands.record(stack).get("deployment") or {}
    program: Mapping[str, Any] = next((one for one in deployment.get("resources") or () if one["type"] == record.STACK_TYPE), {})
    found = packed.unpack((program.get("outputs") or {}).get("spec"))
    return found if isinstance(found, Mapping) else None


def outputs(stack: str) -> Mapping[str, Any]:
    """Give URN → identity and outputs of the resources in the file backend's state; nothing for other backends, which only the engine can read.

    Secrets are left out: the engine encrypts them differently each time.
    """
    return {one["urn"]: (one.get("id"), _without_secrets(one.get("outputs"))) for one in _latest(stack).get("resources") or ()}


def _without_secrets(value: Any) -> Any:
    match value:
        case {record.SECRET_SIGNATURE: _}:
            return None
        case dict():
            return {name: _without_secrets(part) for name, part in value.items()}
        case list():
            return [_without_secrets(part) for part in value]
        case _:
            return value


def replace_record(stack: str, new: Mapping[str, Any], *, instead_of: Mapping[str, Any]) -> None:
    """Replace what the backend records of a stack; this also drops its notes of pending operations.

    The engine takes the stack's lock while it writes. Until then somebody else may change the record, so it is compared once more as late as possible.

    Raises:
        Problem: somebody else changed the stack.
    """
    if commands.record(stack) != instead_of:
        raise Problem(
            f"stack {stack} was changed while this run examined what an interrupted one had left",
            why="another run changes it at the same time",
            remedy="wait for the other run to finish, then run the command again",
        )
    locks.clear_stale(stack)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # readable by its owner alone
        json.dump(new, file)
        file.flush()
        commands.answer("stack", "import", "--stack", stack, "--file", file.name)


def pending_creates(stack: str) -> list[str]:
    """Give the URNs whose creation a kill interrupted, from the file backend's state; empty for other backends, which only the engine can read."""
    operations = _latest(stack).get("pending_operations") or []
    return [operation["resource"]["urn"] for operation in operations if operation["type"] == "creating"]


def has_pending(stack: str) -> bool:
    """Say whether a kill interrupted the creation, change or deletion of a resource; False for other backends than the file backend."""
    return bool(_latest(stack).get("pending_operations"))


def has_failed(stack: str) -> bool:
    """Say whether the latest finished update of the stack failed; for the file backend without starting the engine."""
    latest = next((one for one in _history(stack) if one.get("kind") == "update"), {})
    return latest.get("result") == "failed"


def age_s(stack: str) -> float | None:
    """Say how long ago the stack's record was last written, seconds; None when that is unknown."""
    moment = commands.listed(stack).get("lastUpdate") if backend.folder() is None else _latest(stack).get("manifest", {}).get("time")
    return None if moment is None else dt.datetime.now(dt.UTC).timestamp() - dt.datetime.fromisoformat(moment).timestamp()


def restore(stack: str) -> None:
    """Repair a state file that a kill or a full disk cut off; before each write the engine copies the previous state to `.bak`."""
    folder = backend.folder()
    if folder is None:
        return
    state = _state_file(folder, stack)
    for attributes in state.parent.glob(f"{stack}.json*.attrs"):
        if backend.read_json(attributes) is None:
            attributes.unlink()  # the backend's own notes on each file (type, checksum); it works without them
    if not state.exists() or _is_whole(state):
        return
    aside = state.with_name(f"{stack}.json.cut-off")
    state.replace(aside)
    backup = state.with_name(f"{stack}.json.bak")
    if _is_whole(backup):
        shutil.copy(backup, state)
        print(f"a kill cut off the state of stack {stack}; its last backup is restored, and resources created since are adopted")
    else:
        print(f"a kill cut off the state of stack {stack} before there was a backup; it starts empty and adopts what exists ({aside} is kept)")


def _is_whole(file: Path) -> bool:
    """Say whether a file holds a state; the engine's own versions begin with a number and a checkpoint."""
    found = backend.read_json(file)
    return isinstance(found, dict) and isinstance(found.get("checkpoint"), dict)


def _state_file(folder: Path, stack: str) -> Path:
    return folder / ".pulumi" / "stacks" / commands.PROJECT / f"{stack}.json"


def _latest(stack: str) -> dict[str, Any]:
    """Give the deployment in the file backend's state; empty until something was registered."""
    folder = backend.folder()
    state = None if folder is None else backend.read_json(_state_file(folder, stack))
    return (state or {}).get("checkpoint", {}).get("latest") or {}


def _history(stack: str) -> Iterator[Mapping[str, Any]]:
    """Give the records of operations on the stack, the latest first."""
    folder = backend.folder()
    if folder is not None:
        for file in sorted((folder / ".pulumi" / "history" / commands.PROJECT / stack).glob("*.history.json"), reverse=True):  # file names begin with the time
            yield backend.read_json(file) or {}
        return
    done = commands.run("stack", "history", "--json", "--page-size", str(HISTORY_LENGTH), "--stack", stack)
    yield from json.loads(done.stdout or "[]") if done.returncode == 0 else ()
