"""Which names a stack can have. Paths, resources and units are named after it."""

import re

PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"


def require(name: str) -> str:
    """Give the name back.

    Raises:
        ValueError: it can't be one. An empty name or `..` would reach beyond the stack's own folders.
    """
    if not re.fullmatch(PATTERN, name):
        raise ValueError(f"{name!r} can't be a stack's name: letters, digits, dots, hyphens and underscores, a letter or digit first, at most 100")
    return name
