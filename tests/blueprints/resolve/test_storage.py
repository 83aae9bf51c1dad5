"""Storage: the class on each target, sizes that are sold, throughputs that are sold."""

from typing import Any

import pytest

from blueprints import spec
from blueprints.codes import Code
from tests.blueprints.resolve import asked

ERROR, NOTE = "error", "note"


def resolved(target: str, entry: dict[str, Any]) -> tuple[spec.FileSystem, set[tuple[str, str]]]:
    attempted = asked.attempt(target=target, storage={"data": {"mount": "/data", **entry}})
    return attempted.spec.storage[0], asked.found(attempted)


@pytest.mark.parametrize(
    ("target", "entry", "storage_class", "size_gib", "tier", "codes"),
    [
        # The least that is sold, where no size is asked for.
        ("aws", {"kind": "lustre"}, "fsx-lustre-persistent-2", 1200, 250, set()),
        ("gcp", {"kind": "lustre"}, "managed-lustre", 18_000, 500, set()),
        ("gcp", {"kind": "lustre", "throughput": "1000 MB/s/TiB"}, "managed-lustre", 9000, 1000, set()),
        ("gcp", {"kind": "nfs"}, "filestore-zonal", 1024, None, set()),
        ("aws", {"kind": "nfs"}, "efs", None, None, set()),
        ("aws", {"kind": "object"}, "s3", None, None, set()),
        ("gcp", {"kind": "object"}, "gcs", None, None, set()),
        # Both sides of each step.
        ("aws", {"kind": "lustre", "size": "1200 GiB"}, "fsx-lustre-persistent-2", 1200, 250, set()),
        ("aws", {"kind": "lustre", "size": "1201 GiB"}, "fsx-lustre-persistent-2", 2400, 250, {(NOTE, Code.STORAGE_ROUNDED)}),
        ("aws", {"kind": "lustre", "size": "2400 GiB"}, "fsx-lustre-persistent-2", 2400, 250, set()),
        ("aws", {"kind": "lustre", "size": "14 TiB"}, "fsx-lustre-persistent-2", 14_400, 250, {(NOTE, Code.STORAGE_ROUNDED)}),
        ("aws", {"kind": "lustre", "size": "1 GiB"}, "fsx-lustre-persistent-2", 1200, 250, {(NOTE, Code.STORAGE_ROUNDED)}),
        ("gcp", {"kind": "nfs", "size": "9984 GiB"}, "filestore-zonal", 9984, None, set()),
        ("gcp", {"kind": "nfs", "size": "9985 GiB"}, "filestore-zonal", 10_240, None, {(NOTE, Code.STORAGE_ROUNDED)}),
        ("gcp", {"kind": "nfs", "size": "100 TiB"}, "filestore-zonal", 102_400, None, set()),
        ("gcp", {"kind": "nfs", "size": "101 TiB"}, "filestore-zonal", 102_400, None, {(ERROR, Code.STORAGE_SIZE)}),
        # It grows by itself: the size is what it is expected to hold.
        ("aws", {"kind": "nfs", "size": "2 TiB"}, "efs", 2048, None, set()),
        # Throughput.
        ("aws", {"kind": "lustre", "throughput": "1000 MB/s/TiB"}, "fsx-lustre-persistent-2", 1200, 1000, set()),
        ("aws", {"kind": "lustre", "throughput": "200 MB/s/TiB"}, "fsx-lustre-persistent-2", 1200, 250, {(ERROR, Code.STORAGE_THROUGHPUT)}),
        # Durability.
        ("aws", {"kind": "lustre", "durability": "scratch"}, "fsx-lustre-scratch-2", 1200, None, set()),
        ("gcp", {"kind": "lustre", "durability": "scratch"}, "managed-lustre", 18_000, 500, {(NOTE, Code.STORAGE_DURABLE)}),
        (
            *("aws", {"kind": "lustre", "durability": "scratch", "throughput": "250 MB/s/TiB"}, "fsx-lustre-scratch-2", 1200, None),
            {(ERROR, Code.STORAGE_THROUGHPUT)},
        ),
        # A disk.
        ("aws", {"kind": "block"}, "ebs-gp3", 1, None, set()),
        ("aws", {"kind": "block", "size": "64 TiB"}, "ebs-gp3", 65_536, None, set()),
        ("aws", {"kind": "block", "size": "65 TiB"}, "ebs-gp3", 65_536, None, {(ERROR, Code.STORAGE_SIZE)}),
        # Bare metal: nobody makes file systems there.
        ("metal", {"kind": "nfs"}, "controller-export", None, None, {(NOTE, Code.STORAGE_ON_CONTROLLER)}),
        ("metal", {"kind": "block"}, "controller-export", None, None, {(NOTE, Code.STORAGE_ON_CONTROLLER)}),
        ("metal", {"kind": "lustre"}, "", None, None, {(ERROR, Code.STORAGE_KIND_MISSING)}),
        ("metal", {"kind": "object"}, "", None, None, {(ERROR, Code.STORAGE_KIND_MISSING)}),
        ("metal", {"kind": "existing", "source": "10.0.0.5:/data"}, "", None, None, set()),
        ("aws", {"kind": "existing", "source": "fs-1"}, "", None, None, set()),
    ],
)
def test_what_is_bought(target: str, entry: dict[str, Any], storage_class: str, size_gib: float | None, tier: int | None, codes: set[tuple[str, str]]) -> None:
    file_system, found = resolved(target, entry)
    assert (file_system.storage_class, file_system.size_gib, file_system.throughput_mbs_per_tib) == (storage_class, size_gib, tier)
    assert found == codes
    assert not file_system.simulated


