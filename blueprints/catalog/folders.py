"""Folders outside of the system's own that images, packages and roles fill."""

import functools
from collections.abc import Mapping

from . import files


@functools.cache
def taken_folders() -> Mapping[str, str]:
    """Give each folder with what is in it."""
    return {path: entry["holds"] for path, entry in files.mapping("taken_folders").items()}
