"""What a kind asks for beyond the form of its values: one class of rules a kind, found by its name; the default ones serve most kinds.

A rule sees a `Want` (what shall be) and the cloud, and refuses as the real service does. The modules of `resources/` hold the rules service by service.
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.store import Interface, Thing
from . import facts, schema

if TYPE_CHECKING:
    from .cloud import Cloud


@dataclasses.dataclass(frozen=True, slots=True)
class Want:
    """What a create or an update asks for.

    Args:
        values: inputs with the service's defaults filled in.
        former: the thing before an update; None for a create.
    """

    kind: facts.Kind
    values: Mapping[str, Any]
    region: str
    door: str
    former: Thing | None = None

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        value = self.values.get(name)
        return default if value is None else value

    def changes(self, name: str) -> bool:
        """Say whether an update changes this property."""
        return self.former is not None and self.former.get(name) != self.get(name)


class Rules:
    """The default rules: values of the right form, references that exist, names that are free."""

    def __init__(self, kind: facts.Kind):
        self.kind = kind

    def identity(self, cloud: "Cloud", want: Want) -> str:
        """Give the id of a new thing."""
        if "{" in self.kind.id:
            return self.kind.id.format(
                **{**want.values, **self.words(want)}, region=want.region, account=facts.ACCOUNT, hex=cloud.store.new_hex(), hex16=cloud.store.new_hex(16)
            )
        return f"{self.kind.id}-{cloud.store.new_hex()}"

    def problems(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Yield (path, reason) for what is wrong with the form of the inputs beyond types and schema; they may hold what is not known yet."""
        return ()

    def replaced_by(self, olds: Mapping[str, Any], news: Mapping[str, Any]) -> frozenset[str]:
        """Name the inputs whose change makes a new object."""
        return schema.replaced_by(self.kind)

    def words(self, want: Want) -> Mapping[str, str]:
        """Give words for the id's template that are no inputs."""
        return {}

    def check(self, cloud: "Cloud", want: Want) -> None:
        """Refuse what the service would refuse."""

    def computed(self, cloud: "Cloud", want: Want, ident: str) -> Mapping[str, Any]:
        """Give outputs beyond those of the table."""
        return {}

    def interfaces(self, cloud: "Cloud", want: Want, ident: str) -> tuple[Interface, ...]:
        """Give the network interfaces that the thing has."""
        return want.former.interfaces if want.former else ()

    def made(self, cloud: "Cloud", thing: Thing) -> None:
        """Do what comes with a new thing."""

    def changed(self, cloud: "Cloud", thing: Thing, former: Thing) -> None:
        """Do what comes with a change."""

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        """Refuse a delete that the service would refuse."""

    def deleted(self, cloud: "Cloud", thing: Thing) -> None:
        """Do what comes with the end of a thing."""

    def observed(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        """Give the properties as a read shows them."""
        return thing.properties


_Class = TypeVar("_Class", bound=type[Rules])
_classes: dict[str, type[Rules]] = {}
_instances: dict[str, Rules] = {}


def of(*names: str) -> Callable[[_Class], _Class]:
    """Make a class the rules of these kinds."""

    def register(chosen: _Class) -> _Class:
        for name in names:
            _classes[name] = chosen
        return chosen

    return register


def load() -> None:
    """Import every rule; called once, before requests come in on many threads."""
    resources = importlib.import_module("tests.simcloud.aws.resources")
    for module in pkgutil.iter_modules(resources.__path__):
        importlib.import_module(f"tests.simcloud.aws.resources.{module.name}")
    for name, kind in facts.kinds().items():
        _instances[name] = _classes.get(name, Rules)(kind)


def rules(name: str) -> Rules:
    """Give the rules of a kind."""
    return _instances[name]
