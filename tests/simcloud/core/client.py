"""A simulated cloud as a test sees it: start its server, look inside, and make things go wrong."""

import contextlib
import dataclasses
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from tests import processes

from .faults import Effect

ENDS_WITHIN_S = 60
QUIET_LOOKS = 6


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """One thing of the cloud as a test sees it."""

    kind: str
    id: str
    region: str
    properties: Mapping[str, Any]
    tags: Mapping[str, str]
    door: str
    taggable: bool
    addresses: tuple[str, ...]

    def __getitem__(self, name: str) -> Any:
        return self.properties[name]


class CloudError(Exception):
    """The control door refused; `code` says why."""

    def __init__(self, code: str, message: str):
        super().__init__(f"{code}: {message}")
        self.code = code


class SimulatedCloud:
    """A running simulated cloud, whose journal lies in `folder`; `module` is the program of its server."""

    def __init__(self, folder: Path, *, module: str, hosts: str | None = None):
        self.folder, self._module, self._hosts = folder, module, hosts
        self._process: subprocess.Popen[str] | None = None
        self.port = 0
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What the engine, the plugin and the cloud's SDK need in their environment to find this cloud and be let in."""
        return {"CLUSTERWRIGHT_SIMCLOUD": self.address}

    # Its life

    def start(self) -> None:
        """Start the server, after `kill` with all that it held and on the same port."""
        command = [sys.executable, "-m", self._module, str(self.folder), str(self.port), *([self._hosts] if self._hosts else [])]
        environment = {**os.environ, "PYTHONPATH": str(project_root())}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=project_root())
        assert self._process.stdout
        said = self._process.stdout.readline()
        assert said, "the simulated cloud did not start"
        self.port = int(said)

    def kill(self) -> None:
        """End the server as a crash does."""
        assert self._process
        self._process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self) -> None:
        assert self._process
        assert self._process.stdin
        self._process.stdin.close()
        self._ended()

    def wait_for_death(self) -> None:
        """Wait for a death that a fault asked for."""
        self._ended()

    def reset(self) -> None:
        """Empty the cloud: no things, no faults, no settings, the clock at now."""
        self.ask("reset")

    # Looking inside

    def things(self, kind: str | None = None, *, tags: Mapping[str, str] | None = None, ended: bool = False) -> list[Seen]:
        """List what exists, of one kind (`ec2.Subnet`) or all, with these tags; terminated instances only when `ended`."""
        found = self.ask("things", kind=kind, tags=tags, ended=ended)
        return [Seen(**{**one, "addresses": tuple(one["addresses"])}) for one in found]

    def thing(self, kind: str) -> Seen:
        """Give the only thing of a kind."""
        (one,) = self.things(kind)
        return one

    def untagged(self, *names: str) -> list[Seen]:
        """List the things that could carry these tags and do not carry all of them."""
        return [one for one in self.things() if one.taggable and not set(names) <= one.tags.keys()]

    def count(self, match: str) -> int:
        """Count the calls so far whose name matches (`create ec2.*`, `ec2.CreateFleet`)."""
        return int(self.ask("count", match=match))

    def calls(self) -> Mapping[str, int]:
        """Give how often each call was made."""
        found: Mapping[str, int] = self.ask("calls")
        return found

    def wait_for_quiet(self) -> None:
        """Wait until no further call arrives: those that a killed engine had under way may be carried out after its end."""
        looks: list[int] = []

        def is_quiet() -> bool:
            looks.append(sum(self.calls().values()))
            return looks[-QUIET_LOOKS:] == [looks[-1]] * QUIET_LOOKS

        processes.wait_until(is_quiet, awaiting="the end of calls that were under way", within_s=60)

    # Making things go wrong

    def fault(
        self, match: str, effect: Effect = "fail", *, code: str = "InternalError", message: str = "this was asked for by a test", delay_s: float = 0.0, skip: int = 0,
        times: int | None = 1, after: bool = False, where: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Have calls go wrong; see `faults.Fault` for each word."""
        fault = {
            "match": match, "effect": effect, "code": code, "message": message, "delay_s": delay_s, "skip": skip, "times": times, "after": after, "where": where or {},
        }  # fmt: skip
        self.ask("fault", fault=fault)

    def clear_faults(self) -> None:
        self.ask("clear")

    def expire_credentials(self, expired: bool = True) -> None:
        self.set("credentials_expired", expired)

    def deny_writes(self, denied: bool = True) -> None:
        """Let the account's keys read, and no more."""
        self.set("read_only", denied)

    def advance(self, seconds: float) -> float:
        """Move the cloud's clock on; give its time."""
        return float(self.ask("clock", seconds=seconds))

    def drift(self, id: str, *, kind: str | None = None, **properties: Any) -> None:  # noqa: A002 - what every service calls it
        """Change properties of a thing behind the engine's back; where things of several kinds have one id (a bucket and its policy), `kind` says which."""
        self.ask("drift", id=id, kind=kind, properties=properties)

    def lose(self, id: str, *, kind: str | None = None) -> None:  # noqa: A002
        """Take a thing away behind the engine's back."""
        self.ask("lose", id=id, kind=kind)

    def set(self, name: str, value: Any) -> None:
        """Change a setting; README.md lists them."""
        self.ask("set", name=name, value=value)

    def ask(self, command: str, **values: Any) -> Any:
        """Give a command to the tests' door.

        Raises:
            CloudError: it refused.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with contextlib.closing(connection):
            connection.request("POST", "/control", json.dumps({"command": command, **values}))
            answered = json.loads(connection.getresponse().read())
        if "error" in answered:
            raise CloudError(answered["error"]["code"], answered["error"]["message"])
        return answered["result"]

    # How the above is done

    def _ended(self) -> None:
        assert self._process
        self._process.wait(timeout=ENDS_WITHIN_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
