"""The folder of this user that outlives every stack."""

import os
from pathlib import Path


def root() -> Path:
    """Name the folder; it may not exist yet."""
    if chosen := os.environ.get("CLUSTERWRIGHT_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clusterwright"
