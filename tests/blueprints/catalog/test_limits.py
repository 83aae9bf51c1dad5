"""Limits of services and schedulers: each has a source and stands for something that a check compares."""

import fnmatch

import pytest

from blueprints import catalog
from blueprints.capacity_kind import CapacityKind
from blueprints.catalog import files

OWNERS = {owner: entries for owner, entries in files.mapping("limits").items() if owner not in ("unpacked", "packed_flex", "policies")}
FLEX, ON_DEMAND = CapacityKind.FLEX, CapacityKind.ON_DEMAND


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, entries in OWNERS.items() for name in entries])
def test_a_limit_has_a_source_and_a_date(owner: str, name: str) -> None:
    found = catalog.limit(owner, name)
    assert found is not None
    assert found.value > 0
    assert catalog.source(found.source).where
    assert found.as_of.startswith("20")
    assert owner in (*catalog.target_names(), "slurm", "kubernetes")


def test_where_no_limit_is_known_there_is_none() -> None:
    assert catalog.limit("metal", "security_group_rules") is None
    assert catalog.limit("aws", "hearsay") is None


def test_machines_that_no_placement_group_takes_are_in_the_catalogue() -> None:
    entry = files.mapping("limits")["unpacked"]["aws"]
    refused = {name: source for name in catalog.machines("aws") if (source := catalog.unpacked_by("aws", name, ON_DEMAND))}
    assert refused
    assert all(any(fnmatch.fnmatchcase(name, pattern) for pattern in entry["machines"]) for name in refused)
    assert all(catalog.source(source).where for source in refused.values())
    assert catalog.unpacked_by("aws", "p5.48xlarge", ON_DEMAND) is None
    assert catalog.unpacked_by("metal", "dgx-h100", ON_DEMAND) is None


def test_google_packs_every_machine_but_those_whose_row_says_otherwise() -> None:
    noted = {row["name"] for row in files.table("machines/gcp") if "no compact placement" in row["note"]}
    assert noted
    assert {name for name in catalog.machines("gcp") if catalog.unpacked_by("gcp", name, ON_DEMAND)} == noted


def test_google_packs_flex_nodes_of_few_machines_only() -> None:
    sold = {name for name, machine in catalog.machines("gcp").items() if FLEX in machine.capacity}
    packed = {name for name in sold if catalog.unpacked_by("gcp", name, FLEX) is None}
    assert packed
    assert packed < sold
    assert all(catalog.source(str(catalog.unpacked_by("gcp", name, FLEX))).where for name in sold - packed)
    assert all(fnmatch.filter(catalog.machines("gcp"), pattern) for pattern in files.mapping("limits")["packed_flex"]["gcp"]["machines"])


@pytest.mark.parametrize(
    ("target", "name", "size_gib", "count"),
    [
        ("aws", "efs", None, 1),
        ("aws", "fsx-lustre-persistent-2", 1200, 2),
        ("aws", "fsx-lustre-persistent-2", 2400, 3),
        ("aws", "fsx-lustre-scratch-2", 4800, 5),
    ],
)
def test_addresses_of_a_file_system(target: str, name: str, size_gib: float | None, count: int) -> None:
    addresses = catalog.storage_class(target, name).addresses
    assert addresses is not None
    assert addresses.count(size_gib) == count
    assert catalog.source(addresses.source).where
