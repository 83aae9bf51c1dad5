"""Questions to files and programs of this host; a question that gets no answer gives nothing."""

import os
import subprocess

QUESTION_WITHIN_S = 20


def lines(path: str) -> list[str]:
    """Give the lines of a file; none where it isn't there or can't be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().splitlines()
    except OSError:
        return []


def first(path: str) -> str:
    return next(iter(lines(path)), "").strip()


def program(argv: list[str]) -> str:
    """Give the output of a program; empty where it isn't there or takes too long."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(argv, capture_output=True, check=False, timeout=QUESTION_WITHIN_S, env=environment, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
