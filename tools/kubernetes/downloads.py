"""Programs as their publishers offer them. Nothing is downloaded without a pinned checksum."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Collection
from pathlib import Path

import recipe

CONNECT_TIMEOUT_S = 15


def fetch(part: recipe.Part, programs: Path) -> Collection[str]:
    """Download into the folder `programs` what can be had of a part, and name it.

    CLUSTERWRIGHT_KUBERNETES=build leaves all of it to be built.

    Raises:
        RefusedError: a program is not the pinned one.
    """
    if part.downloads is None or os.environ.get("CLUSTERWRIGHT_KUBERNETES") == "build":
        return ()
    machine = os.uname().machine
    fetched: list[str] = []
    for program, checksum in part.downloads.sha256.get(machine, {}).items():
        url = part.downloads.url.format(program=program, architecture=recipe.ARCHITECTURES.get(machine, machine))
        if base := os.environ.get("CLUSTERWRIGHT_KUBERNETES_DOWNLOADS"):
            url = f"{base.rstrip('/')}/{url.partition('://')[2].partition('/')[2]}"
        try:
            actual = _download(url, programs / program)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            (programs / program).unlink(missing_ok=True)
            recipe.say(f"{url} could not be downloaded ({getattr(error, 'reason', error)}); the next way is to build it")
            break  # from the same place the others would not come either
        if actual != checksum:
            raise recipe.RefusedError(_changed_page(part, program, url, actual, checksum))
        (programs / program).chmod(0o755)
        fetched.append(program)
    return fetched


def _download(url: str, destination: Path) -> str:
    """Write what the URL answers to a file and return its SHA-256."""
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=CONNECT_TIMEOUT_S) as answer, destination.open("wb") as file:
        while block := answer.read(1 << 20):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def _changed_page(part: recipe.Part, program: str, url: str, actual: str, pinned: str) -> str:
    return (
        f"{url} is not the pinned {program}, so it was deleted\n"
        f"  SHA-256 of the download      {actual}\n"
        f"  SHA-256 in {part.name}  {pinned}\n"
        "remedy: find out who changes downloads on the way here (a proxy, a mirror); if the pin itself is wrong, correct\n"
        f"  {part.folder / 'part.toml'} from the publisher's own list. CLUSTERWRIGHT_KUBERNETES=build builds from source instead."
    )
