"""Ask whoever runs a command whether to go on."""

import sys

AGREED = "yes"


def is_possible() -> bool:
    """Say whether somebody is there to answer."""
    return sys.stdin.isatty()


def asked(question: str) -> bool:
    """Ask on the terminal; without one, name the option that agrees."""
    if not is_possible():
        print(f"add --{AGREED} to do it", file=sys.stderr)
        return False
    return input(f"{question} Type {AGREED!r} to agree: ").strip() == AGREED
