"""The engine's installer as a user calls it, in a copy whose pins a test may change."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
VERSION = (TOOLS / "engine/version").read_text().strip()
PROGRAMS = ("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-pulumi-python")
SYSTEM_PATH = "/usr/bin:/bin"
# Nothing listens there: a way that needs the network is closed at once.
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Installer:
    """A copy of tools/engine with a cache, a PATH and a home of its own."""

    folder: Path
    cache: Path
    programs: Path
    settings: dict[str, str] = field(default_factory=dict)

    def run(self, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.command()], env=self.environment(**settings), capture_output=True, text=True, check=False, timeout=300)

    def command(self) -> tuple[str, str]:
        return shutil.which("python3") or "python3", str(self.folder / "install")

    def environment(self, **settings: str) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}:{SYSTEM_PATH}",
            "HOME": str(self.cache.parent),
            "CLUSTERWRIGHT_CACHE": str(self.cache),
            "CLUSTERWRIGHT_ENGINE_RELEASES": NOWHERE,
            **self.settings,
            **settings,
        }

    def made(self) -> list[Path]:
        """Everything in the cache that counts as an engine, or is about to."""
        engines = self.cache / "engine"
        return sorted(path for path in engines.iterdir() if path.name != ".lock") if engines.exists() else []

    def pin(self, archive: bytes) -> None:
        """Record the checksum of a test archive for this machine."""
        machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
        name = f"pulumi-v{VERSION}-linux-{machine}.tar.gz"
        (self.folder / "checksums").write_text(f"{hashlib.sha256(archive).hexdigest()}  {name}\n")


def copied_installer(folder: Path) -> Installer:
    shutil.copytree(TOOLS / "engine", folder / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "programs").mkdir()
    return Installer(folder / "engine", folder / "cache", folder / "programs")


def write_program(path: Path, script: str) -> None:
    """Write a stand-in for a program of other people."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def release_archive(*, version: str = VERSION, without: str | None = None) -> bytes:
    """An archive with the layout of the official one; its `pulumi` only knows its version."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for program in (*PROGRAMS, "pulumi-language-go"):
            script = f"#!/bin/sh\necho v{version}\n".encode()
            entry = tarfile.TarInfo(f"pulumi/{program}")
            entry.size, entry.mode = len(script), 0o755
            if program != without:
                archive.addfile(entry, io.BytesIO(script))
    return content.getvalue()


@contextmanager
def release_server(archive: bytes | None) -> Iterator[tuple[str, list[str]]]:
    """Serve one archive under every name on loopback; yield the URL and the list of what was asked for."""
    asked: list[str] = []

    class Releases(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if archive is not None else 404)
            self.send_header("Content-Length", str(len(archive or b"")))
            self.end_headers()
            self.wfile.write(archive or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name in the standard library)
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Releases) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
