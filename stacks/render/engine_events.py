"""What the engine reports of an operation in its event log, as typed events. Pure.

Source: Pulumi's `sdk/go/common/apitype/events.go`.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

_DIRECTIVE = re.compile(r"<\{%.*?%\}>")
"""Colours, as the engine writes them before it knows the terminal."""
_ONE_ERROR = re.compile(r"^1 error occurred:\s+\* ")
"""How Go's multierror begins a list of one."""
_OF_THE_ENGINE = re.compile(r"^(?:update|destroy|refresh|preview) failed$|^Attempting to deploy or update resources with \d+ pending operations")
"""What the engine says of the stack after it has said what failed, and its advice about an interrupted run, whose resources `up` and `down` adopt by themselves."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """A resource by its URN."""

    urn: str

    @property
    def kind(self) -> str:
        """The last part of its type (`HostPool` of `clusterwright:local:HostPool`)."""
        return self.urn.split("::")[2].rpartition("$")[2].rpartition(":")[2]

    @property
    def name(self) -> str:
        return self.urn.split("::", 3)[3]

    @property
    def says_result(self) -> bool:
        """Say whether its last message is what the operation changed: this project's provider ends with that, others with their last step."""
        return self.urn.split("::")[2].rpartition("$")[2].startswith("clusterwright:")

    @property
    def is_own(self) -> bool:
        """Say whether it is the engine's own: the stack itself or a provider."""
        return self.urn.split("::")[2].rpartition("$")[2].startswith("pulumi:")


@dataclasses.dataclass(frozen=True, slots=True)
class Begun:
    """An operation on a resource began."""

    resource: Resource
    operation: str
    """In the engine's word: `create`, `same`, `refresh` …"""
    is_component: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """An operation on a resource ended."""

    resource: Resource
    operation: str
    has_failed: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """A message about a resource, or about the whole operation."""

    resource: Resource | None
    severity: str
    text: str
    is_progress: bool
    """It says what is happening at the moment and is not needed later."""


Event = Begun | Ended | Said


def parse(line: str) -> Event | None:
    """Read one line of the event log; None for events that are not shown."""
    event: Mapping[str, Any] = json.loads(line)
    if found := event.get("resourcePreEvent"):
        metadata = found["metadata"]
        state = metadata.get("new") or metadata.get("old") or {}
        return Begun(Resource(metadata["urn"]), metadata["op"], not state.get("custom"))
    if found := event.get("resOutputsEvent"):
        return Ended(Resource(found["metadata"]["urn"]), found["metadata"]["op"], False)
    if found := event.get("resOpFailedEvent"):
        return Ended(Resource(found["metadata"]["urn"]), found["metadata"]["op"], True)
    if (found := event.get("diagnosticEvent")) and found["severity"] != "debug":
        text = _ONE_ERROR.sub("", _DIRECTIVE.sub("", found["message"]).strip())
        if _OF_THE_ENGINE.match(text):
            return None
        urn = found.get("urn")
        return Said(Resource(urn) if urn else None, found["severity"], text, bool(found.get("ephemeral")))
    return None
