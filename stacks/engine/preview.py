"""Ask Pulumi's engine, without a lock and without a change: the stack's record, the world, and what the program would change.

World and program are asked through the Automation API, event by event: its events hold what each property was and is, and they come for all other resources even if one can't be read.
"""

import dataclasses
import functools
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprints.project import project_root

if TYPE_CHECKING:
    from pulumi import automation
    from pulumi.automation import events

QUIET = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
LONGEST = 2000
"""Letters of what the engine said that are shown."""
_PREFIX = re.compile(r"^(?:error: )?(?:Preview failed: )?(?:preview failed)?")
_FROM_PROVIDER = re.compile(r"^reading \S+ \([^)]*\): ")


class Unanswered(Exception):
    """The engine could not answer; the text is what it said."""


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """What the engine answered: steps in the form of its JSON (`op`, `urn`, `oldState`, `newState`, `diffReasons`)."""

    steps: tuple[Mapping[str, Any], ...]
    unread: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """URN → why this resource could not be looked at."""
    error: str = ""
    """Why the engine did not come to its end; empty when it did."""


def record(stack: str, folder: Path | None = None) -> Mapping[str, Any]:
    """Give the stack's record, secrets included.

    Args:
        folder: the project's; this one's when it isn't given.

    Raises:
        Unanswered: no such stack, a wrong passphrase, a backend that doesn't answer.
    """
    words = ["pulumi", "stack", "export", "--show-secrets", "--stack", stack]
    environment = {**os.environ, **QUIET}
    ended = subprocess.run(words, cwd=folder or project_root(), env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode:
        raise Unanswered(ended.stderr.strip()[-LONGEST:] or f"`pulumi stack export` ended with status {ended.returncode} and said nothing")
    try:
        document: Mapping[str, Any] = json.loads(ended.stdout)
    except ValueError as error:
        raise Unanswered(f"`pulumi stack export` gave no JSON: {error}") from error
    return document


def world(stack: str, folder: Path | None = None) -> World:
    """Look at all resources: a refresh that is only previewed.

    Raises:
        Unanswered: nothing could be looked at.
    """
    return _ask(stack, folder, lambda chosen, hear: chosen.preview_refresh(on_event=hear), _seen)


def program(stack: str, folder: Path | None = None) -> World:
    """Give what the program asks for against what is recorded: a preview.

    Raises:
        Unanswered: the program can't be run, or the engine refuses what it asks for.
    """
    asked = _ask(stack, folder, lambda chosen, hear: chosen.preview(on_event=hear), _planned)
    if asked.error:
        raise Unanswered(asked.error)
    return asked


def _ask(
    stack: str,
    folder: Path | None,
    look: Callable[["automation.Stack", Callable[["events.EngineEvent"], None]], object],
    step: Callable[["events.EngineEvent"], Mapping[str, Any] | None],
) -> World:
    from pulumi import automation

    class Workspace(automation.LocalWorkspace):
        """A workspace that leaves alone which stack the user has selected."""

        def select_stack(self, stack_name: str) -> None:
            pass

    heard: list[events.EngineEvent] = []
    error = ""
    try:
        workspace = Workspace(work_dir=str(folder or project_root()), env_vars=QUIET, pulumi_command=_command())
        look(automation.Stack.select(stack, workspace), heard.append)
    except (automation.CommandError, automation.InvalidVersionError, RuntimeError, OSError) as raised:  # RuntimeError: the engine ended before it said anything
        error = _said(heard) or _complaint(str(raised))
    steps = tuple(found for event in heard if (found := step(event)) is not None)
    unread = {one.urn: _plain(one.message) for one in _complaints(heard) if one.urn}
    if error and not any(one["oldState"].get("id") for one in steps):
        raise Unanswered(error)
    return World(steps, unread, error)


@functools.cache
def _command() -> "automation.PulumiCommand":
    """Give the engine's command, whose version is asked for once."""
    from pulumi import automation

    return automation.PulumiCommand()


def _seen(event: "events.EngineEvent") -> Mapping[str, Any] | None:
    return _step(event.res_outputs_event.metadata) if event.res_outputs_event else None


def _planned(event: "events.EngineEvent") -> Mapping[str, Any] | None:
    return _step(event.resource_pre_event.metadata) if event.resource_pre_event else None


def _step(metadata: "events.StepEventMetadata") -> Mapping[str, Any]:
    return {
        "op": str(metadata.op.value),
        "urn": metadata.urn,
        "type": metadata.type,
        "oldState": _state(metadata.old),
        "newState": _state(metadata.new),
        "diffReasons": list(metadata.diffs or ()),
        "detailedDiff": dict(metadata.detailed_diff or {}),
    }


def _state(state: "events.StepEventStateMetadata | None") -> Mapping[str, Any]:
    if state is None:
        return {}
    return {"type": state.type, "id": state.id, "inputs": dict(state.inputs or {}), "outputs": dict(state.outputs or {})}


def _complaints(heard: list["events.EngineEvent"]) -> Iterator["events.DiagnosticEvent"]:
    for event in heard:
        if event.diagnostic_event and event.diagnostic_event.severity == "error" and _plain(event.diagnostic_event.message):
            yield event.diagnostic_event


def _said(heard: list["events.EngineEvent"]) -> str:
    """Give what the engine complained of, equal complaints of several resources once."""
    return "\n".join(dict.fromkeys(_FROM_PROVIDER.sub("", _plain(one.message)) for one in _complaints(heard)))[-LONGEST:]


def _complaint(text: str) -> str:
    """Give the engine's own words of what the Automation API raises around them (`code: …`, `stdout: …`, `stderr: …`)."""
    _, _, said = text.partition("stderr: ")
    return "\n".join(line for line in (said or text).strip().splitlines() if line.strip())[-LONGEST:]


def _plain(message: str) -> str:
    return _PREFIX.sub("", re.sub(r"<\{%.*?%\}>", "", message).strip()).strip()
