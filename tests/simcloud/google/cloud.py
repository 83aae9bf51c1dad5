"""One project on Google Cloud: what its REST door answers, with every rule in between."""

import copy
import dataclasses
import os
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core import server
from ..core.failure import NotSimulated, Refused
from ..core.store import Store, Thing
from . import aip, discovery, errors, facts, forms, happenings, links, operations, rights, rules
from . import kinds as known
from .resources import instances, managed_groups, project_services
from .rules import Call
from .verbs import WAIT_MOST_S, Waiting, verb

PROJECT, NUMBER = "proj", "123456789012"
LOOK_AGAIN_S = 0.05
READS = (
    "get",
    "list",
    "aggregatedList",
    "wait",
    "listManagedInstances",
    "listInstances",
    "getFromFamily",
    "search",
    "testIamPermissions",
    "access",
    "listUsable",
    "getXpnHost",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a request gives."""

    status: int
    body: Any


class Cloud:
    """One project with all its regions.

    Args:
        journal: the file that its things are kept in; a temporary one when unset.
    """

    def __init__(self, journal: Path | None = None, *, project: str = PROJECT):
        rules.load()
        self.project = project
        self.store = _temporary() if journal is None else Store(journal)
        self.world: server.World[Cloud] = server.World(self, is_read=is_read)
        self.console: Callable[[Thing], str] | None = None
        """What the console of an instance said, where something runs behind it."""
        self.load()

    def load(self) -> None:
        """Work out what the store implies: operations under way, and who refers to what."""
        self.pending: dict[str, str] = {}
        self.machines: Counter[str] = Counter()
        """`machine type/zone` → how many of the zone's run; those in reservations are not among them."""
        self.reserved: Counter[str] = Counter()
        """Reservation → how many run in it."""
        self.models: Counter[str] = Counter()
        """`machine type/zone/provisioning model` → how many run."""
        for thing in self.store.all("compute.instances"):
            if thing["status"] != "TERMINATED":
                instances.count(self, thing, 1)
        self.waiting: list[tuple[str, str]] = [
            (thing.kind, thing.id) for kind in managed_groups.REQUESTS for thing in self.store.all(kind) if thing["state"] in managed_groups.WAITING
        ]
        """Resize requests that wait."""
        self.ends: dict[str, tuple[float, str]] = {}
        """Instance → when it ends by itself, and why."""
        self.hints: dict[str, int] = {}
        """Subnet → the address to try next, as a number."""
        self._numbers: dict[str, str] = {}
        """Path with a thing's number → path with its name: Compute Engine takes either."""
        self._named: dict[tuple[str, str], set[str]] = {}
        self._users: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for thing in self.store.everything():
            self._index(thing)
            if "_due" in thing.properties and not operations.is_done(thing):
                self.pending[thing.id] = thing.kind

    def close(self) -> None:
        self.store.close()

    # The door

    def request(self, host: str, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None, token: str = "") -> Answer:
        """Answer one request, as the service at `host` does.

        Args:
            path: as in the discovery document, with the version (`/compute/v1/projects/…`).
            token: of the caller; "" is the project's owner.
        """
        try:
            found, parameters = discovery.find(host, method, path)
            rest = path.lstrip("/").removeprefix(found.prefix)
            given = {**{name: value for name, value in parameters.items() if name in found.parameters}, **(query or {})}
            typed = {**parameters, **forms.parameters(found.parameters, given)}
            call = Call(found, rest, typed, body or {}, rights.caller(self, token))
            values = {**typed, **(body if isinstance(body, Mapping) else {})}
            result = self._waited(call, values)
        except Refused as refused:
            return Answer(*errors.body(refused))
        except Exception as error:
            traceback.print_exc()
            return Answer(500, {"error": {"code": 500, "message": f"the simulated cloud itself failed: {error!r}", "errors": [], "status": "INTERNAL"}})
        return Answer(200, copy.deepcopy(result))

    def _waited(self, call: Call, values: Mapping[str, Any]) -> Any:
        """Carry out a call until it has an answer: `wait` gives one when the operation is done, which moving the clock may bring about."""
        began = time.monotonic()
        try:
            found, faults = self.world.call(call.method.id, values, lambda: self._carry_out(call))
            if any(fault.effect == "kill-engine" for fault in faults):
                raise Refused(errors.KILL_ENGINE, "a test ends the engine that made this request", status=503)
            return found
        except Waiting as first:
            waiting = first
        while time.monotonic() - began < WAIT_MOST_S:
            time.sleep(min(waiting.seconds, LOOK_AGAIN_S))
            try:
                with self.store.lock:
                    return self._carry_out(call)
            except Waiting as again:
                waiting = again
        return operations.shown(waiting.operation)

    def _carry_out(self, call: Call) -> Any:
        happenings.by_time(self)
        rights.check(self, call)
        if not project_services.is_on(self, call.method.host):
            raise Refused("accessNotConfigured", f"{call.method.host} API has not been used in project {self.project} before or it is disabled.", status=403)
        if repeated := self._repeated(call):
            return repeated
        handler = rules.handler(call.method.id) or verb(call.method) or aip.verb(call.method)
        if handler is None:
            raise NotSimulated(call.method.id)
        return handler(self, call)

    def _repeated(self, call: Call) -> Mapping[str, Any] | None:
        """Give the operation that a request with this id began before."""
        ident = call.parameters.get("requestId")
        for kind in operations.KINDS if ident else ():
            for thing in self.store.all(kind):
                if thing.get("clientOperationId") == ident and thing["_method"] == call.method.id:
                    return operations.shown(thing.properties)
        return None

    # What rules ask

    def find(self, path: str, *kinds: str) -> Thing | None:
        """Find a thing by its path, of one of the kinds (`a|b`) or any."""
        if path[-1:].isdigit() and path.rpartition("/")[2].isdigit():
            path = self._numbers.get(path, path)
        wanted = [one for kind in kinds for one in kind.split("|")] or [links.kind_of(path) or ""]
        for kind in wanted:
            if found := self.store.get(kind, path) or facts.thing(self, kind, path):
                return found
        return None

    def need(self, path: str, *kinds: str) -> Thing:
        """Find a thing or refuse as Compute Engine does."""
        if found := self.find(path, *kinds):
            return found
        raise errors.missing(path)

    def refer(self, value: str, kinds: str, *, project: str, field: str) -> Thing:
        """Find what a reference names."""
        path = links.path_of(value, project=project, field=field)
        if found := facts.newest(self, path) if "/images/family/" in path else self.find(path, kinds):
            return found
        if "/images/family/" not in path and links.kind_of(path) not in kinds.split("|"):
            raise errors.invalid(field, value, f"The URL is malformed. It names no {kinds}.")
        raise errors.missing(path)

    def all(self, kind: str, *, under: str = "") -> Iterator[Thing]:
        """Give the things of a kind whose path begins so."""
        yield from (thing for thing in self.store.all(kind) if thing.id.startswith(under))
        yield from (thing for thing in facts.things(self, kind) if thing.id.startswith(under))

    def users(self, path: str) -> list[Thing]:
        """Give the things that hold another."""
        return [thing for kind, ident in sorted(self._users[path]) if (thing := self.store.get(kind, ident))]

    def holding(self, address: str, kind: str) -> Iterator[Thing]:
        """Give the things of a kind that have an address, inside or outside."""
        for thing in self.store.all(kind):
            nics = thing.get("networkInterfaces", [])
            mine = (
                {nic.get("networkIP") for nic in nics}
                | {access.get("natIP") for nic in nics for access in nic.get("accessConfigs", ())}
                | {thing.get("IPAddress")}
            )
            if address in mine:
                yield thing

    def put(self, thing: Thing) -> Thing:
        self.store.put(thing)
        self._index(thing)
        return thing

    def note(self, thing: Thing, **properties: Any) -> Thing:
        """Set properties of a thing; None takes one away."""
        changed = {name: value for name, value in {**thing.properties, **properties}.items() if value is not None}
        return self.put(dataclasses.replace(thing, properties=changed))

    def drop(self, kind: str, ident: str) -> None:
        """Take a thing away, and what goes with it."""
        if thing := self.store.get(kind, ident):
            self.store.remove(thing)
            self._numbers.pop(f"{ident.rpartition('/')[0]}/{thing.get('id')}", None)
            for path in self._named.pop((kind, ident), ()):
                self._users[path].discard((kind, ident))
            rules.rules(kind).deleted(self, thing)

    def show(self, thing: Thing) -> dict[str, Any]:
        """Give a thing as the service shows it."""
        return operations.shown({**thing.properties, **rules.rules(thing.kind).shown(self, thing)})

    def own_call(self, method: str, path: str) -> Call:
        """Give a call that a service makes by itself."""
        kind, _, verb = method.rpartition(".")
        found = discovery.method(kind, verb)
        assert found, method
        return Call(found, path, {}, {}, "")

    def setting(self, name: str, default: Any = None) -> Any:
        return self.store.settings.get(name, default)

    def new_number(self) -> str:
        """Give a number that no other thing has."""
        return str(int(self.store.new_hex(15), 16))

    # What the tests' door asks of every cloud

    def create(self, name: str, inputs: Mapping[str, Any], *, region: str, door: str) -> Thing:
        raise NotSimulated("making things by hand; ask the REST door")

    def is_tagged(self, kind: str) -> bool:
        """Say whether things of a kind carry labels."""
        return kind in known.kinds() and known.is_labelled(kind)

    def _index(self, thing: Thing) -> None:
        key = (thing.kind, thing.id)
        if thing.kind.startswith("compute.") and thing.get("id"):
            self._numbers[f"{thing.id.rpartition('/')[0]}/{thing['id']}"] = thing.id
        for path in self._named.pop(key, ()):
            self._users[path].discard(key)
        if thing.kind == "compute.instances":
            self._note_end(thing)
        held = known.kinds()[thing.kind].holds if thing.kind in known.kinds() else {}
        named = {value.removeprefix(links.BASE) for path in held for _, value in links.values_at(thing.properties, path) if isinstance(value, str)}
        self._named[key] = named
        for path in named:
            self._users[path].add(key)

    def _note_end(self, thing: Thing) -> None:
        """Remember when an instance ends by itself."""
        if told := thing.get("_ends"):
            self.ends[thing.id] = (told[0], told[1])
        elif run_s := (thing.get("scheduling", {}).get("maxRunDuration") or {}).get("seconds"):
            self.ends[thing.id] = (thing.made_s + float(run_s), "compute.instances.automaticTermination")


def is_read(method: str) -> bool:
    """Say whether a method only reads."""
    verb = method.rpartition(".")[2]
    return verb in READS or verb.startswith(("get", "list"))


def _temporary() -> Store:
    handle, name = tempfile.mkstemp(prefix="simulated-google-")
    os.close(handle)
    store = Store(Path(name))
    Path(name).unlink()  # nobody comes back to it
    return store
