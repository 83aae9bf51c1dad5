"""Run one program on many servers at once over SSH: as their operator, who becomes root by sudo, or as root with the stack's own key once a server is adopted.

The program travels on the standard input of the server's Python, so that nothing of it is seen in a list of processes and nothing of it stays. Host keys are always verified.
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from blueprints import ssh_places

from ..files import memory_folders

AT_ONCE = 32
CONNECT_WITHIN_S = 10
SSH_FAILED = 255
"""Exit status of ssh(1) when the connection failed."""
INTERPRETER = "/usr/bin/python3"
PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "SSH_AUTH_SOCK")
"""What of our environment ssh(1) may see; the rest may hold passphrases and cloud credentials."""
ROOT = "root"
_CHANGED_KEY = re.compile(r"IDENTIFICATION HAS CHANGED|Host key verification failed|No \S+ host key is known")
_NO_LOGIN = re.compile(r"Permission denied|Too many authentication failures")
_SUDO_ASKS = re.compile(r"sudo: .*(password|terminal)|is not (in the sudoers file|allowed to)")

_AS_USER_TOO = (
    f"exec /bin/sh -c 'test -x {INTERPRETER} || {{ echo {INTERPRETER}: not found >&2; exit 127; }}; command -v sudo >/dev/null || exec {INTERPRETER} -IS - missing; "
    f'refusal=$(sudo -n {INTERPRETER} -V 2>&1) && exec sudo -n {INTERPRETER} -IS -; exec {INTERPRETER} -IS - "${{refusal:-it gave no reason}}"\''
)


@dataclasses.dataclass(frozen=True, slots=True)
class Login:
    """How the operator logs in."""

    user: str
    port: int = ssh_places.SSH_PORT
    identity: str = ""
    """Path of a private key; empty: what ssh(1) finds by itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """One server as the inventory has it."""

    name: str
    address: str
    host_key: str


class Trouble(Enum):
    """Why a server gave no answer."""

    UNREACHABLE = "unreachable"
    HANGS = "hangs"
    """It was connected, and the program gave no answer in time."""
    OTHER_KEY = "other key"
    NO_LOGIN = "no login"
    NO_SUDO = "no sudo"
    NO_PYTHON = "no python"
    FAILED = "failed"


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    value: Mapping[str, Any] | None = None
    trouble: Trouble | None = None
    said: str = ""
    """What ssh(1) or the program said, where there was trouble."""
    complaints: str = ""
    """All of it."""
    is_second_way: bool = False
    """Whether the first way in was refused: to an adopted server's root, with the stack's key."""
    asked_s: tuple[float, float] = (0.0, 0.0)
    """When the server was asked, and when it had answered, seconds since 1970 by this machine's clock."""

    @property
    def is_silent(self) -> bool:
        """Say whether the server may be off: nothing at its address speaks SSH, or what does never ends."""
        return self.trouble in (Trouble.UNREACHABLE, Trouble.HANGS)


def run(
    programs: Mapping[Server, bytes],
    login: Login,
    *,
    mark: str,
    stack_key: str = "",
    within_s: float,
    as_root_first: bool = False,
    as_user_too: bool = False,
) -> dict[Server, Answer]:
    """Run a Python program on each server as root, all at once.

    A server whose first way in is refused is tried the second way: the operator's account where the stack's key is not installed, the stack's key where the operator's is unknown here.

    Args:
        programs: server → text of its program, which prints one line of JSON after `mark`.
        stack_key: the stack's private key, which root accepts on adopted servers; empty: it is not used.
        as_root_first: the servers are adopted, so that the stack's key is likely to be accepted.
        as_user_too: where sudo refuses, run the program as the operator, with what sudo said as its argument (`missing`: there is no sudo).
    Raises:
        FileNotFoundError: this machine has no ssh(1).
    """
    if not shutil.which("ssh"):
        raise FileNotFoundError("this machine has no ssh: install OpenSSH's client")
    memory_folders.clear_orphans()
    with tempfile.TemporaryDirectory(prefix=f"{memory_folders.PREFIX}{os.getpid()}-", dir=memory_folders.MEMORY) as folder:
        ways = [_operators(login, as_user_too=as_user_too)]
        if stack_key:
            ways.insert(0 if as_root_first else 1, _stacks(login, _private(Path(folder) / "key", stack_key)))
        known = _private(Path(folder) / "known_hosts", "".join(f"{ssh_places.known_place(one.address, login.port)} {one.host_key}\n" for one in programs))
        return asyncio.run(_all(programs, ways, known, mark, within_s))


