"""The folder of a file backend, which can be read without starting the engine."""

import json
import os
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from blueprints.project import project_root

from ..errors import Problem

FILE_SCHEME = "file://"


def folder() -> Path | None:
    """Give the folder of a `file://` backend as Pulumi reads it: `~` is the home folder, a relative path starts where the engine runs."""
    url = os.environ["PULUMI_BACKEND_URL"]
    if not url.startswith(FILE_SCHEME):
        return None
    return project_root() / Path(unquote(url.removeprefix(FILE_SCHEME).partition("?")[0])).expanduser()


def require() -> None:
    """Raise Problem when the folder of a file backend does not exist."""
    place = folder()
    if place is not None and not place.is_dir():
        raise Problem(
            "the folder with the state of stacks does not exist",
            why=f"PULUMI_BACKEND_URL is {os.environ['PULUMI_BACKEND_URL']}, and there is no folder {place}",
            remedy=f"to use the state of this checkout: unset PULUMI_BACKEND_URL && . ./activate\nto begin with an empty state there: mkdir -p {shlex.quote(str(place))}",
        )


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; None when there is no such file or a kill cut it off."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return found
