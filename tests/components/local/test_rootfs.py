"""The cache of root file systems and layers: what stays of a build that fails."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.local.machine import rootfs
from components.provider import servicer

SIZE_MIB = 8


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache on a small file system of its own, with a base."""
    folder = tmp_path / "cache"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "tmpfs", str(folder)], check=True)
    monkeypatch.setenv("CLUSTERWRIGHT_CACHE", str(folder))
    (folder / "rootfs/base/etc").mkdir(parents=True)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(root: Path) -> None:
    (root / "fill").write_bytes(bytes((SIZE_MIB + 1) * 2**20))


def fail(_root: Path) -> None:
    raise RuntimeError("a program failed")


def say_nothing_of_space(root: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        fill(root)
    fail(root)


def build(cache: Path, make: Callable[[Path], None]) -> None:
    with rootfs.building_layer("one", base=cache / "rootfs/base") as root:
        assert root
        make(root)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
@pytest.mark.parametrize("make", [fill, say_nothing_of_space])
def test_a_cache_that_is_full_midway_is_named_though_the_failed_build_is_removed(cache: Path, make: Callable[[Path], None]) -> None:
    with pytest.raises((OSError, RuntimeError)) as failed:
        build(cache, make)
    [*_, last] = servicer._reason(failed.value).splitlines()
    assert f"no space is left on this machine: {cache} (0 of {SIZE_MIB} MiB free); at least 4.0 GiB are needed there; `make clean-cache`" in last
    assert shutil.disk_usage(cache).free > (SIZE_MIB - 1) * 2**20, "the next try has the space again"
    assert not rootfs.layer_path("one").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_build_that_fails_for_another_reason_says_nothing_of_space(cache: Path) -> None:
    with pytest.raises(RuntimeError) as failed:
        build(cache, fail)
    assert str(cache) not in servicer._reason(failed.value)
