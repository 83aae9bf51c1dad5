"""What exists in the cloud: things, the addresses they take, and a clock; every change is journalled, so that a killed server goes on where it was.

The journal is a file of JSON lines in the order of the changes. It is flushed, not synced: it outlives a killed process, which is what tests do to it, not a lost machine.
"""

import dataclasses
import hashlib
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

SERVICE, KEPT, LEFT = "service", "kept", "left"


@dataclasses.dataclass(frozen=True, slots=True)
class Interface:
    """A network interface: it takes an address of its subnet, unless it is one for EFA alone."""

    subnet: str
    address: str | None
    groups: tuple[str, ...] = ()
    id: str = ""
    fabric: str = "interface"


@dataclasses.dataclass(frozen=True, slots=True)
class Thing:
    """One object of the cloud.

    Args:
        kind: as in the SDK (`ec2.Subnet`).
        properties: by Pulumi's names, inputs and outputs in one; for instances the form of DescribeInstances is under `api`.
        door: who made it: `provider`, `api` or `hand`; `service`: it came with something else, and goes with it; `kept`: it stays on purpose when that goes; `left`: nobody
            has it any more, and it is paid for; `stray`: a service made it by itself, and leaves it behind.
        made_s: on the cloud's clock, seconds since 1970.
    """

    kind: str
    id: str
    region: str
    properties: Mapping[str, Any]
    door: str
    made_s: float
    interfaces: tuple[Interface, ...] = ()

    @property
    def tags(self) -> Mapping[str, str]:
        tags: Any = self.properties.get("tagsAll") or self.properties.get("tags") or {}
        return {tag["key"]: tag["value"] for tag in tags} if isinstance(tags, list) else tags

    def __getitem__(self, name: str) -> Any:
        return self.properties[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Give a property, `default` when it is not there or null."""
        value = self.properties.get(name)
        return default if value is None else value


class Clock:
    """The cloud's time: it runs as real time does, and tests move it on."""

    def __init__(self) -> None:
        self.offset_s = 0.0

    def now_s(self) -> float:
        return time.time() + self.offset_s


class Store:
    """All things, by kind and id."""

    def __init__(self, journal: Path):
        self.journal = journal
        self.lock = threading.RLock()
        self.clock = Clock()
        self.changed: Callable[[], None] = lambda: None
        """Called after each change, with the lock held."""
        self._empty()
        if journal.exists():
            self._replay(journal)
        self._journal = journal.open("a")
        self._journal.write("\n")  # ends a line that a killed server left unfinished

    def close(self) -> None:
        self._journal.close()

    def reset(self) -> None:
        """Forget everything."""
        self._journal.truncate(0)
        self._empty()
        self.changed()

    def all(self, kind: str, *, region: str | None = None) -> Iterator[Thing]:
        """Give the things of a kind, oldest first."""
        return (thing for thing in list(self._things[kind].values()) if region in (None, thing.region))

    def everything(self) -> Iterator[Thing]:
        return (thing for things in list(self._things.values()) for thing in list(things.values()))

    def get(self, kind: str, id: str) -> Thing | None:  # noqa: A002 - what every service calls it
        return self._things[kind].get(id)

    def put(self, thing: Thing) -> Thing:
        """Add a thing or put it in the place of its former self."""
        self._set(thing)
        self._note("put", {**_written(thing), "named": self._named})
        return thing

    def remove(self, thing: Thing) -> None:
        self._unset(thing.kind, thing.id)
        self._note("remove", [thing.kind, thing.id])

    def set_clock(self, offset_s: float) -> None:
        self.clock.offset_s = offset_s
        self._note("clock", offset_s)

    def set_setting(self, name: str, value: Any) -> None:
        self.settings[name] = value
        self._note("setting", [name, value])

    def taken(self, subnet: str) -> set[str]:
        """Give the addresses in use in a subnet."""
        return self._taken[subnet]

    def new_hex(self, digits: int = 17) -> str:
        """Give letters and digits that no other thing has; the same in every run, so that tests read alike."""
        self._named += 1  # journalled with the thing that gets it
        return hashlib.sha256(f"clusterwright {self._named}".encode()).hexdigest()[:digits]

    def _empty(self) -> None:
        self.clock.offset_s = 0.0
        self.settings: dict[str, Any] = {}
        self._things: dict[str, dict[str, Thing]] = defaultdict(dict)
        self._taken: dict[str, set[str]] = defaultdict(set)
        self._named = 0

    def _set(self, thing: Thing) -> None:
        self._free(thing.kind, thing.id)
        self._things[thing.kind][thing.id] = thing
        for interface in thing.interfaces:
            if interface.address:
                self._taken[interface.subnet].add(interface.address)

    def _unset(self, kind: str, id: str) -> None:  # noqa: A002
        self._free(kind, id)
        self._things[kind].pop(id, None)

    def _free(self, kind: str, id: str) -> None:  # noqa: A002
        former = self._things[kind].get(id)
        for interface in former.interfaces if former else ():
            if interface.address:
                self._taken[interface.subnet].discard(interface.address)

    def _note(self, what: str, value: Any) -> None:
        self._journal.write(json.dumps({what: value}) + "\n")
        self._journal.flush()
        self.changed()

    def _replay(self, journal: Path) -> None:
        for line in journal.read_text().splitlines():
            try:
                ((what, value),) = json.loads(line).items()
            except ValueError:
                continue  # empty, or what a killed server was about to write: its request was not answered
            match what:
                case "put":
                    self._named = value.pop("named")
                    interfaces = tuple(Interface(**{**one, "groups": tuple(one["groups"])}) for one in value["interfaces"])
                    self._set(Thing(**{**value, "interfaces": interfaces}))
                case "remove":
                    self._unset(*value)
                case "clock":
                    self.clock.offset_s = value
                case "setting":
                    self.settings[value[0]] = value[1]


def _written(thing: Thing) -> dict[str, Any]:
    """Give a thing for the journal; `dataclasses.asdict` would copy all that it holds."""
    interfaces = [{"subnet": one.subnet, "address": one.address, "groups": one.groups, "id": one.id, "fabric": one.fabric} for one in thing.interfaces]
    return {
        "kind": thing.kind, "id": thing.id, "region": thing.region, "properties": thing.properties, "door": thing.door, "made_s": thing.made_s, "interfaces": interfaces,
    }  # fmt: skip
