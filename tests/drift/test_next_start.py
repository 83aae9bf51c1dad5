"""What a server starts with next, read from GRUB's settings and the installed kernels."""

import importlib
from pathlib import Path
from typing import Any

import ansible.module_utils
import pytest

from blueprints.project import project_root

OLD, NEW = "6.8.0-60-generic", "6.8.0-151-generic"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program, looking at a server below `tmp_path` that runs the old kernel and has both."""
    folder = str(project_root() / "playbooks" / "module_utils")
    if folder not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(folder)
    program: Any = importlib.import_module("components.inspection.program.server")
    for name in ("IMAGES", "GRUB_CHOICE"):
        monkeypatch.setattr(program, name, f"{tmp_path}{getattr(program, name)}")
    monkeypatch.setattr(program, "GRUB", tuple(f"{tmp_path}{path}" for path in program.GRUB))
    monkeypatch.setattr(program.kernel_set, "MODULES", f"{tmp_path}/lib/modules")
    monkeypatch.setattr(program.kernel_set, "release", lambda: OLD)
    for release in (OLD, NEW):
        (tmp_path / "boot").mkdir(exist_ok=True)
        (tmp_path / f"boot/vmlinuz-{release}").touch()
        (tmp_path / f"lib/modules/{release}/kernel").mkdir(parents=True)
    return program


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, NEW),
        ({"etc/default/grub": "GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\n"}, NEW),
        (
            {
                "etc/default/grub": "GRUB_DEFAULT=0\n",
                "etc/default/grub.d/clusterwright.cfg": f'GRUB_DEFAULT="gnulinux-advanced-1a2b>gnulinux-{OLD}-advanced-1a2b"\n',
            },
            OLD,
        ),
        ({"etc/default/grub": f'GRUB_DEFAULT="Advanced options for Ubuntu>Ubuntu, with Linux {OLD}"\n'}, OLD),
        ({"etc/default/grub": "GRUB_DEFAULT=saved\n", "boot/grub/grubenv": f"saved_entry=gnulinux-advanced-1a2b>gnulinux-{OLD}-advanced-1a2b\n"}, OLD),
        ({"etc/default/grub": 'GRUB_DEFAULT="gnulinux-advanced-1a2b>gnulinux-5.0-advanced-1a2b"\n'}, ""),  # it is not installed: nobody can say what GRUB does
        ({"etc/default/grub": "GRUB_DEFAULT=2\n"}, ""),
    ],
)
def test_the_kernel_of_the_next_start(server: Any, tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert server.next_kernel() == expected


def test_a_host_without_kernels_of_its_own_says_none(server: Any, tmp_path: Path) -> None:
    for image in (tmp_path / "boot").iterdir():
        image.unlink()
    assert server.next_start() == {"running": OLD, "kernel": "", "missing": []}


def test_modules_that_dkms_did_not_build_for_the_next_kernel_are_missing(server: Any, tmp_path: Path) -> None:
    modules = tmp_path / "lib/modules"
    for path in (f"{OLD}/updates/dkms/nvidia.ko.zst", f"{OLD}/updates/dkms/nvidia-uvm.ko.zst", f"{NEW}/updates/dkms/nvidia_uvm.ko", f"{OLD}/kernel/fs/nfs.ko"):
        (modules / path).parent.mkdir(parents=True, exist_ok=True)
        (modules / path).touch()
    assert server.next_start() == {"running": OLD, "kernel": NEW, "missing": ["nvidia"]}
    (modules / f"{NEW}/kernel/nvidia-580srv-open").mkdir()
    (modules / f"{NEW}/kernel/nvidia-580srv-open/nvidia.ko").touch()
    assert server.next_start()["missing"] == []
