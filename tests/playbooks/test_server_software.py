"""What the module that installs packages finds missing."""

import importlib

import pytest

server_software = importlib.import_module("server_software")

HERE = {
    "munge": {"want": "install", "state": "installed", "version": "0.5.15-4"},
    "slurmd": {"want": "hold", "state": "installed", "version": "22.05.8-4+deb12u3"},
    "sudo": {"want": "deinstall", "state": "config-files", "version": "1.9"},
    "make": {"want": "install", "state": "half-configured", "version": "4.4"},
    "linux-image-6.1.0-9-amd64": {"want": "install", "state": "installed", "version": "6.1.27-1"},
    "linux-image-6.1.0-8-amd64": {"want": "deinstall", "state": "config-files", "version": "6.1.25-1"},
}


@pytest.mark.parametrize(
    ("wanted", "is_missing"),
    [
        ("munge", False),
        ("slurmd=22.05*", False),
        ("slurmd=24.11*", True),
        ("slurmd=22", True),
        ("sudo", True),
        ("make", True),
        ("gcc", True),
        ("gcc=12*", True),
    ],
)
def test_a_package_is_missing_unless_it_is_installed_as_asked_for(wanted: str, is_missing: bool) -> None:
    assert server_software.missing([wanted], HERE) == ([wanted] if is_missing else [])


def test_installed_packages_that_match_are_held_once() -> None:
    assert server_software.loose(["linux-image-*", "slurmd", "nvidia-*"], HERE) == ["linux-image-6.1.0-9-amd64"]
