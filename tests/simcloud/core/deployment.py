"""A Pulumi project of a test whose provider is a simulated cloud's: a program, one stack, the real engine."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from tests.components.project import Project

from .client import SimulatedCloud

NO_CHANGES = 7  # the engine's own number for changes that were not to be


_Cloud = TypeVar("_Cloud", bound=SimulatedCloud)


class Deployment(Project, Generic[_Cloud]):
    """A project whose program is given as text; `set_program` gives it another one. Each cloud says in PROVIDER which plugin the engine starts: its name and path."""

    PROVIDER: ClassVar[Mapping[str, str]]

    def __init__(self, folder: Path, cloud: _Cloud, program: str):
        self.cloud = cloud
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder)
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        self._write("Pulumi.yaml", json.dumps({"name": "clusterwright", "runtime": runtime, "plugins": {"providers": [self.PROVIDER]}}))
        self.set_program(program)

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **self.cloud.environment}

    def set(self, **settings: Any) -> None:
        """Write what the program reads as `settings.json`."""
        self._write("settings.json", json.dumps(settings))

    def set_program(self, program: str) -> None:
        self._write("__main__.py", program)

    def changes(self, *words: str) -> dict[str, list[str]]:
        """Give what a preview would do: operation → names of resources, those that stay left out."""
        done = self.run("preview", "--json", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, list[str]] = {}
        for step in json.loads(done.stdout)["steps"]:
            if step["op"] != "same":
                found.setdefault(step["op"], []).append(step["urn"].rpartition("::")[2])
        return found

    def fails(self, *words: str) -> str:
        """Run a command that must fail, and give all that it said."""
        done: subprocess.CompletedProcess[str] = self.run(*words)
        assert done.returncode != 0, done.stdout
        return done.stdout + done.stderr


_Deployment = TypeVar("_Deployment", bound=Deployment[Any])


@contextmanager
def deployed(one: _Deployment) -> Iterator[_Deployment]:
    """Give a project, and end all its processes afterwards."""
    try:
        yield one
    finally:
        one.end()
