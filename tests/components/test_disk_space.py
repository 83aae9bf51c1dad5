"""Which file systems are full, read from what `df` prints."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from components.files import disk_space
from components.provider import servicer

HEAD = "Filesystem     1048576-blocks  Used Available Capacity Mounted on\n"


@pytest.mark.parametrize(
    ("line", "mount"),
    [
        ("/dev/vda  252000 251990 10 100% /", "/"),
        ("overlay   252000 251990 10 100% /", "/"),
        ("tmpfs 40 33 8 83% /var/lib/my folder", "/var/lib/my folder"),
        ("tmpfs 5 0 5 0% /run/lock", None),
        ("/dev/vda 252000 100 251900 1% /", None),
        ("/dev/vda1 100 95 5 95% /boot/efi", None),
        ("overlay 40 40 0 100% /run/clusterwright/mine/train-0/root", None),
        ("none 0 0 0 - /proc", None),
        ("df: /mnt: Stale file handle", None),
    ],
)
def test_a_file_system_is_full_when_little_of_it_is_free(line: str, mount: str | None) -> None:
    assert [one.mount for one in disk_space.full(HEAD + line)] == ([mount] if mount else [])
    assert (f"{mount} (" in disk_space.sentence("control-0", HEAD + line)) == bool(mount)


def test_what_df_prints_here_is_understood() -> None:
    done = subprocess.run(disk_space.COMMAND, capture_output=True, text=True, check=False)
    mounts = {one.mount: one for one in disk_space.parse(done.stdout)}
    assert mounts["/"].size_mib == pytest.approx(shutil.disk_usage("/").total / 2**20, rel=0.01)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_full_file_system_of_this_machine_is_named_with_the_commands_that_find_space(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], check=True)
    try:
        assert str(tmp_path) not in disk_space.full_here()
        with pytest.raises(OSError, match="No space left"):
            (tmp_path / "fill").write_bytes(bytes(2**17))
        said = disk_space.full_here()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert f"{tmp_path} (0 of 1 MiB free)" in said
    assert "`make clean-cache`" in said
    assert f"`du -xh {tmp_path}" in said


def test_what_a_host_lacks_is_named_with_the_command_that_creates_it_again() -> None:
    assert "`clusterwright rebuild --stack mine control-0`" in disk_space.on_host("control-0", "mine", is_server=False)
    assert "rebuild" not in disk_space.on_host("control-0", "mine", is_server=True)


def test_a_copy_that_fails_for_many_files_is_one_line() -> None:
    several = [("/a", "/b", "[Errno 28] No space left on device: '/a' -> '/b'"), ("/c", "/d", "[Errno 28] No space left on device: '/c' -> '/d'")]
    assert disk_space.plain(str(shutil.Error(several))) == "No space left on device: /a"
    assert disk_space.plain("no such user") == "no such user"
    assert servicer._reason(shutil.Error(several)).splitlines()[0] == "No space left on device: /a"
    assert servicer._reason(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a")).splitlines()[0] == "No space left on device: /a"
