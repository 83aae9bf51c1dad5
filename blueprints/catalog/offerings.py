"""Offerings: the ways in which a target runs a scheduler, on hosts of the stack or as a service of the cloud."""

import dataclasses
import functools
from collections.abc import Mapping

from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class Offering:
    """One way to run a scheduler."""

    name: str
    scheduler: str
    """`slurm` or `kubernetes`."""
    source: str
    as_of: str
    title: str = ""
    """What the cloud calls its service; empty where the stack's own hosts run the scheduler."""
    nodes_max: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Size of the service's controller → the most compute nodes; empty: no limit is known."""
    machine_prefix: str = ""
    """What the service puts before the names of machines that it sells at prices and quotas of its own (`ml.`)."""

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
    return Offering(name=name, **files.mapping("offerings")[name])


def asks_for_service(managed: bool | str, scheduler: str) -> bool:
    """Say whether `control.managed` asks for a service that runs this scheduler.

    Raises:
        KeyError: there is no offering of this name.
    """
    return offering(managed).scheduler == scheduler if isinstance(managed, str) else managed


def offering_names() -> tuple[str, ...]:
    """List the offerings of all targets."""
    return tuple(files.mapping("offerings"))
