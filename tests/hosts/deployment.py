"""A stack of a test: its own name, state and engine home, driven as a user drives it, and gone at the end whatever happened."""

import contextlib
import dataclasses
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from components.local.machine import command, sweep
from components.local.machine import host as hosts
from components.local.machine.names import HostNames, StackNames
from components.provider import packed
from stacks.project import private_folder, stack_file
from tests.components.project import NO_PACKAGES

UP_WITHIN_S = 1800
SOON_S = 240
"""What takes a moment on an idle machine; tests of other hosts run beside."""
LOOK_EVERY_S, LONGEST_PAUSE_S = 0.1, 0.5
PAUSE_PER_LOOK = 2
"""A look that is a login or a command takes as much time of a processor as what it waits for; pauses that grow with it leave that time to others."""
UNCHANGING = ("same", "refresh")
"""Operations of a preview that change nothing in the world."""

QUICK_SSH = ("-o", "KexAlgorithms=curve25519-sha256")
"""The default of this machine's client computes for 0.06 s on either side of every connection; hosts of tests take both."""


@dataclasses.dataclass(frozen=True, slots=True)
class Deployment:
    """One stack; `home` is the folder of its state and of the engine's own files."""

    stack: str
    home: Path

    @property
    def names(self) -> StackNames:
        return StackNames(self.stack)

    def host(self, hostname: str) -> HostNames:
        return self.names.host(hostname)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PULUMI_HOME": str(self.home / "pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self.home / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.home / "passphrase"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **NO_PACKAGES,
        }

    def prepare(self, **settings: Any) -> None:
        """Make the folders and the stack's settings."""
        (self.home / "state").mkdir(parents=True, exist_ok=True)
        (self.home / "passphrase").write_text("correct horse battery staple")
        if settings:
            config = {f"clusterwright:{name}": value for name, value in settings.items()}
            stack_file(self.stack).write_text(json.dumps({"config": config}))

    def choose(self, path: str, value: object) -> None:
        """Set one of the stack's own values, as a user does; None takes it back."""
        key = f'clusterwright:set["{path}"]'
        text = str(value).lower() if isinstance(value, bool) else str(value)
        words = ["rm", "--path", key] if value is None else ["set", "--path", key, text]
        done = self.run("pulumi", "config", *words, "--stack", self.stack)
        assert done.returncode == 0, done.stderr

    def run(self, *argv: str, stdin: str | None = None, within_s: float = UP_WITHIN_S) -> subprocess.CompletedProcess[str]:
        """Run a command in the project folder to its end."""
        return subprocess.run(argv, cwd=project_root(), env=self.environment, input=stdin, capture_output=True, text=True, timeout=within_s, check=False)

    def clusterwright(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("clusterwright", command, "--stack", self.stack, *words)

    def up(self) -> str:
        """Bring the stack up; the output is given, a failure fails the test with it."""
        done = self.clusterwright("up")
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        return done.stdout

    def down(self) -> None:
        done = self.clusterwright("down")
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]

    def up_until(self, seen: Callable[[str], bool]) -> None:
        """Start `up` and kill its engine, as `kill -9` does, as soon as a line of its output is `seen`; returns when all that the run started has ended."""
        process = subprocess.Popen(
            ["clusterwright", "up", "--verbose", "--stack", self.stack], cwd=project_root(), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )  # fmt: skip
        said = []
        try:
            assert process.stdout
            for line in process.stdout:
                said.append(line)
                if seen(line):
                    break
            else:
                raise AssertionError("the run ended before the point at which it was to be killed:\n" + "".join(said)[-4000:])
            engines = self.engines()
            assert engines, "no engine runs at the point at which it was to be killed:\n" + "".join(said)[-4000:]
            for pid in engines:
                os.kill(pid, signal.SIGKILL)
            process.stdout.read()
        finally:
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]

    def up_while(self, seen: Callable[[str], bool], act: Callable[[], object]) -> tuple[int, str]:
        """Run `up` to its end and `act` as soon as a line of its output is `seen`; give its exit status and all that it said."""
        process = subprocess.Popen(
            ["clusterwright", "up", "--verbose", "--stack", self.stack],
            cwd=project_root(), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        said, acted = [], False
        with process:
            assert process.stdout
            for line in process.stdout:
                said.append(line)
                if not acted and seen(line):
                    acted = True
                    act()
        assert acted, "".join(said)[-4000:]
        return process.returncode, "".join(said)

    def engines(self) -> list[int]:
        return [pid for pid, command in self.processes().items() if command == "pulumi"]

    def processes(self) -> dict[int, str]:
        """Processes of this test's runs (engine, plugins, language host, program, playbook runs), told by their environment or name: pid → command."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                ours = f"PULUMI_HOME={self.home}".encode() in (folder / "environ").read_bytes()
                ours = ours or f"components.finish.supervise\0{self.stack} ".encode() in (folder / "cmdline").read_bytes()
                if ours:
                    found[int(folder.name)] = (folder / "comm").read_text().strip()
        return found

    def outputs(self) -> dict[str, Any]:
        done = self.run("pulumi", "stack", "output", "--json", "--show-secrets", "--stack", self.stack)
        assert done.returncode == 0, done.stderr
        return packed.unpack_each(json.loads(done.stdout))

    def preview_changes(self) -> dict[str, int]:
        """Ask the engine what an `up` would change, looking at the world first: operation → number of resources."""
        changes: dict[str, int] = self._preview().get("changeSummary", {})
        return {operation: number for operation, number in changes.items() if operation != "same"}

    def preview_steps(self) -> list[str]:
        """Do as `preview_changes`, and name each resource: `update finish-control`."""
        return sorted(f"{step['op']} {step['urn'].rpartition('::')[2]}" for step in self._preview()["steps"] if step["op"] not in UNCHANGING)

    def _preview(self) -> dict[str, Any]:
        done = self.run("pulumi", "preview", "--refresh", "--json", "--stack", self.stack)
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def ssh(self, command: str, *, user: str = "ada") -> str:
        """Log in as a user does, through the balancer, and give what the command prints.

        With the keys and the address that the last `up` wrote: `clusterwright ssh`, which asks the engine for them, takes ten times as long.
        """
        folder = private_folder(self.stack)
        place = (folder / "known_hosts").read_text().split()[0]
        address, port = re.fullmatch(r"\[?([^\[\]]+?)\]?(?::(\d+))?", place).groups()  # type: ignore[union-attr]
        options = ["-i", str(folder / f"{user}.key"), "-o", f"UserKnownHostsFile={folder / 'known_hosts'}", *QUICK_SSH]
        done = self.run("ssh", *options, *(("-p", port) if port else ()), f"{user}@{address}", command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def wait_for_idle(self, nodes: int) -> None:
        """Wait until all nodes are idle: the last job of an acceptance may still be clearing up when `up` has ended."""
        wait_until(lambda: self.ssh("sinfo --noheader --format='%D %t'").split() == [str(nodes), "idle"], awaiting=f"{nodes} idle nodes", within_s=SOON_S)

    def inside(self, hostname: str, *argv: str, stdin: str = "", within_s: float = SOON_S) -> str:
        """Run a command in a host as its root, past SSH and Slurm, and give what it prints."""
        return command.run(
            "nsenter", f"--target={self.guest(hostname)}", "--mount", "--pid", "--net", "--ipc", "--uts", "--", *argv, stdin=stdin, within_s=within_s
        )

    def inside_all(self, hostname: str, *argv: str) -> str:
        """Do as `inside`, in the host's control groups and root folder, too: for programs that speak to its systemd."""
        return command.run("nsenter", f"--target={self.guest(hostname)}", "--all", "--root", "--wd", "--", *argv)

    def guest(self, hostname: str) -> int:
        """Process id of the host's first process, as this machine counts it."""
        leader = self.leaders()[hostname]
        return int(Path(f"/proc/{leader}/task/{leader}/children").read_text().split()[0])

    def leaders(self) -> dict[str, int]:
        """Hostname → process id of its container."""
        return {path.parent.name: json.loads(path.read_text())["pid"] for path in self.names.run.glob("*/leader.json")}

    def standing(self, pool: str) -> set[str]:
        """Hosts of a pool that run, or whose disk is not removed yet."""
        return {name for name in (*self.leaders(), *(path.name for path in self.names.hosts.iterdir())) if name.rpartition("-")[0] == pool}

    def cut_power(self, hostname: str) -> None:
        """Kill a host as a power cut does; its disk stays."""
        hosts.kill(self.host(hostname))

    def remove_all(self) -> None:
        """Leave nothing, whatever the test left: processes by id, then the stack, then its files."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for about in self.names.folders.glob(".*.json"):
            about.write_text('{"incarnation": "", "protect": false}')
        if sweep.left_behind(self.names):
            sweep.sweep(self.names, wait_until=wait_until, say=lambda text: print(text, file=sys.stderr))
        stack_file(self.stack).unlink(missing_ok=True)
        shutil.rmtree(private_folder(self.stack), ignore_errors=True)


def wait_until(done: Callable[[], bool], *, awaiting: str, within_s: float) -> None:
    """Wait for a condition; fail naming what was awaited."""
    look = time.monotonic()
    deadline = look + within_s
    while not done():
        now = time.monotonic()
        if now > deadline:
            raise AssertionError(f"waited {within_s:.0f} s for {awaiting}")
        select.select((), (), (), min(max(LOOK_EVERY_S, PAUSE_PER_LOOK * (now - look)), LONGEST_PAUSE_S))
        look = time.monotonic()


@contextlib.contextmanager
def deployment(stack: str, home: Path, **settings: Any) -> Iterator[Deployment]:
    one = Deployment(stack, home)
    one.remove_all()  # what a killed earlier test left under the same name
    one.prepare(**settings)
    try:
        yield one
    finally:
        one.remove_all()
