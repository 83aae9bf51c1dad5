"""Offerings: the ways in which a target runs a scheduler, on hosts of the stack or as a service of the cloud."""

import dataclasses
import functools
from collections.abc import Mapping

from ..capacity_kind import CapacityKind
from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class Offering:
    """One way to run a scheduler."""

    name: str
    scheduler: str
    """`slurm`, `kubernetes` or `training`."""
    source: str
    as_of: str
    title: str = ""
    """What the cloud calls its service; empty where the stack's own hosts run the scheduler."""
    nodes_max: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Size of the service's controller → the most compute nodes; empty: no limit is known."""
    machine_prefix: str = ""
    """What the service puts before the names of machines that it sells at prices and quotas of its own (`ml.`)."""
    capacity: tuple[CapacityKind, ...] = ()
    """Of a service that runs training jobs: what it runs them on."""
    accelerators: tuple[str, ...] = ()
    """The GPUs that such a service has."""
    mounts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Kind of storage → the folder below which jobs of such a service see it."""
    own_prices: bool = False
    """Whether machines cost what the service asks for them, and not what they cost as instances."""

    keys: tuple[str, ...] = ()
    """The keys of a blueprint that mean something to such a service; each with all below it."""

    @property
    def is_managed(self) -> bool:
        return bool(self.title)

    @property
    def label(self) -> str:
        """Name it for people: `EKS`, `Slurm on hosts`."""
        return self.title or f"{self.scheduler.capitalize()} on hosts"


@functools.cache
def offering(name: str) -> Offering:
    """Give one offering.

    Raises:
        KeyError: there is none of this name.
    """
    entry = dict(files.mapping("offerings")[name])
    capacity, accelerators, keys = (tuple(entry.pop(key, ())) for key in ("capacity", "accelerators", "keys"))
    return Offering(name=name, **entry, capacity=tuple(map(CapacityKind, capacity)), accelerators=accelerators, keys=keys)


def asks_for_service(managed: bool | str, scheduler: str) -> bool:
    """Say whether `control.managed` asks for a service that runs this scheduler.

    Raises:
        KeyError: there is no offering of this name.
    """
    return offering(managed).scheduler == scheduler if isinstance(managed, str) else managed


def offering_names() -> tuple[str, ...]:
    """List the offerings of all targets."""
    return tuple(files.mapping("offerings"))
