"""Type what a page says: the commands of a remedy, as a user copies them."""

import re
from collections.abc import Callable

PROGRAMS = ("clusterwright", "git", "make", "mkdir", "mount", "mv", "pulumi", "rm", "sed")
VARIABLES = r"(?:[A-Z_]+=\S+ )*"
_ERROR = re.compile(r"^error: (?:.+\n?)*?(?=^$|^error: |^warning: |\Z)", re.MULTILINE)
"""With its further lines, which end with an empty one."""
_ENDS = re.compile(r"\s+do: (.+)")
"""Below each finding that `up` could not end."""
_COMMAND = re.compile(rf"{VARIABLES}(?:{'|'.join(PROGRAMS)}) .+")


def remedies(page: str) -> list[str]:
    """Give the commands that a page names, in order: those in backquotes in errors above it and their further lines, those that end findings which stay, then those of its remedy, in backquotes,
    after a colon, or a line of their own."""
    above, found, remedy = page.rpartition("  do:  ")
    if not found:
        above, remedy = remedy, ""
    errors = _ERROR.findall(above)
    commands = [one for error in errors for one in re.findall(r"`([^`\n]+)`", error) if _COMMAND.fullmatch(one)]
    commands += [matched[1] for line in above.splitlines() if (matched := _ENDS.fullmatch(line)) and _COMMAND.fullmatch(matched[1])]
    for line in remedy.splitlines() if found else []:
        quoted = re.findall(r"`([^`]+)`", line)
        commands += [one for part in (quoted or [line.strip(), line.rpartition(": ")[2].strip()]) if (one := part) and _COMMAND.fullmatch(one)]
    return list(dict.fromkeys(commands))


def until_it_works(run: Callable[[str], tuple[int, str]], command: str, *, choose: str = "", at_most: int = 2) -> list[str]:
    """Run a command, type what its page says, and run it again, until it succeeds; give what was typed.

    Args:
        run: runs a shell command; gives its exit status and all that it said.
        choose: a word of the remedy that a user would take who has several.
        at_most: so many commands may be needed.
    """
    typed: list[str] = []
    while True:
        status, said = run(command)
        assert "Traceback" not in said, said
        if status == 0:
            return typed
        offered = [one for one in remedies(said) if choose in one and one not in typed]
        assert offered, f"no command to type after {typed}:\n{said}"
        assert len(typed) < at_most, f"{typed} were not enough:\n{said}"
        typed.append(offered[0])
        status, said = run(offered[0])
        assert status == 0, f"the remedy `{offered[0]}` failed:\n{said}"
        if offered[0].startswith(command):
            return typed
