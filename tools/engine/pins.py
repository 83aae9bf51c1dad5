"""What this folder pins, and the words for a way that cannot be taken."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ANSWER_TIMEOUT_S = 60  # `pulumi version` on a cold disk
ENGINE_BYTES = 300 * 1024**2

CLI_PACKAGE = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
LANGUAGE_PACKAGE = "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
SDK_MODULE = "github.com/pulumi/pulumi/sdk/v3"
# Scripts that the engine starts; they are plain files of the SDK module, so no build makes them.
SDK_SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")
PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-pulumi-python")


class WayClosedError(Exception):
    """This way cannot be taken here; another one may."""


class RefusedError(Exception):
    """What was obtained is not what is pinned: no other way is tried behind the user's back."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What this folder pins."""

    folder: Path
    version: str
    checksums: dict[str, str]
    key: str

    @property
    def archive(self) -> str:
        machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
        return f"pulumi-v{self.version}-{os.uname().sysname.lower()}-{machine}.tar.gz"


def read_recipe(folder: Path) -> Recipe:
    pins = ("version", "checksums", "cli/go.mod", "cli/go.sum", "language/go.mod", "language/go.sum")
    digest = hashlib.sha256(repr((CLI_PACKAGE, LANGUAGE_PACKAGE, SDK_SCRIPTS, os.uname().sysname, os.uname().machine)).encode())
    for pin in pins:
        digest.update(pin.encode() + b"\0" + (folder / pin).read_bytes() + b"\0")
    lines = (folder / "checksums").read_text().splitlines()
    entries = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    version = (folder / "version").read_text().strip()
    return Recipe(folder, version, {name: checksum for checksum, name in entries}, f"{version}-{digest.hexdigest()[:16]}")


def pulumi_version(pulumi: Path) -> str:
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    answer = subprocess.run([pulumi, "version"], env=environment, capture_output=True, text=True, timeout=ANSWER_TIMEOUT_S, check=True)
    return answer.stdout.strip().removeprefix("v")


def version_fits(answer: str, *, wanted: str) -> bool:
    """A newer release of the same major version drives the pinned SDK; a pre-release of the wanted one may not."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(-\S+)?(\+\S+)?", answer)
    if match is None:
        return False
    number, floor = tuple(map(int, match.group(1, 2, 3))), tuple(map(int, wanted.split(".")))
    return number[0] == floor[0] and (number > floor or (number == floor and match[4] is None))


def require_space(needs: dict[Path, int]) -> None:
    """Check free space, adding up what lands on the same file system."""
    devices: dict[int, tuple[Path, int]] = {}
    for folder, size in needs.items():
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        first, total = devices.get(existing.stat().st_dev, (existing, 0))
        devices[existing.stat().st_dev] = (first, total + size)
    for folder, size in devices.values():
        free = shutil.disk_usage(folder).free
        if free < size:
            raise WayClosedError(f"{folder} has {free / 1024**3:.1f} GiB free; {size / 1024**3:.1f} GiB are needed")


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
