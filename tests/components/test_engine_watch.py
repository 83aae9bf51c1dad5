"""What an engine started ends with it, also when it is killed: real processes, with a parent in the engine's place."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints.project import project_root
from components.files import memory_folders
from tests import processes
from tests.processes import Watched

PLUGIN = """
import os, signal
from components import engine_watch
engine_watch.LOOK_FOR_SIBLINGS_S = float(os.environ["LOOK_EVERY_S"])
engine_watch.end_with(os.getppid())
signal.pause()
"""
SECRETIVE = """
import os, signal
from components import engine_watch
from components.files import memory_folders
(memory_folders.make_folder() / "key").write_text("secret")
engine_watch.end_with(os.getppid())
signal.pause()
"""
PROGRAM = """
import signal
from components import engine_watch
engine_watch.end_with_engine()
signal.pause()
"""


class Engine:
    """A shell in the engine's place: it starts what it is told to and waits."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.process: subprocess.Popen[str] | None = None

    def named(self, name: str, of: str) -> str:
        """Give a program of the machine under another name."""
        shutil.copy(str(shutil.which(of)), self._folder / name)
        return str(self._folder / name)

    def start(self, *commands: str, look_every_s: float = 1) -> list[int]:
        """Start commands as children and give their process ids; `$python` runs this project's Python."""
        script = "".join(f"{command} & echo $!\n" for command in commands) + "wait\n"
        environment = {**os.environ, "python": sys.executable, "PYTHONPATH": str(project_root()), "LOOK_EVERY_S": str(look_every_s)}
        environment |= {"PLUGIN": PLUGIN, "SECRETIVE": SECRETIVE, "PROGRAM": PROGRAM}
        self.process = subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
        assert self.process.stdout
        return [int(self.process.stdout.readline()) for _ in commands]

    def kill(self) -> None:
        assert self.process
        self.process.kill()

    def end(self) -> None:
        """End it with all that it started: they are one process group."""
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            assert self.process.stdout
            self.process.stdout.close()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    one = Engine(tmp_path)
    yield one
    one.end()


def watches(pid: int, other: int) -> bool:
    """Say whether a process holds a handle on another one."""
    try:
        return any(f"Pid:\t{other}\n" in handle.read_text() for handle in Path(f"/proc/{pid}/fdinfo").iterdir())
    except OSError:
        return False


def test_a_plugin_ends_with_its_killed_engine_and_takes_the_language_host_along(engine: Engine, tmp_path: Path) -> None:
    host = engine.named("pulumi-language-test", of="sleep")
    os.mkfifo(tmp_path / "gate")
    # So rarely does the plugin look for siblings here that only its first look counts: an engine may be killed in its first second.
    pids = engine.start(f"{host} 1000", "sleep 1000", f'(read line <{tmp_path}/gate; exec "$python" -c "$PLUGIN")', look_every_s=1000)
    language_host, stranger, plugin = pids
    with Watched([language_host, plugin]) as ours, Watched([stranger]) as others:
        processes.wait_until(lambda: processes.command_line(language_host) == f"{host} 1000", awaiting="the language host to run under its name")
        (tmp_path / "gate").write_text("go\n")
        processes.wait_until(lambda: watches(plugin, language_host), awaiting="the plugin to know the language host")
        assert len(ours.alive()) == 2
        engine.kill()
        ours.wait_for_end()
        assert len(others.alive()) == 1


def test_a_plugin_learns_of_a_language_host_that_starts_after_it(engine: Engine, tmp_path: Path) -> None:
    host = engine.named("pulumi-language-late", of="sleep")
    os.mkfifo(tmp_path / "gate")
    plugin, late = engine.start('"$python" -c "$PLUGIN"', f"(read line <{tmp_path}/gate; exec {host} 1000)", look_every_s=0.05)
    assert engine.process
    with Watched([plugin, late]) as ours:
        processes.wait_until(lambda: watches(plugin, engine.process.pid), awaiting="the plugin to watch the engine")  # type: ignore[union-attr]
        (tmp_path / "gate").write_text("go\n")
        processes.wait_until(lambda: watches(plugin, late), awaiting="the plugin to know the language host")
        engine.kill()
        ours.wait_for_end()


def test_a_plugin_takes_its_folders_in_memory_along(engine: Engine) -> None:
    (plugin,) = engine.start('"$python" -c "$SECRETIVE"')
    assert engine.process
    with Watched([plugin]) as ours:
        processes.wait_until(lambda: watches(plugin, engine.process.pid), awaiting="the plugin to watch the engine")  # type: ignore[union-attr]
        assert [folder.name for folder in memory_folders.MEMORY.glob(f"{memory_folders.PREFIX}{plugin}-*/key")] == ["key"]
        engine.kill()
        ours.wait_for_end()
        assert list(memory_folders.MEMORY.glob(f"{memory_folders.PREFIX}{plugin}-*")) == []


def test_a_plugin_whose_engine_is_gone_already_ends_at_once() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = subprocess.run(
        [sys.executable, "-c", f"from components import engine_watch; engine_watch.end_with({gone.pid}); import signal; signal.pause()"],
        cwd=project_root(), timeout=processes.WITHIN_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1


def test_a_program_ends_with_the_engine_of_its_language_host(engine: Engine) -> None:
    host = engine.named("pulumi-language-sh", of="dash")
    (language_host,) = engine.start(f"""{host} -c '"$python" -c "$PROGRAM"; exit'""")
    assert engine.process
    engine_pid = engine.process.pid
    processes.wait_until(lambda: any(watches(pid, engine_pid) for pid in processes.below(language_host)), awaiting="the program to watch the engine")
    with Watched([language_host, *processes.below(language_host)]) as ours:
        assert len(ours.alive()) == 2
        engine.kill()
        ours.wait_for_end()


def test_a_program_that_no_language_host_started_is_left_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from components import engine_watch; engine_watch.end_with_engine(); import threading; print(threading.active_count())"],
        cwd=project_root(), capture_output=True, text=True, timeout=processes.WITHIN_S, check=True,
    )  # fmt: skip
    assert done.stdout == "1\n"
