"""The release whose programs tests run."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL = ROOT / "tools" / "kubernetes" / "install"


@functools.cache
def folder() -> Path:
    """Give the folder of the release; skip the test where it can't be had."""
    if chosen := os.environ.get("CLUSTERWRIGHT_KUBERNETES_RELEASE"):
        return Path(chosen)
    answer = subprocess.run([sys.executable, str(INSTALL), "--cached"], capture_output=True, text=True, check=False)
    if answer.returncode:
        assert not os.environ.get("CI"), answer.stderr
        pytest.skip("the release of Kubernetes is not in the cache (`tools/kubernetes/install` makes it)")
    return Path(answer.stdout.strip())


def program(name: str) -> Path:
    """Give a program of the release."""
    return folder() / "bin" / name
