"""Places in a blueprint as text: names with dots between them, `["…"]` for a name with dots of its own, as Pulumi writes paths of settings."""

import re
from collections.abc import Iterable

_NAME = r"[A-Za-z0-9_-]+"
_QUOTED = r'\["[^"\[\]\u0000-\u001f]+"\]'
FORM = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]*(\.{_NAME}|{_QUOTED})*")
"""`pools.train.nodes`, `pools.train.mig["1g.10gb"]`"""
_STEP = re.compile(rf"\.?({_NAME})|\[\"([^\"]+)\"\]")


def steps(text: str) -> tuple[str, ...]:
    """Read a place. Text that has not the form is taken apart at its dots, so that whoever refuses it can name the part that is wrong."""
    if not FORM.fullmatch(text):
        return tuple(text.split("."))
    return tuple(plain or quoted for plain, quoted in _STEP.findall(text))


def joined(path: Iterable[str | int]) -> str:
    """Write a place."""
    text = ""
    for number, step in enumerate(map(str, path)):
        text += f'["{step}"]' if "." in step else f".{step}" if number else step
    return text