@pytest.mark.parametrize(
    ("scheduler", "entry", "codes"),
    [
        ("slurm", {"kind": "nfs"}, {(NOTE, Code.STORAGE_ON_CONTROLLER)}),
        ("both", {"kind": "nfs"}, {(NOTE, Code.STORAGE_ON_CONTROLLER)}),
        ("kubernetes", {"kind": "nfs"}, {(ERROR, Code.STORAGE_KIND_MISSING)}),
        ("kubernetes", {"kind": "block"}, set()),  # a disk without a controller is found on every target (CW592)
        ("kubernetes", {"kind": "existing", "source": "10.0.0.5:/data"}, set()),
    ],
)
def test_on_bare_metal_only_a_controller_serves_folders(scheduler: str, entry: dict[str, Any], codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt(target="metal", scheduler=scheduler, storage={"data": {"mount": "/data", **entry}})
    assert asked.found(attempted) == codes
    assert asked.found(asked.attempt(target="aws", scheduler=scheduler, storage={"data": {"mount": "/data", "kind": "nfs"}})) == set()


def test_a_disk_of_unknown_least_size_needs_one() -> None:
    _, found = resolved("gcp", {"kind": "block"})
    assert found == {(ERROR, Code.STORAGE_SIZE)}
    file_system, found = resolved("gcp", {"kind": "block", "size": "1 TiB"})
    assert (file_system.size_gib, found) == (1024, set())


def test_the_throughput_of_all_of_it() -> None:
    file_system, _ = resolved("aws", {"kind": "lustre", "size": "2400 GiB", "throughput": "125 MB/s/TiB"})
    assert file_system.throughput_mbs == pytest.approx(125 * 2400 / 1024)
    assert resolved("aws", {"kind": "nfs"})[0].throughput_mbs is None


@pytest.mark.parametrize(
    ("entry", "encrypted"), [({"kind": "lustre", "encrypted": False}, True), ({"kind": "nfs", "encrypted": False}, False), ({"kind": "nfs"}, True)]
)
def test_what_is_always_encrypted_stays_so(entry: dict[str, Any], encrypted: bool) -> None:
    assert resolved("aws", entry)[0].encrypted is encrypted


def test_what_is_said_of_a_file_system_is_kept() -> None:
    entry = {
        "kind": "lustre",
        "protect": False,
        "on_delete": "snapshot",
        "backup_days": 7,
        "key": "alias/data",
        "quotas": {"user": "500 GiB", "group": "2 TiB"},
    }
    file_system, _ = resolved("aws", {**entry, "exchange": {"bucket": "s3://mine/data", "export_files": True}})
    assert (file_system.protect, file_system.on_delete, file_system.backup_days, file_system.key) == (False, "snapshot", 7, "alias/data")
    assert (file_system.user_quota_gib, file_system.group_quota_gib) == (500, 2048)
    assert file_system.exchange == spec.Exchange("s3://mine/data", import_files=True, export_files=True)
    assert resolved("metal", {"kind": "existing", "source": "10.0.0.5:/data"})[0].source == "10.0.0.5:/data"


@pytest.mark.parametrize("kind", ["lustre", "nfs", "block", "object", "existing"])
def test_on_this_machine_every_kind_is_a_folder(kind: str) -> None:
    file_system, found = resolved("local", {"kind": kind, "size": "101 TiB", "throughput": "77 MB/s/TiB"} if kind == "lustre" else {"kind": kind})
    assert (file_system.simulated, file_system.size_gib, file_system.product) == (True, None, "")
    assert found == set()


@pytest.mark.parametrize(
    ("target", "entry", "why", "remedy"),
    [
        # What is sold as 14.4 TB has 14400 GiB, and 14.4 TiB are more than that.
        (
            *("aws", {"size": "14.4 TiB"}, "FSx for Lustre, PERSISTENT_2 SSD with 250 MB/s/TiB is sold in steps: 14400 GiB below, 16800 GiB above"),
            "write `size: 14400 GiB` if you mean what is sold as 14.4 TB, or `size: 16800 GiB`",
        ),
        (
            *("aws", {"size": "14 TiB"}, "FSx for Lustre, PERSISTENT_2 SSD with 250 MB/s/TiB is sold in steps: 12000 GiB below, 14400 GiB above"),
            "write `size: 12000 GiB` or `size: 14400 GiB`, or keep it",
        ),
        # Of large sizes the step that was meant is not the next one below.
        (
            *("aws", {"size": "100.8 TiB"}, "FSx for Lustre, PERSISTENT_2 SSD with 250 MB/s/TiB is sold in steps: 103200 GiB below, 105600 GiB above"),
            "write `size: 100800 GiB` if you mean what is sold as 100.8 TB, or `size: 105600 GiB`",
        ),
        (
            "aws",
            {"size": "1000 GiB"},
            "the smallest FSx for Lustre, PERSISTENT_2 SSD with 250 MB/s/TiB has 1200 GiB",
            "write `size: 1200 GiB`, or keep it",
        ),
        (
            *("gcp", {"size": "10 TiB", "throughput": "1000 MB/s/TiB"}, "Managed Lustre with 1000 MB/s/TiB is sold in steps: 9000 GiB below, 18000 GiB above"),
            "write `size: 9000 GiB` or `size: 18000 GiB`, or keep it",
        ),
        # A throughput that isn't sold is refused, and no other one is named in its place.
        (
            *("aws", {"size": "14.4 TiB", "throughput": "200 MB/s/TiB"}, "FSx for Lustre, PERSISTENT_2 SSD is sold in steps: 14400 GiB below, 16800 GiB above"),
            "write `size: 14400 GiB` if you mean what is sold as 14.4 TB, or `size: 16800 GiB`",
        ),
    ],
)
def test_a_size_between_two_steps_names_both(target: str, entry: dict[str, Any], why: str, remedy: str) -> None:
    attempted = asked.attempt(target=target, storage={"data": {"kind": "lustre", "mount": "/data", **entry}})
    (found,) = [one for one in attempted.findings if one.code == Code.STORAGE_ROUNDED]
    assert (found.why, found.remedy) == (why, remedy)


def test_sizes_of_a_throughput_that_is_not_sold_are_unknown_where_each_has_its_own() -> None:
    storage = {"data": {"kind": "lustre", "mount": "/data", "size": "14.4 TiB", "throughput": "200 MB/s/TiB"}}
    assert asked.found(asked.attempt(target="gcp", storage=storage)) == {(ERROR, Code.STORAGE_THROUGHPUT)}
