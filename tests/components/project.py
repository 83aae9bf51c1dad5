"""A Pulumi project of a test: its own engine home, state and stack, the test kinds behind its provider, and an end for every process that it started."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from blueprints.project import project_root
from components.finish import inspection_results

STACK = "dev"
ENDS_WITHIN_S = 120
PASSPHRASE = "correct horse battery staple"
INITIALISED: dict[str, tuple[dict[str, bytes], str]] = {}
"""Stack → files of a backend that has just been given it, and the salt of its secrets in its settings."""
WRITES_ONCE = {"PULUMI_SKIP_CHECKPOINTS": "true"}
"""The engine writes its record at the end, not after each step, when nobody is to end it before."""
UNCHANGED = ("same", "refresh", "read")
PARTS_OF_REPLACE = ("create-replacement", "delete-replaced")
"""Operations of a run that a preview shows as one, `replace`."""
NO_PACKAGES = {"PYTHONPATH": str(project_root() / "tests" / "no_packages")}
"""The engine asks that folder's `pip`, and not Python's."""
PROGRAM = """
import json
import pathlib
import pulumi
from components import debug_messages, engine_watch
from components.provider.resource import OwnResource

engine_watch.end_with_engine()
debug_messages.leave_out()
for one in json.loads(pathlib.Path("resources.json").read_text()):
    inputs = {name: pulumi.Output.secret(value) if name in one["secrets"] else value for name, value in one["inputs"].items()}
    made = OwnResource(one["token"], one["name"], inputs=inputs, outputs=one["outputs"])
    for output in one["outputs"]:
        pulumi.export(f"{one['name']}.{output}", made.output(output))
"""


class Project:
    """A project with one stack, driven by the real engine."""

    def __init__(self, folder: Path, *, stack: str = STACK):
        self.folder, self.stack = folder, stack
        self.state_folder = folder / "state"
        self._started: list[subprocess.Popen[str]] = []
        self._provider()
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        self._write(
            "Pulumi.yaml", json.dumps({"name": "clusterwright", "runtime": runtime, "plugins": {"providers": [{"name": "test", "path": "./provider"}]}})
        )
        self._write("__main__.py", PROGRAM)
        self.state_folder.mkdir()
        self._initialise()

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": self.state_folder.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            **inspection_results.AS_RECORDED,  # its hosts answer nobody
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **NO_PACKAGES,
        }

    def declare(self, token: str, name: str, *, outputs: Sequence[str] = (), secrets: Sequence[str] = (), **inputs: Any) -> None:
        """Have the program register this resource and no other."""
        self._write("resources.json", json.dumps([{"token": token, "name": name, "inputs": inputs, "outputs": outputs, "secrets": secrets}]))

    def run(self, *words: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        process = self.start(*words, variables=variables)
        said, complained = process.communicate(timeout=ENDS_WITHIN_S)
        return subprocess.CompletedProcess(words, process.returncode, said, complained)

    def succeed(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        done = self.run(*words, variables=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self, *words: str) -> str:
        """Run to the end; a run that is to be cut off is started by `run` or `start`."""
        return self.succeed("up", "--yes", "--skip-preview", *words, variables=WRITES_ONCE)

    def up_changes(self, *words: str) -> dict[str, list[str]]:
        """Run to the end, and give what it did: operation → names of resources in order, those that stay left out. A preview before it would run the program twice."""
        log = self.folder / "events.jsonl"
        self.succeed("up", "--yes", "--skip-preview", "--event-log", str(log), *words, variables={**WRITES_ONCE, "PULUMI_DEBUG_COMMANDS": "true"})
        found: dict[str, list[str]] = {}
        for line in log.read_text().splitlines():
            step = json.loads(line).get("resourcePreEvent", {}).get("metadata")
            if step is not None and step["op"] not in UNCHANGED and step["op"] not in PARTS_OF_REPLACE:
                found.setdefault(step["op"], []).append(step["urn"].rpartition("::")[2])
        log.unlink()
        return {operation: sorted(names) for operation, names in found.items()}

    def destroy(self) -> None:
        """Delete all, to the end."""
        self.succeed("destroy", "--yes", "--skip-preview", variables=WRITES_ONCE)

    def start(self, *words: str, variables: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start the engine in a process group of its own."""
        process = subprocess.Popen(
            ["pulumi", *words, "--non-interactive", *([] if words[:2] == ("stack", "init") else ["--stack", self.stack])],
            cwd=self.folder, env={**self.environment, **(variables or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self._started.append(process)
        return process

    def state(self) -> str:
        """The recorded state, as it lies in its file."""
        return (self.state_folder / ".pulumi" / "stacks" / "clusterwright" / f"{self.stack}.json").read_text()

    def resources(self) -> Sequence[Mapping[str, Any]]:
        """Give the resources that the state records."""
        latest = json.loads(self.state())["checkpoint"]["latest"] or {}
        found: Sequence[Mapping[str, Any]] = latest.get("resources", [])
        return found

    def recorded(self, name: str) -> Mapping[str, Any] | None:
        """What the state says of a resource."""
        return next((one for one in self.resources() if one["urn"].endswith(f"::{name}")), None)

    def exported(self, name: str) -> Any:
        """Give an output of the stack that is no secret, from the file: the engine would derive the stack's key to read it."""
        (stack,) = (one for one in self.resources() if one["type"] == "pulumi:pulumi:Stack")
        return stack["outputs"][name]

    def end(self) -> None:
        """End every process group that was started, language hosts and plugins included."""
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdout, process.stderr):
                assert pipe
                pipe.close()

    def _initialise(self) -> None:
        """Make the stack as `pulumi stack init` made the first of its name: the engine would derive its key from the passphrase for each, a third of a second."""
        settings = self.folder / f"Pulumi.{self.stack}.yaml"
        if self.stack not in INITIALISED:
            self.succeed("stack", "init", self.stack)
            files = {str(file.relative_to(self.state_folder)): file.read_bytes() for file in self.state_folder.rglob("*") if file.is_file()}
            INITIALISED[self.stack] = files, yaml.safe_load(settings.read_text())["encryptionsalt"]
            return
        files, salt = INITIALISED[self.stack]
        for name, content in files.items():
            file = self.state_folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        before = yaml.safe_load(settings.read_text()) if settings.exists() else {}
        settings.write_text(json.dumps({**before, "encryptionsalt": salt}))

    def _provider(self) -> None:
        plugin = self.folder / "provider" / "pulumi-resource-test"
        plugin.parent.mkdir()
        plugin.write_text(
            f'#!/bin/sh\nexport PYTHONPATH="{project_root()}" CLUSTERWRIGHT_ENGINE_PID=$PPID\nexec "{sys.executable}" -m tests.components.plugin "$@"\n'
        )
        plugin.chmod(0o755)

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)


@contextlib.contextmanager
def project(folder: Path) -> Iterator[Project]:
    one = Project(folder)
    try:
        yield one
    finally:
        one.end()
