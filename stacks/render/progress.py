"""How an operation of the engine is shown while it runs: a line for each resource that it changed, what is in progress, and the errors at the end. Pure.

Resources that stay as they are have no line: they are counted.
"""

import collections
import dataclasses
import math
from collections.abc import Iterator

from .engine_events import Begun, Ended, Event, Resource, Said
from .formatting import counted

STEP_SHOWN_AFTER_S = 10.0
"""Without a terminal, a step has a line of its own once it has taken as long."""
NEWS_EVERY_S = 60.0
"""Without a terminal, a resource that says nothing new has another line after as long: whoever watches a log sees that the operation goes on."""
TOGETHER_WITHIN_S = 1.0
"""Resources of one kind that end quickly, one after the other, share a line; it waits for them so long."""
TIMED_FROM_S = 1.0
"""Shorter operations have no time on their lines."""


@dataclasses.dataclass(frozen=True, slots=True)
class Words:
    """How an operation is called."""

    sign: str
    doing: str
    done: str


WORDS = {
    "create": Words("+", "creating", "created"),
    "update": Words("~", "updating", "updated"),
    "delete": Words("-", "deleting", "deleted"),
    "create-replacement": Words("+", "creating again", "created again"),
    "delete-replaced": Words("-", "deleting the former", "deleted, as another replaces it"),
    "import": Words("=", "importing", "imported"),
    "discard-replaced": Words("-", "forgetting the former", "forgotten"),
}
SILENT = ("same", "refresh", "read", "replace", "remove-pending-replace", "read-replacement", "read-discard", "discard")
"""Operations that change nothing by themselves."""


@dataclasses.dataclass(slots=True)
class _Row:
    """A resource in progress."""

    words: Words
    resource: Resource
    since: float
    step: str = ""
    step_since: float = 0.0
    shown_at: float = 0.0
    """When it last had a line in a log."""
    shown_step: str = ""

    def line(self, now: float) -> str:
        detail = f": {self.step}" if self.step else ""
        return f"  {self.words.sign} {self.resource.kind} {self.resource.name} {self.words.doing} ({now - self.since:.0f} s){detail}"


class Progress:
    """Follows one operation.

    Args:
        is_verbose: give a line to every begin and every step, at once.
    """

    def __init__(self, *, is_verbose: bool = False):
        self._is_verbose = is_verbose
        self._rows: dict[str, _Row] = {}
        self._touched: dict[str, str] = {}
        """URN → the last word for what was done, of every resource that an operation ended on."""
        self._real: set[str] = set()
        """URNs of resources that are more than a name for others."""
        self._read = 0
        self._notes: dict[str, list[Said]] = {}
        self._quick: list[Resource] = []
        """Resources that ended quickly, all of one kind and with the same words, and that have no line yet."""
        self._quick_words = Words("", "", "")
        self._quick_since = 0.0

    @property
    def changed(self) -> frozenset[str]:
        """URNs of resources that were changed."""
        return frozenset(urn for urn, done in self._touched.items() if done)

    @property
    def has_errors(self) -> bool:
        """Say whether the engine said why it failed."""
        return any(said.severity == "error" for notes in self._notes.values() for said in notes)

    def take(self, event: Event, now: float) -> Iterator[str]:
        """Take an event and give the lines that stay."""
        match event:
            case Begun(resource, operation, is_component):
                if is_component or resource.is_own:
                    return
                self._real.add(resource.urn)
                if operation not in SILENT:
                    row = self._rows[resource.urn] = _Row(WORDS.get(operation, Words("*", operation, operation)), resource, now, shown_at=now)
                    if self._is_verbose:
                        yield row.line(now)
            case Ended(resource, operation, has_failed):
                yield from self._end(resource, operation, has_failed, now)
            case Said():
                yield from self._say(event, now)

    def _end(self, resource: Resource, operation: str, has_failed: bool, now: float) -> Iterator[str]:
        row = self._rows.pop(resource.urn, None)
        if row is None:
            if operation == "refresh":
                self._read += 1
            elif operation == "same" and resource.urn in self._real:
                self._touched.setdefault(resource.urn, "")
            return
        took = f" ({now - row.since:.0f} s)" if now - row.since >= TIMED_FROM_S else ""
        if has_failed:
            yield from self.quick()
            yield f"  ! {resource.kind} {resource.name} failed{took}"
            return
        self._touched[resource.urn] = row.words.done
        result = f": {row.step}" if row.step and resource.says_result else ""
        if not took and not result and not self._is_verbose:
            if self._quick and (self._quick[0].kind, self._quick_words) != (resource.kind, row.words):
                yield from self.quick()
            if not self._quick:
                self._quick_words, self._quick_since = row.words, now
            self._quick.append(resource)
            return
        yield from self.quick()
        yield f"  {row.words.sign} {resource.kind} {resource.name} {row.words.done}{took}{result}"

    def _say(self, said: Said, now: float) -> Iterator[str]:
        if not said.is_progress:
            if said.text:
                self._notes.setdefault(said.resource.urn if said.resource else "", []).append(said)
            return
        row = self._rows.get(said.resource.urn) if said.resource else None
        if row is not None and said.text != row.step:
            row.step, row.step_since = said.text, now
            if self._is_verbose and row.step:
                yield row.line(now)

    def quick(self, now: float = math.inf) -> Iterator[str]:
        """Give the line of resources that ended quickly, once it has waited long enough."""
        if self._quick and now - self._quick_since >= TOGETHER_WITHIN_S:
            names = ", ".join(resource.name for resource in self._quick)
            yield f"  {self._quick_words.sign} {self._quick[0].kind} {names} {self._quick_words.done}"
            self._quick = []

    def news(self, now: float) -> Iterator[str]:
        """Give the lines that a log needs between events: steps that take long, and signs of life."""
        if self._is_verbose:
            return
        for row in self._rows.values():
            is_new = row.step != row.shown_step and now - row.step_since >= STEP_SHOWN_AFTER_S
            if (row.step and is_new) or now - row.shown_at >= NEWS_EVERY_S:
                row.shown_at, row.shown_step = now, row.step
                yield row.line(now)

    def rows(self, now: float) -> list[str]:
        """Give what is in progress, one line each, for a terminal that replaces them."""
        return [row.line(now) for row in self._rows.values()] or ([f"    {counted(self._read, 'resources')} read"] if self._read and not self._touched else [])

    def notes(self) -> Iterator[str]:
        """Give, at the end, what the engine, the program and the providers reported, errors last; equal messages of a resource once."""
        for is_error in (False, True):
            for notes in self._notes.values():
                for said in dict.fromkeys(one for one in notes if (one.severity == "error") is is_error):
                    yield from _note(said)

    def total(self) -> str:
        """Count what was done."""
        counts = collections.Counter(done or "unchanged" for done in self._touched.values())
        return ", ".join(f"{number} {done}" for done, number in counts.most_common()) or "nothing to do"


def _note(said: Said) -> Iterator[str]:
    subject = f"{said.resource.kind} {said.resource.name}: " if said.resource and not said.resource.is_own else ""
    label = {"error": "error: ", "warning": "warning: "}.get(said.severity, "")
    yield f"{label}{subject}{said.text}"
