"""A Pulumi project of a test whose provider `gcp` is the simulated cloud's."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from tests.components.project import STACK

from ..core import deployment as core
from ..core.deployment import NO_CHANGES
from .client import PLUGIN_FOLDER, SimulatedCloud


class Deployment(core.Deployment[SimulatedCloud]):
    """A project on the simulated project."""

    PROVIDER: ClassVar = {"name": "gcp", "path": str(PLUGIN_FOLDER)}


def deployment(folder: Path, cloud: SimulatedCloud, program: str) -> AbstractContextManager[Deployment]:
    """Make a project and end all its processes afterwards."""
    return core.deployed(Deployment(folder, cloud, program))


__all__ = ["NO_CHANGES", "STACK", "Deployment", "deployment"]
