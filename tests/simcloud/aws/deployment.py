"""A Pulumi project of a test whose provider `aws` is the simulated cloud's: a program, one stack, the real engine."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.components.project import STACK, Project

from .client import PLUGIN_FOLDER, SimulatedCloud

NO_CHANGES = 7  # the engine's own number for changes that were not to be


class Deployment(Project):
    """A project whose program is given as text; `set_program` gives it another one."""

    def __init__(self, folder: Path, cloud: SimulatedCloud, program: str):
        self.cloud = cloud
        super().__init__(folder)
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        providers = [{"name": "aws", "path": str(PLUGIN_FOLDER)}]
        self._write("Pulumi.yaml", json.dumps({"name": "clusterwright", "runtime": runtime, "plugins": {"providers": providers}}))
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

    def destroy(self) -> None:
        self.succeed("destroy", "--yes", "--skip-preview")

    def resources(self) -> Sequence[Mapping[str, Any]]:
        """Give the resources that the state records."""
        latest = json.loads(self.state())["checkpoint"]["latest"] or {}
        found: Sequence[Mapping[str, Any]] = latest.get("resources", [])
        return found


@contextmanager
def deployment(folder: Path, cloud: SimulatedCloud, program: str) -> Iterator[Deployment]:
    """Make a project and end all its processes afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    one = Deployment(folder, cloud, program)
    try:
        yield one
    finally:
        one.end()


__all__ = ["NO_CHANGES", "STACK", "Deployment", "deployment"]
