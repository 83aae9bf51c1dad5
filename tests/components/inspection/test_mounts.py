"""Free space of a host's file systems, as `df` counts it."""

import os
from pathlib import Path

import pytest

from components.inspection.program import mounts


def test_blocks_that_are_held_back_from_files_are_no_part_of_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    # 100 blocks, 40 without content, of which files may take 10: with 60 in use that is 10 of 70, as df's "Use%" has it.
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((4096, 4096, 100, 40, 10, 50, 20, 20, 0, 255)))
    found = mounts.wanted_mounts([])["/"]
    assert found["device"] == Path("/").stat().st_dev
    assert (found["size_bytes"], found["free_bytes"]) == (70 * 4096, 10 * 4096)
