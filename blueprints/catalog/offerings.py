"""Offerings: the ways in which a target runs a scheduler, on hosts of the stack or as a service of the cloud."""

import dataclasses
import functools

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


def offering_names() -> tuple[str, ...]:
    """List the offerings of all targets."""
    return tuple(files.mapping("offerings"))
