"""Remembered checksums: a second inspection reads only files whose inode changed, and nobody but root can make it remember anything."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from components.inspection.program import digests
from components.inspection.program.digests import Digests


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("first")
    return path


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a test are younger than any that an inspection meets."""
    monkeypatch.setattr(digests, "SETTLED_NS", -1_000_000_000_000)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def kept(tmp_path: Path, file: Path) -> Path:
    """The memory of an inspection that saw the file, with another checksum in it, so that what comes from it shows."""
    memory = tmp_path / "run" / "inspected.json"
    first = Digests(str(memory))
    assert first.of(str(file), file.stat()) == sha256("first")
    first.keep()
    content = json.loads(memory.read_text())
    content["digests"][f"sha256:{file}"][1] = "remembered"
    memory.write_text(json.dumps(content))
    return memory


def test_a_file_whose_inode_is_the_same_is_not_read_again(tmp_path: Path, file: Path) -> None:
    memory = kept(tmp_path, file)
    assert memory.stat().st_mode & 0o777 == 0o600
    assert Digests(str(memory)).of(str(file), file.stat()) == "remembered"


def test_a_change_is_seen_also_when_its_time_was_set_back(tmp_path: Path, file: Path) -> None:
    memory, before = kept(tmp_path, file), file.stat()
    file.write_text("other")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert Digests(str(memory)).of(str(file), file.stat()) == sha256("other")


def test_another_file_in_its_place_is_read(tmp_path: Path, file: Path) -> None:
    memory = kept(tmp_path, file)
    (tmp_path / "new").write_text("other")
    (tmp_path / "new").replace(file)
    assert Digests(str(memory)).of(str(file), file.stat()) == sha256("other")


def test_a_file_that_changed_a_moment_ago_is_not_remembered(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its content could change again without another ctime."""
    monkeypatch.setattr(digests, "SETTLED_NS", 3_600_000_000_000)
    memory = tmp_path / "inspected.json"
    first = Digests(str(memory))
    first.of(str(file), file.stat())
    first.keep()
    assert not memory.exists()


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", '{"format": 0, "digests": {}}', '{"format": 1, "digests": []}'], ids=["empty", "cut", "list", "format", "digests"]
)
def test_a_broken_memory_is_no_memory(tmp_path: Path, file: Path, broken: str) -> None:
    memory = kept(tmp_path, file)
    memory.write_text(broken)
    assert Digests(str(memory)).of(str(file), file.stat()) == sha256("first")


def test_a_memory_that_others_could_write_is_not_used(tmp_path: Path, file: Path) -> None:
    memory = kept(tmp_path, file)
    memory.chmod(0o622)
    assert Digests(str(memory)).of(str(file), file.stat()) == sha256("first")
