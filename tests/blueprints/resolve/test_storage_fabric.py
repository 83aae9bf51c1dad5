"""Which file systems nodes reach over their fabric: it is decided before anything is provisioned, so that a plan shows it."""

from typing import Any

import pytest

from blueprints import load
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
def test_fsx_is_reached_over_efa_at_the_sizes_that_aws_offers_it_with(size: str, throughput: int, pool_fabric: str, expected: str) -> None:
    asked = {"storage__data__size": size, "storage__data__throughput": f"{throughput} MB/s/TiB", "pools__train__fabric": pool_fabric}
    assert fabric("aws", **asked) == expected


def test_a_folder_of_this_machine_is_reached_over_no_fabric() -> None:
    assert fabric("local") == ""
