"""Storage classes against what the clouds say of their own services."""

import itertools
import re

import pytest

from blueprints import catalog
from tests.blueprints.catalog import clouds

TARGETS = catalog.target_names()
CLASSES = [pytest.param(entry, id=f"{target}-{name}") for target in TARGETS for name, entry in catalog.storage_classes(target).items()]


@pytest.mark.parametrize("entry", CLASSES)
def test_every_class_is_complete(entry: catalog.StorageClass) -> None:
    assert entry.kind in ("lustre", "nfs", "block", "object", "folder")
    assert entry.encrypted in ("always", "choice", "disks")
    assert entry.attach == ("single" if entry.kind == "block" else "shared")
    assert catalog.source(entry.source).where
    assert entry.as_of.startswith("20")
    assert all(re.fullmatch(r"[0-9]+(-[0-9]+)?", port) for port in entry.ports)
    assert (entry.default_mbs_per_tib in [tier.mbs_per_tib for tier in entry.tiers]) == bool(entry.tiers)


@pytest.mark.parametrize("entry", CLASSES)
def test_runs_of_sizes_follow_each_other(entry: catalog.StorageClass) -> None:
    for tier in [None, *(tier.mbs_per_tib for tier in entry.tiers)]:
        sizes = entry.valid_sizes(tier)
        assert all(run.last is None or run.last >= run.first for run in sizes)
        assert all(run.last is None or run.holds(run.last) for run in sizes)
        assert [run.first for run in sizes] == sorted(run.first for run in sizes)
        assert all(before.last is not None and before.last < after.first for before, after in itertools.pairwise(sizes))


@pytest.mark.parametrize(
    ("target", "name", "tier", "wanted", "bought"),
    [
        ("aws", "fsx-lustre-persistent-2", 250, 1, 1200),
        ("aws", "fsx-lustre-persistent-2", 250, 1200, 1200),
        ("aws", "fsx-lustre-persistent-2", 250, 1201, 2400),
        ("aws", "fsx-lustre-persistent-2", 250, 19201, 21600),
        ("aws", "ebs-gp3", None, 65536, 65536),
        ("aws", "ebs-gp3", None, 65537, None),
        ("aws", "efs", None, 77, 77),
        ("gcp", "managed-lustre", None, 1, 18000),
        ("gcp", "managed-lustre", 500, 18001, 36000),
        ("gcp", "managed-lustre", 500, 3060001, 3168000),
        ("gcp", "managed-lustre", 1000, 9001, 18000),
        ("gcp", "managed-lustre", 1000, 10008001, None),
        ("gcp", "managed-lustre", 125, 7632001, 7704000),
        ("gcp", "managed-lustre", 125, 12240001, None),
        ("gcp", "filestore-zonal", None, 9985, 10240),
        ("gcp", "filestore-zonal", None, 10241, 12800),
        ("gcp", "filestore-basic-ssd", None, 1000, 2560),
    ],
)
def test_the_next_size_that_can_be_bought(target: str, name: str, tier: int | None, wanted: int, bought: int | None) -> None:
    entry = catalog.storage_class(target, name)
    assert entry.next_size(wanted, mbs_per_tib=tier) == bought
    assert entry.is_valid_size(wanted, mbs_per_tib=tier) == (bought == wanted)


@pytest.mark.parametrize(("wanted", "below"), [(1199, None), (1200, 1200), (2399, 1200), (2400, 2400), (14_745, 14_400), (16_800, 16_800)])
def test_the_size_before_it(wanted: int, below: int | None) -> None:
    assert catalog.storage_class("aws", "fsx-lustre-persistent-2").previous_size(wanted) == below


def test_a_tier_that_is_not_sold_is_an_error() -> None:
    with pytest.raises(KeyError):
        catalog.storage_class("aws", "fsx-lustre-persistent-2").next_size(1200, mbs_per_tib=200)
    with pytest.raises(KeyError):
        catalog.storage_class("aws", "ebs-gp3").next_size(1200, mbs_per_tib=200)


def test_fsx_deployments_and_throughputs_are_those_of_the_model() -> None:
    shapes = clouds.aws("fsx")["shapes"]
    text = clouds.aws_text("fsx", "CreateFileSystemLustreConfiguration", "PerUnitStorageThroughput")
    for name in ("fsx-lustre-persistent-2", "fsx-lustre-scratch-2"):
        entry = catalog.storage_class("aws", name)
        assert entry.api["deployment_type"] in shapes["LustreDeploymentType"]["enum"]
        assert entry.api["storage_type"] in shapes["StorageType"]["enum"]
    valid = re.search(r"PERSISTENT_2 SSD storage: ([0-9, ]+) MB/s/TiB", text)
    assert valid is not None
    assert [tier.mbs_per_tib for tier in catalog.storage_class("aws", "fsx-lustre-persistent-2").tiers] == clouds.numbers(valid[1])


