"""Run commands on one host over SSH, with the stack's own key, which is only in memory; the host's key is always verified."""

import contextlib
import dataclasses
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from blueprints import ssh_places

from .. import errors
from ..files import memory_folders
from ..finish import inventory
from ..finish.inventory import FinishedHost
from . import jump as ssh_jump

CONNECT_WITHIN_S = 10
ANSWER_WITHIN_S = 90
SSH_FAILED = 255
"""Exit status of ssh(1) itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Session:
    """A way to one host; each command is a connection of its own."""

    host: FinishedHost
    folder: Path
    """With the key and the known hosts."""

    def run(self, argv: Sequence[str]) -> str:
        """Run a command as root and give what it prints.

        Raises:
            HostUnanswered: the host does not answer, or the command failed.
        """
        shown = shlex.join(argv)
        try:
            done = subprocess.run([*self._ssh(), shown], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=ANSWER_WITHIN_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise errors.HostUnanswered(f"{self.host.name}: `{shown}` got no answer for {ANSWER_WITHIN_S} s") from error
        if done.returncode == SSH_FAILED:
            raise errors.HostUnanswered(f"{self.host.name} does not answer: {done.stderr.strip()}")
        if done.returncode:
            raise errors.HostUnanswered(f"{self.host.name}: `{shown}` failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def _ssh(self) -> list[str]:
        options = ["-F", "/dev/null", "-i", str(self.folder / "key"), "-o", f"UserKnownHostsFile={self.folder / 'known_hosts'}"]
        options += ["-o", "GlobalKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]
        options += ["-o", f"ConnectTimeout={CONNECT_WITHIN_S}", "-o", "LogLevel=ERROR", "-o", "ServerAliveInterval=8", "-o", "ServerAliveCountMax=3"]
        through = ssh_jump.through(options, self.host.jump, self.host.jump_command)
        return ["ssh", *options, *through, *ssh_places.port_option(self.host.port), f"root@{self.host.address}"]


@contextlib.contextmanager
def session(host: FinishedHost, *, private_key: str) -> Iterator[Session]:
    """Give a way to a host; the key is removed at the end.

    Args:
        private_key: OpenSSH private key.
    """
    memory_folders.clear_orphans()
    folder = memory_folders.make_folder()
    try:
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_text(private_key if private_key.endswith("\n") else f"{private_key}\n")
        (folder / "known_hosts").write_text("".join(f"{line}\n" for line in inventory.known_hosts([host])))
        yield Session(host, folder)
    finally:
        memory_folders.remove(folder)
