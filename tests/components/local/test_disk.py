"""Nothing is removed that is not ours, or through a mount."""

from pathlib import Path

import pytest

from components.local.machine import disk, names


def test_mount_points_are_read_as_the_kernel_writes_them() -> None:
    table = "overlay /home/jörg\\040x\\134y overlay rw 0 0\nproc /proc proc rw 0 0\n"
    assert disk.mounted(table) == ["/home/jörg x\\y", "/proc"]


@pytest.mark.parametrize("path", ["/", "/var/lib", str(names.STATE_ROOT), "/var/lib/clusterwright/../other", "/home"])
def test_a_folder_outside_of_the_project_s_own_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="nothing was removed"):
        disk.remove_tree(Path(path))


def test_a_link_out_of_a_stack_s_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERWRIGHT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="nothing was removed"):
        disk.remove_tree(tmp_path / "cache" / "link")
    assert (tmp_path / "elsewhere").is_dir()
