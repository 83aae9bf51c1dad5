"""Parts of a software profile that a host has, and what DKMS says of modules."""

import importlib
from typing import Any

import pytest

parts: Any = importlib.import_module("software_parts")

ORIGINS = {"nvidia_archive_key": "A", "nvidia_container_archive_key": "B", "nvidia_archive_address": "https://mirror.example.org"}
VERSIONS = {"kernel": "6.8", "driver": "580", "cuda": "13.0", "container_toolkit": "1.17", "lustre_client": "2.15", "slurm": "24.11"}
GPUS = {"type": "h100", "count": 8, "simulated": False}


def test_archives_are_those_with_a_key() -> None:
    assert parts.archives_with_keys(ORIGINS) == ["nvidia", "nvidia_container"]
    assert parts.archives_with_keys({"nvidia_archive_address": "x"}) == []


def test_parts_follow_their_archives() -> None:
    archive_of = {"cuda": "nvidia", "container_toolkit": "nvidia_container"}
    assert parts.parts_of_archives(VERSIONS, archive_of, ["nvidia"]) == {"cuda": "13.0"}
    assert parts.parts_of_archives(VERSIONS, archive_of, []) == {}


@pytest.mark.parametrize(
    ("origins", "libraries"),
    [
        ({}, []),
        (ORIGINS, ["cuda", "nccl", "dcgm", "nccl_tests", "container_toolkit"]),
        ({**ORIGINS, "nvidia_archive_simulated": "yes"}, ["cuda", "nccl", "dcgm", "container_toolkit"]),
        ({"nvidia_container_archive_key": "B"}, ["container_toolkit"]),
    ],
)
def test_libraries_follow_the_archives_too(origins: dict[str, str], libraries: list[str]) -> None:
    assert parts.libraries_of_archives(origins) == libraries


def test_hosts_without_gpus_get_kernel_and_file_systems_alone() -> None:
    assert parts.installed_in_place(VERSIONS, ["cuda"], []) == {"kernel": "6.8", "lustre_client": "2.15"}
    assert parts.installed_in_place(VERSIONS, ["cuda"], [GPUS]) == {"kernel": "6.8", "driver": "580", "cuda": "13.0", "lustre_client": "2.15"}


@pytest.mark.parametrize(("gpus", "found"), [(GPUS, [GPUS]), ({**GPUS, "simulated": True}, []), (None, [])])
def test_simulated_gpus_have_no_driver(gpus: dict[str, Any] | None, found: list[dict[str, Any]]) -> None:
    sets = [{"hosts": {"name": "train", "machine": {"gpus": gpus}}}, {"hosts": {"name": "other", "machine": {"gpus": GPUS}}}]
    assert parts.real_gpus({"slurm": {"node_sets": sets}}, "train") == found
    assert parts.real_gpus({"slurm": None, "kubernetes": {"node_sets": sets}}, "train") == found
    assert parts.real_gpus({"kubernetes": {"version": "1.34"}}, "train") == []


def test_modules_that_dkms_has_not_installed_for_a_kernel() -> None:
    lines = [
        "mlnx/5.8, 6.8.0-90-generic, x86_64: installed",
        "mlnx/5.8, 6.8.0-87-generic, x86_64: installed",
        "lustre/2.15, 6.8.0-90-generic, x86_64: built",
        "iser/1.0, 6.8.0-90-generic, x86_64: installed (original module exists)",
        "added/1.0: added",
        "late/1.0, 6.8.0-87-generic, x86_64: installed",
    ]
    assert parts.dkms_missing(lines, "6.8.0-90-generic") == ["lustre", "late"]
