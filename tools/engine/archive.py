"""The engine from the official release archive."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

import pins

RELEASES_URL = "https://get.pulumi.com/releases/sdk"
CONNECT_TIMEOUT_S = 15


def make(recipe: pins.Recipe, partial: Path) -> None:
    checksum = recipe.checksums.get(recipe.archive)
    if checksum is None:
        raise pins.WayClosedError(f"no checksum is recorded for {recipe.archive}")
    pins.require_space({partial: 2 * pins.ENGINE_BYTES})
    url = f"{os.environ.get('CLUSTERWRIGHT_ENGINE_RELEASES', RELEASES_URL).rstrip('/')}/{recipe.archive}"
    pins.say(f"engine: downloading {url} (one to three minutes on an ordinary line)")
    archive = partial / "archive"
    try:
        actual = download(url, archive)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise pins.WayClosedError(f"{url} could not be downloaded: {getattr(error, 'reason', error)}") from None
    if actual != checksum:
        raise pins.RefusedError(
            f"{url} is not the pinned archive, so it was thrown away\n"
            f"  SHA-256 of the download   {actual}\n"
            f"  SHA-256 in checksums      {checksum}\n"
            "remedy: find out who changes downloads on the way here (a proxy, a mirror); if the pin itself is wrong, correct\n"
            f"  {recipe.folder / 'checksums'} from the release's own list. CLUSTERWRIGHT_ENGINE=build builds from source instead."
        )
    try:
        unpack(archive, partial / "bin")
    except (tarfile.TarError, EOFError) as error:
        raise pins.RefusedError(f"{recipe.archive} has the pinned checksum but cannot be unpacked: {error}") from None


def download(url: str, destination: Path) -> str:
    """Write what the URL answers to a file and return its SHA-256."""
    digest = hashlib.sha256()
    with urllib.request.urlopen(url, timeout=CONNECT_TIMEOUT_S) as answer, destination.open("wb") as file:
        while block := answer.read(1 << 20):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def unpack(archive: Path, programs: Path) -> None:
    """Take the programs that a Python project needs; the hosts of the other languages are three quarters of the archive."""
    with tarfile.open(archive) as members:
        for member in members:
            name = Path(member.name).name
            content = members.extractfile(member) if name in pins.PROGRAMS and member.isfile() else None
            if content is not None:
                with (programs / name).open("wb") as file:
                    shutil.copyfileobj(content, file)
                (programs / name).chmod(0o755)
    missing = [program for program in pins.PROGRAMS if not (programs / program).exists()]
    if missing:
        raise tarfile.TarError(f"it lacks {', '.join(missing)}")
