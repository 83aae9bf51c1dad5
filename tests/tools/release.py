"""The installer of Kubernetes as a user calls it, in a copy with small parts and a stand-in for Go."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.tools.installer import write_program

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_PATH = "/usr/bin:/bin"

# Counts its builds, waits while the file `hold-<program>` is there, fails when `refuse` is, and writes as program the name of the package, or its source where the package is the part's own.
# A module's files are in `module`.
GO = """
case $1 in
    mod) exit 0 ;;
    list) echo '{{"Dir": "{state}/module"}}'; exit 0 ;;
    build) ;;
    *) exit 1 ;;
esac
echo "$GOTOOLCHAIN" >>{state}/builds
while [ $# -gt 1 ]; do [ "$1" = -o ] && to=$2; shift; done
while [ -e {state}/hold-${{1##*/}} ]; do sleep 0.05; done
if [ -e {state}/refuse ]; then echo "package $1 cannot be had" >&2; exit 1; fi
case $to in */) to=$to${{1##*/}} ;; esac
if [ "$1" = . ]; then cat main.go >"$to"; else printf '#!/bin/sh\\n# %s\\n' "$1" >"$to"; fi
chmod 755 "$to"
"""

PART = """
source = "example.com/{name} {{version}}"
cpu_s = 60
go = "1.24.6"

[programs]
{name} = "example.com/{name}"

[[images]]
name = "registry.example.com/group/{name}"
tag = "v1.2.3"
files = {{ "usr/bin/{name}" = "{name}" }}
entrypoint = ["/usr/bin/{name}"]

[[manifests]]
addon = "{name}"
file = "objects.yaml"
"""


@dataclass(frozen=True)
class Release:
    """A copy of tools/kubernetes with a cache, a PATH and a state of its stand-in for Go."""

    folder: Path
    cache: Path
    state: Path

    @property
    def install(self) -> Path:
        return self.folder / "tools/kubernetes/install"

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(self.install), *words]

    def environment(self, **settings: str) -> dict[str, str]:
        return {"PATH": f"{self.folder / 'programs'}:{SYSTEM_PATH}", "HOME": str(self.folder), "CLUSTERWRIGHT_CACHE": str(self.cache), **settings}

    def run(self, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), env=self.environment(**settings), capture_output=True, text=True, check=False, timeout=120)

    def start(self, *words: str) -> subprocess.Popen[str]:
        # A shell that starts the tests in its background has them ignore interrupts, and so would everything that they start.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        process = subprocess.Popen(self.command(*words), env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        signal.signal(signal.SIGINT, before)
        return process

    def builds(self) -> int:
        counted = self.state / "builds"
        return len(counted.read_text().splitlines()) if counted.exists() else 0

    def part(self, name: str) -> Path:
        return self.folder / "tools/kubernetes/parts" / name

    def module(self, path: str, text: str) -> None:
        """Let every module that is fetched have this file."""
        file = self.state / "module" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def leftovers(self) -> list[str]:
        return [path.name for path in (self.cache / "kubernetes").glob(".partial-*")]


def copied(folder: Path) -> Release:
    """Lay out a copy whose release 1.2.3 has the parts `alpha` and `beta`, and optionally `gamma`."""
    release = Release(folder, folder / "cache/clusterwright", folder / "state")
    shutil.copytree(ROOT / "tools/kubernetes", folder / "tools/kubernetes", ignore=shutil.ignore_patterns("__pycache__", "parts"))
    (folder / "components").symlink_to(ROOT / "components")
    release.state.mkdir(parents=True)
    for name in ("alpha", "beta", "gamma"):
        release.part(name).mkdir(parents=True)
        (release.part(name) / "part.toml").write_text(PART.format(name=name))
        (release.part(name) / "go.mod").write_text(f"module example.org/{name}\n\nrequire example.com/{name} v1.2.3\n")
        (release.part(name) / "objects.yaml").write_text(f"kind: {name}\n")
    (folder / "tools/kubernetes/releases.toml").write_text('optional = ["gamma"]\n\n[releases]\n"1.2.3" = ["alpha", "beta"]\n')
    write_program(folder / "programs/go", GO.format(state=release.state))
    return release
