"""Debug messages of the engine's SDK, which the engine shows to nobody unless it was started with `--debug`.

The SDK sends several for each resource and waits for the answer to each.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pulumi
from pulumi import log

from . import engine_watch

SHORT_OPTIONS_WITH_DEBUG = re.compile(r"-[A-Za-z]*d[A-Za-z]*")


def leave_out() -> None:
    """Send none from now on, unless the engine of this program was started with `--debug`."""
    engine = engine_watch.engine()
    if engine is None or are_wanted(Path(f"/proc/{engine}/cmdline").read_text(errors="replace").split("\0")):
        return
    log.debug = _send_nothing


def are_wanted(command: Sequence[str]) -> bool:
    """Say whether an engine's command line asks for debug messages; in doubt, it does."""
    return any(word.startswith("--debug") or SHORT_OPTIONS_WITH_DEBUG.fullmatch(word) for word in command)


def _send_nothing(msg: str, resource: pulumi.Resource | None = None, stream_id: int | None = None, ephemeral: bool | None = None) -> None:
    """Take the place of the SDK's function, with its parameters."""
