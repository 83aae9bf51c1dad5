"""A release of Kubernetes in the cache: its programs, all images as a registry's storage, and the manifests of add-ons."""

import contextlib
import dataclasses
import functools
import json
import os
import queue
import subprocess
import sys
import threading
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from ..provider.kind import UNKNOWN, Kind, Refused, Values, Work

INSTALL = Path(__file__).resolve().parents[2] / "tools/kubernetes/install"
TRAINING, TRAINING_IMAGES = "trainer", ("torch",)
LOOK_EVERY_S = 0.2
ANSWER_WITHIN_S = 60
PASSED_ON = (
    "PATH",
    "HOME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "CLUSTERWRIGHT_CACHE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
)
"""What of our environment the installer may see, beside Go's own settings; the rest may hold passphrases and cloud credentials."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReleaseInputs:
    version: str
    parts: tuple[str, ...] = ()
    """See `optional_parts`."""


class Release(Kind[ReleaseInputs]):
    token = "clusterwright:kubernetes:Release"
    inputs = ReleaseInputs
    timeout_s = 4 * 3600  # a first build on a busy machine

    def identity(self, inputs: ReleaseInputs) -> str:
        return "release"  # another version is another folder of the same resource: the one before stays in the cache

    def expected(self, inputs: ReleaseInputs) -> Values:
        folder = _folder(inputs)
        return {"folder": str(folder), "images": _digests(folder) or UNKNOWN}

    def read(self, inputs: ReleaseInputs, outputs: Values) -> Values | None:
        return self.expected(inputs) if _is_whole(inputs) else None

    def create(self, inputs: ReleaseInputs, work: Work) -> Values:
        _install(inputs, work)
        return self.expected(inputs)

    def delete(self, inputs: ReleaseInputs, outputs: Values, work: Work) -> None:
        """Leave the release in the cache, where other stacks and the next `up` find it."""


def optional_parts(addons: Collection[str], *, rehearsal: bool) -> list[str]:
    """Name the optional parts of a release that a stack's add-ons need; parts and add-ons have the same names.

    A rehearsal reaches no registry with images of training jobs, so it gets one of the project's own.
    """
    known = tomllib.loads((INSTALL.parent / "releases.toml").read_text())["optional"]
    wanted = {*addons, *(TRAINING_IMAGES if rehearsal and TRAINING in addons else ())}
    return [part for part in known if part in wanted]


def made(inputs: ReleaseInputs) -> Path:
    """Give the folder of a release that is in the cache.

    Raises:
        Refused: it is not there, or not complete.
    """
    return Path(_ask("--cached", *_words(inputs)).strip())


@functools.cache
def _folder(inputs: ReleaseInputs) -> Path:
    """Give the folder that a release has when it is made.

    Raises:
        Refused: nothing pins this version.
    """
    return Path(_ask("--where", *_words(inputs)).strip())


def _digests(folder: Path) -> Mapping[str, str]:
    """Give the images of a release, upstream name with tag → digest; empty where the release is not made."""
    with contextlib.suppress(FileNotFoundError):
        return {reference: entry["digest"] for reference, entry in json.loads((folder / "images.json").read_text()).items()}
    return {}


def _is_whole(inputs: ReleaseInputs) -> bool:
    with contextlib.suppress(Refused):
        made(inputs)
        return True
    return False


def _ask(*words: str) -> str:
    done = subprocess.run(_command(words), capture_output=True, text=True, timeout=ANSWER_WITHIN_S, check=False, env=_environment())
    if done.returncode != 0:
        raise Refused(done.stderr.strip().removeprefix("error: "))
    return done.stdout


def _install(inputs: ReleaseInputs, work: Work) -> None:
    """Run the installer, and show its lines as progress."""
    words = _command([*_words(inputs), "--end-with-parent"])
    said: list[str] = []
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_environment()) as process:
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(cast(IO[str], process.stderr), lines), daemon=True)
        reader.start()
        try:
            while (line := _next(lines, work)) is not None:
                said.append(line)
                work.say(line.removeprefix("kubernetes: "))
        except BaseException:
            process.terminate()  # it ends the build and removes what is not complete
            raise
        finally:
            process.wait()
            reader.join()
    if process.returncode != 0:
        page = "\n".join(said).partition("error: ")[2]
        raise Refused(page or f"{INSTALL} ended with status {process.returncode}")


def _next(lines: queue.SimpleQueue[str | None], work: Work) -> str | None:
    while True:
        work.check()
        with contextlib.suppress(queue.Empty):
            return lines.get(timeout=LOOK_EVERY_S)


def _read(stream: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def _words(inputs: ReleaseInputs) -> list[str]:
    return ["--version", inputs.version, *(word for part in inputs.parts for word in ("--with", part))]


def _command(words: Sequence[str]) -> list[str]:
    return [sys.executable, str(INSTALL), *words]


def _environment() -> dict[str, str]:
    return {"LC_ALL": "C.UTF-8", **{name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("GO")}}