def explain(server: Server, answer: Answer, login: Login) -> str:
    """Say in one sentence or two why a server gave no answer, and what to do."""
    to = f"{login.user}@{server.address}"
    match answer.trouble:
        case Trouble.UNREACHABLE | Trouble.HANGS:
            return f"{server.name} ({server.address}) does not answer: {answer.said}"
        case Trouble.OTHER_KEY:
            return (
                f"{server.name} ({server.address}) has another SSH host key than the inventory says. If it was reinstalled, remove its old key from the "
                f"inventory, and run `clusterwright lookup hosts` with your blueprint and `--write`"
            )
        case Trouble.NO_LOGIN:
            return f"{server.name} refuses the login of {to}: {answer.said}. `ssh {_port(login)}{to} true` must work without a question"
        case Trouble.NO_SUDO:
            return f"on {server.name}, {login.user} may not become root without a password: {answer.said}. `ssh {_port(login)}{to} sudo -n true` must work"
        case Trouble.NO_PYTHON:
            return f"{server.name} has no {INTERPRETER}: `ssh {_port(login)}{to} sudo apt-get install --yes python3` installs it"
        case _:
            return f"{server.name}: {answer.said}"


def _port(login: Login) -> str:
    return "".join(f"{word} " for word in ssh_places.port_option(login.port))


@dataclasses.dataclass(frozen=True, slots=True)
class _Way:
    """One way to become root on a server."""

    user: str
    options: tuple[str, ...]
    command: str = f"exec {INTERPRETER} -IS -"

    def argv(self, server: Server, known: str) -> list[str]:
        options = ["-T", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={known}", "-o", "GlobalKnownHostsFile=/dev/null"]
        options += [
            "-o",
            "UpdateHostKeys=no",
            "-o",
            "ControlMaster=no",
            "-o",
            "ControlPath=none",
            "-o",
            f"ConnectTimeout={CONNECT_WITHIN_S}",
            "-o",
            "LogLevel=ERROR",
        ]
        options += ["-o", "ServerAliveInterval=8", "-o", "ServerAliveCountMax=3", *self.options]
        return ["ssh", *options, "-l", self.user, server.address, self.command]


def _operators(login: Login, *, as_user_too: bool) -> _Way:
    chosen = ("-i", str(Path(login.identity).expanduser()), "-o", "IdentitiesOnly=yes") if login.identity else ()
    options = ("-p", str(login.port), *chosen)
    if login.user == ROOT:
        return _Way(login.user, options)
    return _Way(login.user, options, _AS_USER_TOO if as_user_too else f"exec sudo -n {INTERPRETER} -IS -")


def _stacks(login: Login, key: str) -> _Way:
    return _Way(ROOT, ("-F", "/dev/null", "-p", str(login.port), "-i", key, "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"))


def _private(path: Path, text: str) -> str:
    path.touch(mode=0o600)
    path.write_text(text if text.endswith("\n") or not text else f"{text}\n")
    return str(path)


async def _all(programs: Mapping[Server, bytes], ways: Sequence[_Way], known: str, mark: str, within_s: float) -> dict[Server, Answer]:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(server: Server, program: bytes) -> Answer:
        async with places:
            answers: list[Answer] = []
            for way in ways:
                begun_s = time.time()
                answer = await _one(way.argv(server, known), program, mark, within_s)
                answers.append(dataclasses.replace(answer, asked_s=(begun_s, time.time()), is_second_way=bool(answers)))
                if answers[-1].trouble not in (Trouble.NO_LOGIN, Trouble.NO_SUDO):
                    return answers[-1]
            # The operator reads about the own login, not about a key of the stack's.
            return next((answer for way, answer in zip(ways, answers, strict=True) if way is not ways[-1] and way.user != ROOT), answers[-1])

    found = await asyncio.gather(*(one(server, program) for server, program in programs.items()))
    return dict(zip(programs, found, strict=True))


async def _one(argv: Sequence[str], program: bytes, mark: str, within_s: float) -> Answer:
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"LC_ALL": "C.UTF-8"}
    ends_with_us = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*ends_with_us, *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True)
    try:
        output, complaints = await asyncio.wait_for(process.communicate(program), within_s)
    except TimeoutError:
        return Answer(trouble=Trouble.HANGS, said=f"no answer within {within_s:g} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    said = complaints.decode(errors="replace").strip()
    return dataclasses.replace(_read(output.decode(errors="replace"), said, process.returncode or 0, mark), complaints=said)


def _read(output: str, complaints: str, status: int, mark: str) -> Answer:
    """Tell what became of a connection from what was printed. Pure."""
    line = next((line for line in reversed(output.splitlines()) if line.startswith(mark)), None)
    if line is not None:
        return Answer(value=json.loads(line.removeprefix(mark)))
    last = complaints.rpartition("\n")[2]
    if status == SSH_FAILED:
        if _CHANGED_KEY.search(complaints):
            return Answer(trouble=Trouble.OTHER_KEY, said=last)
        return Answer(trouble=Trouble.NO_LOGIN if _NO_LOGIN.search(complaints) else Trouble.UNREACHABLE, said=last or "the connection ended")
    if _SUDO_ASKS.search(complaints):
        return Answer(trouble=Trouble.NO_SUDO, said=last)
    if f"{INTERPRETER}: " in complaints and ("not found" in complaints or "No such file" in complaints):
        return Answer(trouble=Trouble.NO_PYTHON, said=last)
    return Answer(trouble=Trouble.FAILED, said=last or f"the program ended with status {status}")
