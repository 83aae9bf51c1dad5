"""Packages that differ from the host's record, and files of packages that are not as packaged."""

import glob
import os
from typing import Any

from . import asking
from .digests import Digests

PACKAGE_SUMS = "/var/lib/dpkg/info"


def differences(recorded: dict[str, Any], actual: dict[str, Any]) -> list[dict[str, Any]]:
    names = sorted({*recorded, *actual})
    return [{"name": name, "recorded": recorded.get(name), "actual": actual.get(name)} for name in names if recorded.get(name) != actual.get(name)]


def changed_files(names: list[str], digests: Digests) -> list[str]:
    """Name the files of these packages whose content is not the package's."""
    changed = []
    for name in names:
        for sums in (f"{PACKAGE_SUMS}/{name}.md5sums", *glob.glob(f"{PACKAGE_SUMS}/{name}:*.md5sums")):
            for line in asking.lines(sums):
                digest, _, path = line.partition("  ")
                if not path.startswith("usr/share/") and _md5("/" + path, digests) != digest:
                    changed.append("/" + path)
    return changed


def _md5(path: str, digests: Digests) -> str:
    try:
        return digests.of(path, os.stat(path), "md5")
    except OSError:
        return ""
