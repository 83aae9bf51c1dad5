"""The project's own program in a folder of a test, with the machine's facts given: what `pulumi` does with it depends on the blueprint, the state and the code alone."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from tests.components.project import Project
from tests.simcloud.aws import client

PROGRAM = """
import json
import pathlib
from blueprints.facts import Facts
from components import this_machine
from stacks import program

machine = Facts(**json.loads(pathlib.Path("machine.json").read_text()))
assert this_machine.facts
this_machine.facts = lambda stack: machine
program.deploy()
"""
UNCHANGING = ("same", "refresh")
"""Operations of a preview that change nothing in the world; with `--refresh`, each resource has one that looks at it."""
PROVIDER = project_root() / "components" / "provider"


class Stack(Project):
    """One stack of the project.

    Args:
        folder: an empty one.
        name: Pulumi's name of the stack.
        settings: its settings, without the namespace.
        machine: the facts that its program reads.
        environment: what the engine and its plugins have in their environment beside this process's own.
        provider: the folder of the project's provider.
    """

    def __init__(
        self, folder: Path, name: str, *, settings: Mapping[str, Any], machine: Mapping[str, Any], environment: Mapping[str, str], provider: Path = PROVIDER
    ):
        self._environment = environment
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"Pulumi.{name}.yaml").write_text(json.dumps({"config": {f"clusterwright:{key}": value for key, value in settings.items()}}))
        super().__init__(folder, stack=name)
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        providers = [{"name": "aws", "path": str(client.PLUGIN_FOLDER)}, {"name": "clusterwright", "path": str(provider)}]
        self._write("Pulumi.yaml", json.dumps({"name": "clusterwright", "runtime": runtime, "plugins": {"providers": providers}}))
        self._write("__main__.py", PROGRAM)
        self._write("machine.json", json.dumps(machine))

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "PYTHONPATH": os.pathsep.join([str(project_root()), os.environ.get("PYTHONPATH", "")]), **self._environment}

    def export(self) -> dict[str, Any]:
        """Give the state with its secrets in the clear."""
        found: dict[str, Any] = json.loads(self.succeed("stack", "export", "--show-secrets"))
        return found

    def take(self, deployment: Mapping[str, Any]) -> None:
        """Take a state for the stack's own."""
        self._write("deployment.json", json.dumps(deployment))
        self.succeed("stack", "import", "--file", "deployment.json")

    def preview(self, *words: str) -> list[dict[str, Any]]:
        """Give every step of a preview, those that change nothing too."""
        done = self.run("preview", "--json", "--diff", "--show-sames", *words)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        steps: list[dict[str, Any]] = json.loads(done.stdout)["steps"]
        return steps

    @classmethod
    @contextlib.contextmanager
    def of(cls, folder: Path, name: str, **words: Any) -> Iterator["Stack"]:
        """Make the stack, and end all its processes afterwards."""
        one = cls(folder, name, **words)
        try:
            yield one
        finally:
            one.end()


def changed(steps: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Name what a preview would change: operation and name of each resource → the properties that differ."""
    return {
        f"{step['op']} {step['urn'].rpartition('::')[2]}": sorted(step.get("detailedDiff") or step.get("diffReasons") or ())
        for step in steps
        if step["op"] not in UNCHANGING
    }
