"""Room in the cache: which layers go when the file system runs short, and which never do."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.local.machine import record, unused_layers

SIZE_MIB = 10
LAYER_MIB = 2
YEAR_S = 365 * 86400
A, B, C, D = "debian-13-aaaaaaaaaaaa", "debian-13-bbbbbbbbbbbb", "debian-13-cccccccccccc", "ubuntu-24.04-dddddddddddd"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache on a file system of its own that holds four layers of a fifth each, `D` the oldest."""
    folder = tmp_path / "cache"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "tmpfs", str(folder)], check=True)
    monkeypatch.setenv("CLUSTERWRIGHT_CACHE", str(folder))
    for age, name in enumerate((A, B, C, D), start=1):
        (folder / "layers" / name / "upper").mkdir(parents=True)
        (folder / "layers" / name / "upper/file").write_bytes(bytes(LAYER_MIB * 2**20))
        then = (folder / "layers" / name).stat().st_mtime - age * YEAR_S
        os.utime(folder / "layers" / name, (then, then))
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def room(state: Path, *, keep: str = "none", free_share: float = 0.5) -> list[str]:
    return [*unused_layers.make_room(keep=keep, free_share=free_share, state=state)]


def test_the_oldest_go_until_there_is_room(cache: Path, tmp_path: Path) -> None:
    assert room(tmp_path) == [D, C]
    assert sorted(path.name for path in (cache / "layers").iterdir() if not path.name.endswith(".lock")) == [A, B]
    assert room(tmp_path) == [], "half of it is free now"


def test_nothing_goes_while_there_is_room(cache: Path, tmp_path: Path) -> None:
    assert room(tmp_path, free_share=0.1) == []


def test_what_a_host_or_an_elastic_pool_boots_from_stays(cache: Path, tmp_path: Path) -> None:
    record_of_host, description = tmp_path / "lab/hosts/train-0/host.json", tmp_path / "lab/elastic/pools/train.json"
    for path, name in ((record_of_host, D), (description, C)):
        path.parent.mkdir(parents=True)
        record.write(path, {"image": name, "lowers": ""})
    assert room(tmp_path) == [B, A]
    record_of_host.unlink()
    assert room(tmp_path, free_share=0.9) == [D]


def test_what_was_used_lately_or_is_wanted_or_made_again_stays(cache: Path, tmp_path: Path) -> None:
    unused_layers.mark_used(D)
    with (cache / f"layers/{C}.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert room(tmp_path, keep=B, free_share=1.0) == [A]
    assert sorted(path.name for path in (cache / "layers").iterdir() if not path.name.endswith(".lock")) == [B, C, D]
