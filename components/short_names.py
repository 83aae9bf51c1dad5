"""Names for places with little room: the beginning of the whole name, and a digest that distinguishes it from others. Pure."""

import hashlib


def shortened(name: str, limit: int, *, of: str, digits: int, joint: str = "-") -> str:
    """Shorten a name and end it with a digest.

    Args:
        limit: characters that there is room for.
        of: what the digest is of: all that distinguishes the name from others.
        digits: hexadecimal digits of the digest.
    """
    digest = hashlib.sha256(of.encode()).hexdigest()[:digits]
    return f"{name[: limit - digits - len(joint)].rstrip('-')}{joint}{digest}"
