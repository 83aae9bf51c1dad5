"""Root file systems of Debian packages, which lie below images that call tools of a host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import recipe

# The mirror is the one that this machine's apt reads, as for the root file systems of hosts.
sys.path.append(str(Path(__file__).resolve().parents[2]))
from components.local.machine import archive, command

WITHIN_S = 600


def unpack(packages: recipe.Packages, destination: Path) -> None:
    """Write an archive of the packages' files, as they are before anything is set up.

    Raises:
        WayClosedError: mmdebstrap is missing or could not read the archive.
    """
    try:
        lines = archive.lines(archive.known(), "debian", packages.suite)
    except command.CommandFailed:
        lines = []
    words = ["mmdebstrap", "--quiet", "--variant=extract", f"--include={','.join(packages.include)}", packages.suite, str(destination), *lines]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, check=False, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
    except FileNotFoundError:
        raise recipe.WayClosedError("mmdebstrap is not installed\nremedy: tools/setup packages") from None
    except subprocess.TimeoutExpired:
        raise recipe.WayClosedError(f"mmdebstrap did not end within {WITHIN_S} s") from None
    if done.returncode != 0:
        raise recipe.WayClosedError("\n".join(["mmdebstrap failed:", *(f"    {line}" for line in done.stderr.strip().splitlines()[-8:])]))
