"""Run the machine's own tools."""

import subprocess
from collections.abc import Sequence


class CommandFailed(RuntimeError):
    """A tool of the machine refused; the text names the command and what it said."""


def run(*argv: str, stdin: str = "", within_s: float = 60) -> str:
    """Run a command and give its output.

    Raises:
        CommandFailed: it ended with another status than 0, is not installed, or took longer than `within_s` seconds.
    """
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=within_s, check=False)
    except FileNotFoundError as error:
        raise CommandFailed(f"{argv[0]} is not installed; `make setup` installs what is missing") from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"`{_shown(argv)}` did not end within {within_s:.0f} s") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or "and said nothing"
        raise CommandFailed(f"`{_shown(argv)}` ended with status {done.returncode}: {said}")
    return done.stdout


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
