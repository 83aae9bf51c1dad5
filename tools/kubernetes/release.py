"""Make a release of Kubernetes available and print the folder that holds it: programs, a registry's storage with all images, manifests of add-ons.

    tools/kubernetes/install [--version 1.34.4] [--with PART …]

The parts of a release (`parts/`) are made one after another, each with the Go version of its time, and stay in the cache under a key made of all that pins them; a release joins its parts with hard links.
So nothing is made twice, and a run that was killed leaves every finished part to the next one.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import images
import parts
import processes
import recipe

HERE = Path(__file__).resolve().parent
PARTIAL = ".partial-"
CACHE_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of clusterwright; see https://bford.info/cachedir\n"
SPACE_BYTES = 10 * 1024**3
"""Modules, compiled packages and the release of a first build; measured, see docs/measurements.md."""
PART_BYTES = 1024**3


def main(words: Sequence[str] | None = None) -> int:
    options = _parse(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.end_with_parent:
        processes.end_with_parent(signal.SIGTERM)
    os.umask(0o022)  # a registry's server reads the storage as another user
    root = cache_folder() / "kubernetes"
    try:
        wanted = recipe.read(HERE, options.version or recipe.versions(HERE)[0], extra=tuple(options.extra))
        if options.where:
            print(root / wanted.key)
        elif options.cached:
            print(find(wanted, root))
        else:
            print(find_or_make(wanted, root))
    except recipe.RefusedError as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 1
    except recipe.WayClosedError as why:
        print(_closed_page(why), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(_unwritable_page(root, error), file=sys.stderr)
        return 1
    return 0


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/kubernetes/install", description="Make a release of Kubernetes available and print the folder that holds it.")
    parser.add_argument("--version", help="version of Kubernetes (the default one where none is given)")
    parser.add_argument("--with", dest="extra", action="append", default=[], metavar="PART", help="an optional part; may be repeated")
    parser.add_argument("--end-with-parent", action="store_true", help="end when the program ends that called this one")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--where", action="store_true", help="print the folder that the release has or will have; make nothing")
    only.add_argument("--cached", action="store_true", help="print the folder where the release is complete; fail where it is not, and make nothing")
    return parser.parse_args(words)


def cache_folder() -> Path:
    if chosen := os.environ.get("CLUSTERWRIGHT_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clusterwright"


def find(wanted: recipe.Recipe, root: Path) -> Path:
    """Return the folder of a release.

    Raises:
        RefusedError: it is not in the cache, or not complete.
    """
    made = root / wanted.key
    if not is_whole(made, wanted.parts):
        raise recipe.RefusedError(f"Kubernetes {wanted.version} is not in the cache\nremedy: tools/kubernetes/install --version {wanted.version}")
    return made


def find_or_make(wanted: recipe.Recipe, root: Path) -> Path:
    """Return the folder of a release, made where it is not in the cache."""
    made = root / wanted.key
    if is_whole(made, wanted.parts):
        return made
    with exclusive(root):
        if not is_whole(made, wanted.parts):  # else the run that held the lock made it
            _make_release(wanted, root, made)
    return made


def is_whole(folder: Path, of: Sequence[recipe.Part]) -> bool:
    """Say whether a folder has all that these parts consist of: programs, blobs in their size, manifests."""
    try:
        stored = json.loads((folder / "images.json").read_text())
    except (OSError, ValueError):
        return False
    storage = images.Storage(folder / "registry")
    return all(
        all(os.access(folder / "bin" / program, os.X_OK) for program in part.programs)
        and all(image.reference in stored and storage.has(stored[image.reference]["digest"]) for image in part.images)
        and all(parts.manifest_file(folder, manifest).is_file() for manifest in part.manifests)
        for part in of
    )


def _make_release(wanted: recipe.Recipe, root: Path, made: Path) -> None:
    started = time.monotonic()
    missing = [part for part in wanted.parts if not is_whole(part_folder(root, wanted, part), [part])]
    if missing:
        cores = len(os.sched_getaffinity(0))
        recipe.say(
            f"Kubernetes {wanted.version}: {len(missing)} of {len(wanted.parts)} parts to build, about {_minutes(missing, cores)} min on {cores} cores, "
            "less when Go's caches are warm"
        )
        require_space(root, SPACE_BYTES if sum(part.cpu_s for part in missing) > 300 else PART_BYTES)
    folders: dict[str, Path] = {}
    for part in wanted.parts:
        folder = folders[part.name] = part_folder(root, wanted, part)
        if part in missing:
            left = missing[missing.index(part) :]
            recipe.say(f"building {part.name} ({part.source}); about {_minutes(left, cores)} min to go")
            with _whole(folder, root) as (partial, work):
                parts.make(part, partial, work, folders)
    with _whole(made, root) as (partial, _):
        _join([folders[part.name] for part in wanted.parts], partial)
    recipe.say(f"Kubernetes {wanted.version}: ready after {time.monotonic() - started:.0f} s in {made}")


def part_folder(root: Path, wanted: recipe.Recipe, part: recipe.Part) -> Path:
    return root / "parts" / f"{part.name}-{wanted.keys[part.name]}"


def _minutes(left: Sequence[recipe.Part], cores: int) -> int:
    return max(1, round(sum(part.cpu_s for part in left) / cores / 60))


def _join(folders: Sequence[Path], release: Path) -> None:
    """Lay the files of all parts into one folder; they share the disk with the parts."""
    stored: dict[str, object] = {}
    for folder in folders:
        for name in ("bin", "registry", "manifests"):
            if (folder / name).is_dir():
                shutil.copytree(folder / name, release / name, copy_function=_link, dirs_exist_ok=True)
        stored |= json.loads((folder / "images.json").read_text())
    (release / "images.json").write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")


def _link(source: str, target: str) -> None:
    with contextlib.suppress(FileExistsError):  # a layer that two parts share
        os.link(source, target)


@contextlib.contextmanager
def _whole(folder: Path, root: Path) -> Iterator[tuple[Path, Path]]:
    """Give a folder to fill and a scratch folder; the first gets its name `folder` when the block ends well, and nothing of either stays otherwise."""
    for leftover in root.glob(f"{PARTIAL}*"):  # of a killed run: the lock says that nobody works there
        _remove(leftover)
    scratch = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=root))
    try:
        partial, work = scratch / "made", scratch / "work"
        partial.mkdir()
        work.mkdir()
        yield partial, work
        _remove(folder)  # what lacks its last file is not whole
        folder.parent.mkdir(exist_ok=True)
        partial.rename(folder)
    finally:
        _remove(scratch)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def exclusive(root: Path) -> Iterator[None]:
    """Hold the cache's lock; the kernel gives it back when the holder dies."""
    root.mkdir(parents=True, exist_ok=True)
    # Backup programs leave folders with this file alone, and `make clean-cache` knows by it what it may remove.
    (root.parent / "CACHEDIR.TAG").write_text(CACHE_TAG)
    with (root / ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            recipe.say("another run is building; waiting for that one")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def require_space(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size:
        raise recipe.RefusedError(
            f"{folder} has {free / 1024**3:.1f} GiB free; building Kubernetes needs {size / 1024**3:.0f} GiB\n"
            "remedy: free some, or point CLUSTERWRIGHT_CACHE (and Go's GOCACHE and GOMODCACHE) to a folder on another disk"
        )


def _closed_page(why: recipe.WayClosedError) -> str:
    return "\n".join(
        [
            f"error: this release of Kubernetes is not in the cache and cannot be made here: {why}",
            "remedy: install Go 1.21 or newer (https://go.dev/dl) with a way to a Go module proxy (GOPROXY) and mmdebstrap with a way to Debian's archive,",
            "  or copy the folder ~/.cache/clusterwright/kubernetes from a machine that has it; then the same command again. Finished parts are kept.",
        ]
    )


def _unwritable_page(root: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return (
            f"error: no space left on the disk of {root}\nremedy: free some, or point CLUSTERWRIGHT_CACHE to a folder on another disk. Finished parts are kept."
        )
    return f"error: the cache {root} cannot be used: {error.strerror or error}\nremedy: point CLUSTERWRIGHT_CACHE to a folder that you may write to."
