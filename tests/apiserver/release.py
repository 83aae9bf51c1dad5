"""The release whose programs tests run."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL = ROOT / "tools" / "kubernetes" / "install"


@functools.cache
def folder(*parts: str) -> Path:
    """Give the folder of the release, with some of the optional parts; skip the test where it can't be had."""
    if not parts and (chosen := os.environ.get("CLUSTERWRIGHT_KUBERNETES_RELEASE")):
        return Path(chosen)
    optional = [word for part in parts for word in ("--with", part)]
    answer = subprocess.run([sys.executable, str(INSTALL), "--cached", *optional], capture_output=True, text=True, check=False)
    if answer.returncode:
        assert not os.environ.get("CI"), answer.stderr
        pytest.skip(f"the release of Kubernetes is not in the cache (`{' '.join(['tools/kubernetes/install', *optional])}` makes it)")
    return Path(answer.stdout.strip())


def module(part: str, path: str) -> Path:
    """Give the files of a Go module at the version that a part of the release pins."""
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    pinned = next(line.split()[-1] for line in (INSTALL.parent / "parts" / part / "go.mod").read_text().splitlines() if f"{path} v" in line)
    answer = subprocess.run(["go", "mod", "download", "-json", f"{path}@{pinned}"], capture_output=True, text=True, check=False, cwd="/", env=environment)
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return Path(json.loads(answer.stdout)["Dir"])


def program(name: str) -> Path:
    """Give a program of the release."""
    return folder() / "bin" / name
