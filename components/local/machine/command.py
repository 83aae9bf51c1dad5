"""Run the machine's own tools."""

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence

PASSED_ON = ("PATH", "HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
"""What of our environment a tool may see; the rest may hold passphrases and cloud credentials."""
LOOK_EVERY_S = 0.2
SAID_LIMIT = 3000
FIRST_FREE_DESCRIPTOR = 10  # a shell's script names descriptors of one digit


class CommandFailed(RuntimeError):
    """A tool of the machine refused; the text names the command and what it said."""


def run(*argv: str, stdin: str = "", within_s: float = 60) -> str:
    """Run a command and give its output.

    Raises:
        CommandFailed: it ended with another status than 0, is not installed, or took longer than `within_s` seconds.
    """
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=within_s, check=False, env=environment())
    except FileNotFoundError as error:
        raise CommandFailed(f"{argv[0]} is not installed; `make setup` installs what is missing") from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"`{_shown(argv)}` did not end within {within_s:.0f} s") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or "no output"
        raise CommandFailed(f"`{_shown(argv)}` ended with status {done.returncode}: {said}")
    return done.stdout


def run_long(*argv: str, check: Callable[[], None], held: Sequence[int]) -> str:
    """Run a command that takes minutes, as a process group that ends with this process, however that ends.

    Args:
        check: called all the time; what it raises ends the command.
        held: descriptors of locks that the command holds too, so that the lock lasts as long as anything of it runs.
    Raises:
        CommandFailed: it ended with another status than 0.
    """
    alive, ours = os.pipe()  # the other end closes with this process: then the shell's first child ends the group
    guard = 'exec 9<&0 </dev/null; (read -r _ <&9; kill -s KILL -- -$$) >/dev/null 2>&1 & exec "$@" 9<&-'
    locks = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, FIRST_FREE_DESCRIPTOR) for descriptor in held]
    said = os.memfd_create("said")
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", guard, "sh", *argv], stdin=alive, stdout=said, stderr=said, env=environment(), start_new_session=True, pass_fds=locks
        )  # fmt: skip
        try:
            while process.poll() is None:
                check()
                time.sleep(LOOK_EVERY_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.lseek(said, 0, os.SEEK_SET)
        with os.fdopen(os.dup(said), errors="replace") as file:
            output = file.read()
    finally:
        for descriptor in (alive, ours, said, *locks):
            os.close(descriptor)
    if process.returncode:
        raise CommandFailed(f"`{_shown(argv)}` ended with status {process.returncode}: {output.strip()[-SAID_LIMIT:] or 'no output'}")
    return output


def environment() -> dict[str, str]:
    """The environment for tools: an allow list."""
    return {"LC_ALL": "C.UTF-8", **{name: os.environ[name] for name in PASSED_ON if name in os.environ}}


def succeeds(*argv: str) -> bool:
    """Say whether a command ends with status 0 (`iptables --check`)."""
    try:
        run(*argv)
    except CommandFailed:
        return False
    return True


def _shown(argv: Sequence[str]) -> str:
    text = " ".join(argv)
    return text if len(text) <= 200 else text[:200] + " …"
