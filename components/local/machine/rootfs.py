"""Base root file systems and baked layers, in the cache, each named by a hash of all that made it.

A base is the distribution's minimum with an SSH server and Python; a layer is what the software profile's roles put over it. Building happens in a folder with the suffix `.partial`
under a lock and is renamed at the end: what has its final name is whole.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ...files import disk_space
from . import archive, command, disk, record
from .disk import NSPAWN_ROOT
from .names import cache_root

BASE_PACKAGES = (
    "apt", "systemd", "systemd-sysv", "dbus", "openssh-server", "python3", "python3-apt", "iproute2", "ca-certificates", "libnss-extrausers", "mount", "procps",
)  # fmt: skip
MACHINE_FILES = ("etc/hostname", "etc/machine-id", "etc/resolv.conf", "var/lib/dbus/machine-id")
"""Identity that every host must make for itself."""
SPACE_GIB = 4.0
"""What root file systems and layers of one profile take while they are built."""


@dataclasses.dataclass(frozen=True, slots=True)
class Base:
    """A distribution's minimum."""

    distribution: str
    """`debian` or `ubuntu`."""
    suite: str
    """The archive's name for the release (`trixie`)."""

    @property
    def key(self) -> str:
        return f"{self.suite}-{_digest(self.suite, *BASE_PACKAGES, *archive.COMPONENTS[self.distribution][1:])}"

    @property
    def path(self) -> Path:
        return cache_root() / "rootfs" / self.key


def layer_path(key: str) -> Path:
    return cache_root() / "layers" / key


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def build_base(base: Base, *, check: Callable[[], None]) -> Path:
    """Make the base unless it is there, and give its folder.

    Raises:
        CommandFailed: the distribution's archive could not be read or a package not installed.
    """
    with _building(base.path) as (partial, lock):
        if partial:
            archives = archive.known()
            options = [f"--include={','.join(BASE_PACKAGES)}", f"--components={','.join(archive.COMPONENTS[base.distribution])}"]
            if keys := keyring(base.distribution, archives):
                options.append(f"--keyring={keys}")
            command.run_long(
                "mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", *options, base.suite, str(partial), *archive.lines(archives, base.distribution, base.suite),
                check=check, held=(lock,),
            )  # fmt: skip
            for name in MACHINE_FILES:
                (partial / name).unlink(missing_ok=True)
            for key in (partial / "etc/ssh").glob("ssh_host_*"):
                key.unlink()
            (partial / "etc/machine-id").touch()
            os.utime(partial / "var/lib/apt/lists", (0, 0))  # emptied: a young folder would pass for fresh package lists
    return base.path


def keyring(distribution: str, archives: archive.Archives) -> Path | None:
    """Give the keys that vouch for a distribution's archive, fetched and cached where this machine has none; None: mmdebstrap finds them by itself.

    Raises:
        CommandFailed: they could not be fetched.
    """
    package = archive.KEY_PACKAGES.get(distribution)
    if package is None or Path(package.keyring).is_file():
        return Path(package.keyring) if package else None
    folder = cache_root() / "keyrings" / package.name
    with _building(folder) as (partial, _):
        if partial:
            archive.fetch_keyring(archives, package, partial)
    return folder / package.keyring.lstrip("/")


@contextlib.contextmanager
def building_layer(key: str, *, base: Path) -> Iterator[Path | None]:
    """Give a mounted root in which the layer `key` is to be made, or None when it exists.

    The layer becomes whole when the block ends without an exception; else nothing of it stays.
    """
    with _building(layer_path(key)) as (partial, _):
        if partial is None:
            yield None
            return
        root, upper = partial / "root", partial / "upper"
        disk.mount(root, lowers=[base], upper=upper, work=partial / "work")
        try:
            yield root
        finally:
            disk.unmount(root)
        for name in MACHINE_FILES:
            (upper / name).unlink(missing_ok=True)
        for key_file in (upper / "etc/ssh").glob("ssh_host_*"):
            key_file.unlink()
        (upper / "etc").mkdir(exist_ok=True)
        (upper / "etc/machine-id").touch()
        disk.remove_tree(root)
        disk.remove_tree(partial / "work")


def lowers(base: Base, layer: str) -> tuple[str, ...]:
    """Folders of an image, topmost first."""
    return (lower(layer), str(base.path))


def lowers_of(layer: str) -> tuple[str, ...]:
    """Find the folders of an image of which only the name is known: the name of a layer has the first digits of its base's. A folder that is gone is in the answer, too."""
    digits = layer.rpartition("-")[2][:6]
    bases = sorted(str(path) for path in (cache_root() / "rootfs").glob(f"*-{digits}*") if path.is_dir() and not path.suffix)
    return (lower(layer), bases[0] if bases else str(cache_root() / "rootfs" / digits))


def lower(layer: str) -> str:
    """Folder of a layer in an image."""
    return str(layer_path(layer) / "upper")


def is_whole(path: Path) -> bool:
    return path.is_dir()


def clear_interrupted() -> None:
    """Remove builds that nobody is working on any more, and what systemd-nspawn keeps of their containers, which are named after their process."""
    for folder in NSPAWN_ROOT.glob("*/cw-image-*"):
        if not Path(f"/proc/{folder.name.rpartition('-')[2]}").exists():
            disk.unmount(folder)
            disk.remove_tree(folder)
    for kind in ("rootfs", "layers", "keyrings"):
        for partial in (cache_root() / kind).glob("*.partial"):
            with partial.with_suffix(".lock").open("a") as file, contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clear(partial)


@contextlib.contextmanager
def _building(path: Path) -> Iterator[tuple[Path | None, int]]:
    """Hold the lock of one cache entry and give an empty folder to make it in, or None when it is whole, and the lock's descriptor."""
    partial = path.with_name(path.name + ".partial")
    if is_whole(path):
        yield None, -1
        return
    with record.lock(partial.with_suffix(".lock")) as lock:
        if is_whole(path):  # another process made it while we waited for the lock
            yield None, lock
            return
        _clear(partial)
        partial.mkdir(parents=True)
        try:
            yield partial, lock
        except BaseException as error:
            # Before the folder is cleared, which frees the space again.
            if full := disk_space.full_here(round(SPACE_GIB * disk_space.MIB_OF_GIB)):
                error.add_note(full)
            _clear(partial)
            raise
        partial.rename(path)


def _clear(partial: Path) -> None:
    for mount in reversed(disk.mounted()):
        if mount.startswith(f"{partial}/"):
            disk.unmount(Path(mount))
    disk.remove_tree(partial)
