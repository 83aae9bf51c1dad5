"""What each kind obeys beyond its form: a class of rules by kind, and functions for methods that are no plain insert, get, list, patch, update or delete."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core.store import Interface, Thing
from . import resources
from .discovery import Method

if TYPE_CHECKING:
    from . import operations
    from .cloud import Cloud


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One request, validated.

    Args:
        path: of what it is about, without host and version (`projects/p/zones/z/instances/i`).
        parameters: of path and query, typed.
        body: as sent, unvalidated; `Cloud.form` validates it.
        caller: the member whose token it carries (`serviceAccount:…`), "" for the project's owner.
    """

    method: Method
    path: str
    parameters: Mapping[str, Any]
    body: Mapping[str, Any]
    caller: str = ""

    @property
    def project(self) -> str:
        return self.path.split("/")[1]

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]


@dataclasses.dataclass(frozen=True, slots=True)
class Want:
    """What a caller wants a thing to be; `former` is what it was, None for a new one."""

    kind: str
    path: str
    values: Mapping[str, Any]
    call: Call
    former: Thing | None = None

    def get(self, name: str, default: Any = None) -> Any:
        value = self.values.get(name)
        return default if value is None else value

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def project(self) -> str:
        return self.path.split("/")[1]


class Rules:
    """The rules of a kind; the base has none."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        """Refuse what can't be."""

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        """Give the properties that the service chooses."""
        return {}

    def fails(self, cloud: "Cloud", want: Want) -> "operations.Failure | None":
        """Say why the operation fails that would make it; its caller learns so by polling."""
        return None

    def interfaces(self, cloud: "Cloud", properties: Mapping[str, Any]) -> tuple[Interface, ...]:
        """Give the addresses that it takes."""
        return ()

    def ready(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        """Give what is set when the operation that makes it is done."""
        return {}

    def made(self, cloud: "Cloud", thing: Thing) -> None:
        """Do what comes with a new thing."""

    def changed(self, cloud: "Cloud", thing: Thing, former: Thing) -> None:
        """Do what comes with a change."""

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        """Refuse a deletion."""

    def deleted(self, cloud: "Cloud", thing: Thing) -> None:
        """Take away what goes with a thing."""

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        """Give the properties that are worked out at each look."""
        return {}


Handler = Callable[["Cloud", Call], Any]
_rules: dict[str, Rules] = {}
_handlers: dict[str, Handler] = {}
_NONE = Rules()


def rules_of(*kinds: str) -> Callable[[type[Rules]], type[Rules]]:
    """Register a class as the rules of kinds."""

    def register(found: type[Rules]) -> type[Rules]:
        for kind in kinds:
            assert kind not in _rules, kind
            _rules[kind] = found()
        return found

    return register


def handles(*methods: str) -> Callable[[Handler], Handler]:
    """Register what carries out methods."""

    def register(found: Handler) -> Handler:
        for method in methods:
            assert method not in _handlers, method
            _handlers[method] = found
        return found

    return register


def rules(kind: str) -> Rules:
    return _rules.get(kind, _NONE)


def handler(method: str) -> Handler | None:
    return _handlers.get(method)


def load() -> None:
    """Import the modules that register rules."""
    for module in pkgutil.iter_modules(resources.__path__):
        importlib.import_module(f"{resources.__name__}.{module.name}")
