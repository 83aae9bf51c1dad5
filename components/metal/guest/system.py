"""The host as the program sees it: a root folder, and commands that are found below it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TOOL_FOLDERS = ("usr/sbin", "usr/bin", "sbin", "bin")
WITHIN_S = 120


class Refused(Exception):
    """The host can't be adopted or released, and nothing was changed.

    Args:
        what: one sentence.
        why: what was seen.
        remedy: what to do.
    """

    def __init__(self, what: str, *, why: str, remedy: str):
        super().__init__(what)
        self.what, self.why, self.remedy = what, why, remedy


class CommandFailed(Exception):
    """A command ended with an error; the text is what it said."""


@dataclasses.dataclass(frozen=True)
class System:
    """One host.

    Args:
        root: the folder that holds its file system.
    """

    root: str = "/"

    def path(self, inside: str) -> str:
        """Give the path on this machine of a path on the host."""
        return os.path.join(self.root, inside.lstrip("/"))

    def inside(self, path: str) -> str:
        """Give the path on the host of a path on this machine."""
        return "/" + os.path.relpath(path, self.root) if self.root != "/" else path

    def tool(self, name: str) -> str | None:
        """Give the path of a program; None: the host has none of that name."""
        return shutil.which(name, path=os.pathsep.join(self.path(folder) for folder in TOOL_FOLDERS))

    def run(self, *argv: str, stdin: str = "", within_s: float = WITHIN_S, folder: str = "/") -> str:
        """Run a command and give what it prints.

        Args:
            folder: where it runs.
        Raises:
            CommandFailed: it failed, took too long, or there is no such program.
        """
        program = self.tool(argv[0])
        if program is None:
            raise CommandFailed(f"this host has no {argv[0]}")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1", "CLUSTERWRIGHT_ROOT": self.root}
        try:
            done = subprocess.run(
                [program, *argv[1:]], input=stdin, capture_output=True, text=True, errors="replace",
                timeout=within_s, check=False, env=environment, cwd=self.path(folder),
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise CommandFailed(f"`{' '.join(argv)}` did not end within {within_s:.0f} s") from error
        if done.returncode:
            raise CommandFailed(f"`{_shown(argv)}` failed: {(done.stderr or done.stdout).strip()[-1000:]}")
        return done.stdout

    def answer(self, *argv: str, within_s: float = WITHIN_S) -> str:
        """Run a command and give what it prints, or nothing when it fails or is not installed."""
        try:
            return self.run(*argv, within_s=within_s)
        except CommandFailed:
            return ""

    def read(self, inside: str) -> str:
        """Give the text of a file, or nothing when it can't be read."""
        try:
            with open(self.path(inside), encoding="utf-8", errors="replace") as stream:
                return stream.read()
        except OSError:
            return ""


def _shown(argv: Sequence[str]) -> str:
    return " ".join(argv if len(argv) <= 8 else (*argv[:8], "…"))