@pytest.mark.parametrize("name", ["fsx-lustre-persistent-2", "fsx-lustre-scratch-2"])
def test_fsx_sizes_are_those_of_the_model(name: str) -> None:
    entry = catalog.storage_class("aws", name)
    text = clouds.aws_text("fsx", "CreateFileSystemRequest", "StorageCapacity")
    valid = re.search(r"For ([A-Z0-9_, ]+and PERSISTENT_1) deployment types using SSD storage type, the valid values are ([^.]+)\.", text.replace("  ", " "))
    assert valid is not None
    assert entry.api["deployment_type"] in valid[1]
    first, second, step = clouds.numbers(valid[2])
    by_model = {first, second, *range(second, 20 * step, step)}
    assert {size for size in range(20 * step) if entry.is_valid_size(size)} == by_model


def test_fsx_metadata_operations_are_those_of_the_model() -> None:
    text = clouds.aws_text("fsx", "CreateFileSystemLustreMetadataConfiguration", "Iops")
    valid = re.search(r"SSD file systems, valid values are ([0-9, ]+), and multiples of ([0-9]+) up to a maximum of ([0-9]+)", text)
    assert valid is not None
    single, step, last = clouds.numbers(valid[1]), int(valid[2]), int(valid[3])
    runs = catalog.storage_class("aws", "fsx-lustre-persistent-2").metadata_iops
    assert {number for number in range(200_000) if any(run.holds(number) for run in runs)} == {*single, *range(step, last + 1, step)}


def test_gp3_is_that_of_the_model() -> None:
    entry = catalog.storage_class("aws", "ebs-gp3")
    assert entry.api["volume_type"] in clouds.aws("ec2")["shapes"]["VolumeType"]["enum"]
    sizes = re.search(r"gp3: ([0-9,]+) - ([0-9,]+) GiB", clouds.aws_text("ec2", "CreateVolumeRequest", "Size"))
    operations = re.search(r"gp3: ([0-9,]+) \(\s*default\s*\) - ([0-9,]+) IOPS", clouds.aws_text("ec2", "CreateVolumeRequest", "Iops"))
    throughput = re.search(r"Valid Range: ([0-9]+) - ([0-9]+) MiB/s", clouds.aws_text("ec2", "CreateVolumeRequest", "Throughput"))
    assert sizes is not None
    assert operations is not None
    assert throughput is not None
    assert [entry.minimum_gib(), entry.maximum_gib()] == clouds.numbers(" ".join(sizes.groups()))
    assert entry.is_valid_size(2)
    assert entry.iops is not None
    assert entry.throughput_mibs is not None
    assert [entry.iops.first, entry.iops.last] == clouds.numbers(" ".join(operations.groups()))
    assert [entry.throughput_mibs.first, entry.throughput_mibs.last] == clouds.numbers(" ".join(throughput.groups()))
    assert (entry.iops.included, entry.iops.per_gib, entry.throughput_mibs.included) == (3000, 500, 125)


def test_efs_modes_are_those_of_the_model() -> None:
    api = catalog.storage_class("aws", "efs").api
    assert api["performance_mode"] in clouds.aws("efs")["shapes"]["PerformanceMode"]["enum"]
    assert api["throughput_mode"] in clouds.aws("efs")["shapes"]["ThroughputMode"]["enum"]


def test_filestore_tiers_are_those_of_the_interface() -> None:
    tiers = clouds.google("file.v1")["Instance"]["properties"]["tier"]["enum"]
    filestore = [entry for entry in catalog.storage_classes("gcp").values() if entry.product.startswith("Filestore")]
    assert {entry.api["tier"] for entry in filestore} == {"ZONAL", "REGIONAL", "BASIC_SSD", "BASIC_HDD"} < set(tiers)
    widest = clouds.numbers(clouds.google("hypercomputecluster.v1")["FileShareConfig"]["properties"]["capacityGb"]["description"])
    for entry in filestore:
        assert widest[0] <= entry.minimum_gib()
        assert entry.maximum_gib() is not None
        assert (entry.maximum_gib() or 0) <= widest[1]
        assert entry.zonal == (entry.api["tier"] != "REGIONAL")
    basic = clouds.google("file.v1")["Instance"]["properties"]["tier"]["enumDescriptions"][tiers.index("BASIC_SSD")]
    assert "63.9 TB" in basic
    for name, least in (("filestore-basic-ssd", 2560), ("filestore-basic-hdd", 1024)):
        (sizes,) = catalog.storage_class("gcp", name).sizes
        assert sizes == catalog.Run(least, int(63.9 * 1024), 1)


