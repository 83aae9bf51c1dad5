"""Which file systems nodes reach over their fabric: it is decided before anything is provisioned, so that a plan shows it."""

import dataclasses
from typing import Any

import pytest

from blueprints import catalog, load
from blueprints.facts import Facts

MACHINE = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


def fabric(target: str, **overrides: Any) -> str:
    found = load.examine(
        "llm-pretraining", target=target, stack="dev", facts=MACHINE, overrides={path.replace("__", "."): value for path, value in overrides.items()}
    )
    return next(one.fabric for one in found.spec.storage if one.name == "data")


@pytest.mark.parametrize(
    ("size", "throughput", "pool_fabric", "expected"),
    [
        ("38400 GiB", 125, "required", "efa"),
        ("38400 GiB", 125, "none", ""),
        ("36000 GiB", 125, "required", ""),
        ("9600 GiB", 500, "required", "efa"),
        ("9600 GiB", 250, "required", ""),
    ],
)
def test_fsx_is_reached_over_efa_at_the_sizes_that_aws_offers_it_with(
    size: str, throughput: int, pool_fabric: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a profile whose roles configure it."""
    able = {name: dataclasses.replace(catalog.profile(name), lustre_fabric="efa") for name in catalog.profile_names()}
    monkeypatch.setattr(catalog, "profile", able.__getitem__)
    asked = {"storage__data__size": size, "storage__data__throughput": f"{throughput} MB/s/TiB", "pools__train__fabric": pool_fabric}
    assert fabric("aws", **asked) == expected


@pytest.mark.parametrize("target", ["aws", "gcp"])
def test_no_file_system_is_ordered_with_a_fabric_that_no_profile_configures(target: str) -> None:
    """LNet over EFA asks for EFA's driver 2.12.1 or later (FSx for Lustre User Guide, "Configuring EFA clients"); the images have the kernel's own."""
    assert {catalog.profile(name).lustre_fabric for name in catalog.profile_names()} == {""}
    assert fabric(target, storage__data__size="38400 GiB") == ""


def test_a_folder_of_this_machine_is_reached_over_no_fabric() -> None:
    assert fabric("local") == ""
