"""Run one program on many hosts at once over SSH, each with a deadline of its own.

The private key and the host keys are files in memory that no folder names: they exist as long as this process does. `ssh` ends with this process, also when this process is killed.
"""

import asyncio
import contextlib
import dataclasses
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence

from blueprints import ssh_places

from ..ssh import jump as ssh_jump
from .recorded_cluster import KnownHost

AT_ONCE = 32
PASSED_ON = ("PATH", "HOME", "LANG", "TZ")
"""What of our environment `ssh` may see; the rest may hold passphrases and cloud credentials."""
CONNECT_WITHIN_S = 10
ALIVE_EVERY_S = 8
ALIVE_MISSED = 3
"""A host that dies sends no farewell: after so many unanswered keep-alives the connection ends."""
SSH_FAILED = 255
"""Exit status of ssh(1) when the connection failed."""
INTERPRETER = "/usr/bin/python3"
TAKEN_BYTES = 64 << 20
"""More output than this is no answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What a host gave."""

    output: bytes = b""
    unreachable: str = ""
    """Why there was no connection, or no answer in time."""
    failed: str = ""
    """Why the program did not end well."""
    asked_s: tuple[float, float] = (0.0, 0.0)
    """When the host was asked and when it had answered, seconds since 1970 by this machine's clock."""


def run(programs: Mapping[KnownHost, bytes], *, private_key: str, within_s: float) -> dict[KnownHost, Answer]:
    """Run a Python program on each host.

    Args:
        programs: host → the program's text, which it gets on its standard input.
        within_s: how long a host may take in all.
    Raises:
        FileNotFoundError: this machine has no `ssh`.
    """
    if not shutil.which("ssh"):
        raise FileNotFoundError("this machine has no ssh: install OpenSSH's client")
    with _in_memory("key", private_key if private_key.endswith("\n") else f"{private_key}\n") as key, _in_memory("known_hosts", known_hosts(programs)) as hosts:
        return asyncio.run(_all(programs, options(key, hosts), within_s))


def known_hosts(hosts: Mapping[KnownHost, bytes]) -> str:
    """Write known_hosts(5) for hosts and what they are reached through."""
    lines = [f"{ssh_places.known_place(host.address, host.port)} {host.host_key}" for host in hosts] + [
        f"{host.jump} {host.jump_key}" for host in hosts if host.jump
    ]
    return "".join(f"{line}\n" for line in dict.fromkeys(lines))


def options(key: str, hosts: str) -> tuple[str, ...]:
    """Give the options of ssh(1).

    Args:
        key: path of the private key.
        hosts: path of the hosts' public keys.
    """
    named = {
        "BatchMode": "yes",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": hosts,
        "GlobalKnownHostsFile": "none",
        "UpdateHostKeys": "no",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ConnectTimeout": str(CONNECT_WITHIN_S),
        "ServerAliveInterval": str(ALIVE_EVERY_S),
        "ServerAliveCountMax": str(ALIVE_MISSED),
        "LogLevel": "ERROR",
    }
    return ("-i", key, *(word for name, value in named.items() for word in ("-o", f"{name}={value}")))


def command(host: KnownHost, chosen: Sequence[str]) -> tuple[str, ...]:
    """Give the command that runs the program on a host."""
    way = ssh_jump.through(chosen, host.jump, host.jump_command)
    return ("ssh", "-T", *chosen, *way, *ssh_places.port_option(host.port), f"root@{host.address}", f"exec {INTERPRETER} -IS -")


async def _all(programs: Mapping[KnownHost, bytes], chosen: Sequence[str], within_s: float) -> dict[KnownHost, Answer]:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(host: KnownHost, program: bytes) -> Answer:
        async with places:
            begun_s = time.time()
            answer = await _one(command(host, chosen), program, within_s)
            return dataclasses.replace(answer, asked_s=(begun_s, time.time()))

    answers = await asyncio.gather(*(one(host, program) for host, program in programs.items()))
    return dict(zip(programs, answers, strict=True))


async def _one(argv: Sequence[str], program: bytes, within_s: float) -> Answer:
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*_ends_with_us(), *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True)
    try:
        output, complaints = await asyncio.wait_for(process.communicate(program), within_s)
    except TimeoutError:
        return Answer(unreachable=f"it gave no answer within {within_s:g} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    reason = complaints.decode(errors="replace").strip()
    if process.returncode == SSH_FAILED:
        return Answer(unreachable=reason or "the connection ended")
    if process.returncode != 0:
        return Answer(failed=reason.rpartition("\n")[2] or f"the inspection ended with status {process.returncode}")
    return Answer(output)


def _ends_with_us() -> tuple[str, ...]:
    """Give the words before a command that let the kernel kill it with this process; none where the system has no setpriv(1)."""
    return ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()


@contextlib.contextmanager
def _in_memory(name: str, text: str) -> Iterator[str]:
    """Give the path of a private file in memory, for programs of this user, as long as it is needed."""
    descriptor = os.memfd_create(name)
    try:
        os.fchmod(descriptor, 0o600)
        with open(descriptor, "w", encoding="utf-8", closefd=False) as stream:
            stream.write(text)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)