def test_managed_lustre_tiers_are_those_of_the_interface() -> None:
    properties = clouds.google("hypercomputecluster.v1")["NewLustreConfig"]["properties"]
    valid = re.search(r"Valid values are ([0-9, ]+)\.", properties["perUnitStorageThroughput"]["description"])
    assert valid is not None
    entry = catalog.storage_class("gcp", "managed-lustre")
    assert [tier.mbs_per_tib for tier in entry.tiers] == clouds.numbers(valid[1])
    # Each tier's least size carries the same 9,000 MB/s: 72,000 GiB at 125 MB/s/TiB, 9,000 GiB at 1000 (the pages on creating and growing an instance).
    assert {tier.mbs_per_tib * entry.minimum_gib(tier.mbs_per_tib) for tier in entry.tiers} == {9_000_000}
    least, most = clouds.numbers(properties["capacityGb"]["description"])  # of an older time
    assert all(entry.is_valid_size(most, mbs_per_tib=tier.mbs_per_tib) for tier in entry.tiers if tier.mbs_per_tib < 250)
    assert least == entry.minimum_gib(500)
    assert [entry.maximum_gib(tier.mbs_per_tib) for tier in entry.tiers] == [12240000, 40032000, 20016000, 10008000]


def test_a_range_for_managed_lustre_holds_several_instances() -> None:
    peered = catalog.storage_class("gcp", "managed-lustre").peered
    assert peered is not None
    assert (peered.most, catalog.source(peered.source).date) == (8, "2026-11")


def test_hyperdisk_is_that_of_its_page() -> None:
    entry = catalog.storage_class("gcp", "hyperdisk-balanced")
    assert (entry.iops, entry.throughput_mibs) == (catalog.Rate(3000, 3000, 160000, None), catalog.Rate(140, 140, 2400, None))


def test_ports_that_file_systems_answer_on() -> None:
    lustre, filestore = ("988", "1018-1023"), ("111", "2046", "2049", "2050", "4045")
    assert {name: entry.ports for target in TARGETS for name, entry in catalog.storage_classes(target).items() if entry.ports} == {
        "fsx-lustre-persistent-2": lustre,
        "fsx-lustre-scratch-2": lustre,
        "efs": ("2049",),
        "s3": ("443",),
        "managed-lustre": ("988",),
        "filestore-zonal": filestore,
        "filestore-regional": filestore,
        "filestore-basic-ssd": filestore,
        "filestore-basic-hdd": filestore,
        "gcs": ("443",),
        "controller-export": ("2049",),
        "lustre-endpoint": lustre,
        "nfs-endpoint": ("2049",),
    }


def test_the_fabric_reaches_fsx_from_a_size_on() -> None:
    tiers = catalog.storage_class("aws", "fsx-lustre-persistent-2").tiers
    # FSx for Lustre User Guide, increasing storage capacity: multiples for EFA-enabled file systems. Each step has the same throughput.
    assert {tier.mbs_per_tib: tier.fabric_step_gib for tier in tiers} == {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
    assert len({tier.mbs_per_tib * (tier.fabric_step_gib or 0) for tier in tiers}) == 1
    for tier in tiers:
        assert all(catalog.storage_class("aws", "fsx-lustre-persistent-2").is_valid_size(times * (tier.fabric_step_gib or 0)) for times in (1, 2, 7))
    elsewhere = [tier for entry in catalog.storage_classes("gcp").values() for tier in entry.tiers]
    assert {tier.fabric_step_gib for tier in elsewhere} == {None}


def test_who_enforces_quotas_of_users() -> None:
    known = {name: entry.user_quotas for target in TARGETS for name, entry in catalog.storage_classes(target).items() if entry.user_quotas is not None}
    able = ("fsx-lustre-persistent-2", "fsx-lustre-scratch-2", "ebs-gp3", "managed-lustre", "hyperdisk-balanced", "controller-export")
    assert known == {**dict.fromkeys(able, True), "efs": False}
    for target in TARGETS:
        for entry in catalog.storage_classes(target).values():
            assert bool(entry.quotas_source) == (entry.user_quotas is not None)
            assert not entry.quotas_source or catalog.source(entry.quotas_source).where


def test_scratch_is_known_not_to_survive() -> None:
    lost = {name for target in TARGETS for name, entry in catalog.storage_classes(target).items() if not entry.survives}
    assert lost == {"fsx-lustre-scratch-2"}
