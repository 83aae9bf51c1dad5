"""Show findings to people: all at once, and those that differ only in a key as one."""

import dataclasses
import sys
from collections.abc import Sequence

from blueprints import message_text
from blueprints.codes import Code
from blueprints.finding import Finding, Position, render
from blueprints.language import NAMED


def show(findings: Sequence[Finding]) -> None:
    """Write findings to standard error, if there are any."""
    if findings:
        print(render(folded(findings), colour=sys.stderr.isatty()), end="", file=sys.stderr)


def folded(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Put what this version leaves out of a blueprint into one finding that lists the keys, in the place of the first."""
    left_out = [found for found in findings if found.code == Code.FEATURE_NOT_BUILT and found.where and found.where.path]
    if len(left_out) < 2:
        return tuple(findings)
    keys = list(dict.fromkeys(_key(found.where) for found in left_out if found.where))
    what = f"{len(keys)} keys have no effect on this target in this version: {message_text.listed(message_text.quoted(key) for key in keys)}"
    files = {found.where.file for found in left_out if found.where}
    first = dataclasses.replace(left_out[0], subject=Position(files.pop()) if len(files) == 1 else None, what=what)
    first = dataclasses.replace(first, why="this version ignores them and provisions the cluster without them", remedy="remove them, or do not rely on them")
    return tuple(first if found is left_out[0] else found for found in findings if found is left_out[0] or found not in left_out)


def _key(where: Position) -> str:
    """Write the path of a place without the blueprint's own names."""
    steps = [str(step) for step in where.path or ()]
    return ".".join(step for number, step in enumerate(steps) if not (number == 1 and steps[0] in NAMED))
