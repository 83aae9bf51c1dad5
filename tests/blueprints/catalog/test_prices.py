import itertools
import re

import pytest

from blueprints import catalog
from blueprints.catalog import files

TARGETS = ("aws", "gcp")
DATE = re.compile(r"20[0-9]{2}(-[01][0-9](-[0-3][0-9])?)?")
EVERY = [pytest.param(target, *key, id="-".join((target, *key))) for target in TARGETS for key in catalog.prices(target)]

# Families whose price is that of their vCPUs and nothing else.
LINEAR_AWS = {"m6i", "m7g", "m7i", "c6i", "c7i", "r7i"}
LINEAR_GCP = {"c4a-standard", "n2-standard", "c2-standard", "e2-standard", "c3-standard"}


SERVICES = ("load-balancer", "nat-gateway", "kubernetes", "public-ipv4")
BOOT_DISKS = ("pd-standard", "pd-balanced", "pd-ssd")


def usd(target: str, machine: str, region: str, capacity: str = "on-demand") -> float:
    price = catalog.price(target, machine, region=region, capacity=capacity)
    assert price is not None
    return price.usd_per_hour


@pytest.mark.parametrize(("target", "machine", "region", "capacity"), EVERY)
def test_a_price_is_of_something_that_is_sold_there(target: str, machine: str, region: str, capacity: str) -> None:
    entry = catalog.machine(target, machine)
    assert region in entry.regions or not entry.regions  # where all that is known of regions is this price
    assert capacity in entry.capacity
    price = catalog.prices(target)[machine, region, capacity]
    assert price.usd_per_hour > 0
    assert price.method
    assert price.confidence in ("high", "medium", "low")
    assert price.low == (price.confidence == "low")
    assert price.source in catalog.sources()
    assert DATE.fullmatch(price.as_of)
    assert (price.highest_usd is not None) == ((target, capacity) == ("aws", "spot"))  # Google's spot prices are those of a region
    assert price.highest_usd is None or price.highest_usd >= price.usd_per_hour


@pytest.mark.parametrize(("target", "machine", "region", "capacity"), [case for case in EVERY if case.values[3] == "spot"])
def test_spot_costs_no_more_than_on_demand(target: str, machine: str, region: str, capacity: str) -> None:
    on_demand = catalog.price(target, machine, region=region, capacity="on-demand")
    if on_demand is not None:
        spot = catalog.prices(target)[machine, region, capacity]
        assert max(spot.usd_per_hour, spot.highest_usd or 0) <= on_demand.usd_per_hour * 1.0001


@pytest.mark.parametrize("target", TARGETS)
def test_no_price_is_given_twice(target: str) -> None:
    assert len(files.table(f"prices/{target}")) == len(catalog.prices(target))


def test_us_regions_of_aws_cost_the_same() -> None:
    # From different tables: Karpenter's for us-east-1, SkyPilot's for the others.
    compared = 0
    for (machine, region, capacity), price in catalog.prices("aws").items():
        first = catalog.price("aws", machine, region="us-east-1", capacity=capacity)
        if region in ("us-east-2", "us-west-2") and capacity == "on-demand" and first is not None and first.source != price.source:
            assert price.usd_per_hour == pytest.approx(first.usd_per_hour, rel=1e-4)
            compared += 1
    assert compared >= 60


@pytest.mark.parametrize(("region", "dearer"), [("eu-central-1", 1.25), ("ap-northeast-1", 1.45)])
def test_newer_gpus_are_dearer_by_one_ratio_in_a_region(region: str, dearer: float) -> None:
    names = [name for name, where, capacity in catalog.prices("aws") if (where, capacity) == (region, "on-demand") and name.startswith(("g6", "gr6", "g7e"))]
    assert len(names) >= 8
    for name in names:
        assert usd("aws", name, region) / usd("aws", name, "us-east-1") == pytest.approx(dearer, rel=0.001)


@pytest.mark.parametrize(
    ("target", "whole", "part", "times"),
    [
        ("aws", "p5.48xlarge", "p5.4xlarge", 8),
        ("aws", "g7e.48xlarge", "g7e.24xlarge", 2),
        ("gcp", "a2-highgpu-8g", "a2-highgpu-1g", 8),
        ("gcp", "a2-highgpu-4g", "a2-highgpu-2g", 2),
        ("gcp", "a2-ultragpu-8g", "a2-ultragpu-1g", 8),
        ("gcp", "a2-ultragpu-4g", "a2-ultragpu-2g", 2),
        ("gcp", "g4-standard-384", "g4-standard-48", 8),
        ("gcp", "g4-standard-192", "g4-standard-96", 2),
    ],
)
def test_a_machine_of_more_of_the_same_costs_as_much_more(target: str, whole: str, part: str, times: int) -> None:
    compared = 0
    for machine, region, capacity in catalog.prices(target):
        # Spot prices of EC2 are those of a market.
        if machine == whole and (target == "gcp" or capacity == "on-demand") and (part, region, capacity) in catalog.prices(target):
            assert usd(target, whole, region, capacity) == pytest.approx(times * usd(target, part, region, capacity), rel=0.002)
            compared += 1
    assert compared


@pytest.mark.parametrize("capacity", ["on-demand", "spot"])
def test_g2_costs_its_processors_and_its_gpus(capacity: str) -> None:
    regions = [region for machine, region, kind in catalog.prices("gcp") if (machine, kind) == ("g2-standard-4", capacity)]
    assert len(regions) >= 5
    for region in regions:
        small, large = usd("gcp", "g2-standard-4", region, capacity), usd("gcp", "g2-standard-48", region, capacity)
        per_vcpu = (4 * small - large) / (4 * 4 - 48)
        per_gpu = small - 4 * per_vcpu
        for name in [name for name, where, kind in catalog.prices("gcp") if name.startswith("g2-") and (where, kind) == (region, capacity)]:
            machine = catalog.machine("gcp", name)
            assert usd("gcp", name, region, capacity) == pytest.approx(machine.vcpus * per_vcpu + machine.gpus * per_gpu, rel=0.001)


def test_local_disks_of_c3_cost_the_same_each() -> None:
    each: dict[tuple[str, str], list[float]] = {}
    for name, region, capacity in catalog.prices("gcp"):
        if name.endswith("-lssd") and name.startswith("c3-"):
            more = usd("gcp", name, region, capacity) - usd("gcp", name.removesuffix("-lssd"), region, capacity)
            each.setdefault((region, capacity), []).append(more / catalog.machine("gcp", name).scratch_disks)
    assert len(each) >= 10
    for values in each.values():
        assert max(values) == pytest.approx(min(values), rel=0.01)


@pytest.mark.parametrize("target", TARGETS)
def test_processors_cost_the_same_in_every_size(target: str) -> None:
    each: dict[tuple[str, str, str], set[float]] = {}
    for machine, region, capacity in catalog.prices(target):
        family = machine.partition(".")[0] if target == "aws" else machine.rpartition("-")[0]
        is_market = (target, capacity) == ("aws", "spot")
        if family in (LINEAR_AWS if target == "aws" else LINEAR_GCP) and not machine.endswith("-lssd") and not is_market:
            per_vcpu = usd(target, machine, region, capacity) / catalog.machine(target, machine).vcpus
            each.setdefault((family, region, capacity), set()).add(per_vcpu)
    assert len(each) >= (5 if target == "aws" else 20)
    for values in each.values():
        assert max(values) == pytest.approx(min(values), rel=0.001)


@pytest.mark.parametrize(
    ("target", "machine", "region", "capacity", "expected"),
    [  # each quoted by a second source, to the cent
        ("aws", "p4d.24xlarge", "us-east-1", "on-demand", 21.96),
        ("aws", "p4de.24xlarge", "us-east-1", "on-demand", 27.45),
        ("aws", "p5.48xlarge", "us-east-1", "on-demand", 55.04),
        ("aws", "p5en.48xlarge", "us-east-1", "on-demand", 63.30),
        ("aws", "p6-b200.48xlarge", "us-east-1", "on-demand", 113.93),
        ("aws", "p6-b300.48xlarge", "us-west-2", "on-demand", 142.42),
        ("gcp", "a3-megagpu-8g", "us-central1", "on-demand", 92.87),
        ("gcp", "a3-ultragpu-8g", "us-central1", "on-demand", 84.81),
        ("gcp", "a4-highgpu-8g", "us-east4", "flex", 64.44),
    ],
)
def test_prices_that_decide(target: str, machine: str, region: str, capacity: str, expected: float) -> None:
    assert round(usd(target, machine, region, capacity), 2) == expected


@pytest.mark.parametrize(
    ("target", "machine", "region", "capacity"),
    [
        ("aws", "p5.48xlarge", "eu-west-1", "on-demand"),  # not offered
        ("aws", "p5.48xlarge", "us-east-1", "block"),  # a price of its own by contract
        ("aws", "p5e.48xlarge", "us-east-2", "on-demand"),  # no list shows it
        ("gcp", "a4-highgpu-8g", "us-central1", "on-demand"),  # not sold so
        ("gcp", "a4x-highgpu-4g", "us-central1", "reserved"),
        ("metal", "dgx-h100", "", "on-demand"),
        ("local", "local", "", "on-demand"),
    ],
)
def test_what_is_not_known_has_no_price(target: str, machine: str, region: str, capacity: str) -> None:
    assert catalog.price(target, machine, region=region, capacity=capacity) is None


def test_aws_sells_its_larger_gpu_machines_with_a_price_where_it_has_one() -> None:
    missing = {
        name for name in catalog.machines("aws") if name.startswith(("p", "g")) and catalog.price("aws", name, region="us-east-1", capacity="on-demand") is None
    }
    assert missing == {"p5e.48xlarge", "p6e-gb200.36xlarge"}


@pytest.mark.parametrize(
    ("target", "storage_class", "region", "tier", "expected"),
    [
        ("aws", "fsx-lustre-persistent-2", "us-east-1", 125, 0.145),
        ("aws", "fsx-lustre-persistent-2", "us-east-1", 250, 0.21),
        ("aws", "fsx-lustre-persistent-2", "us-east-1", 500, 0.34),
        ("aws", "fsx-lustre-persistent-2", "us-east-1", 1000, 0.60),
        ("aws", "fsx-lustre-scratch-2", "us-east-1", None, 0.14),
        ("aws", "efs", "us-east-1", None, 0.30),
        ("aws", "ebs-gp3", "us-east-1", None, 0.08),
        ("gcp", "managed-lustre", "us-central1", 125, 0.145),
        ("gcp", "managed-lustre", "us-central1", 1000, 0.60),
        ("gcp", "filestore-zonal", "us-central1", None, 0.25),
        ("gcp", "filestore-basic-ssd", "us-central1", None, 0.30),
        ("gcp", "pd-ssd", "europe-west4", None, 0.187),
        ("aws", "fsx-lustre-persistent-2", "us-east-1", None, None),
        ("aws", "fsx-lustre-persistent-2", "eu-north-1", 250, None),
        ("aws", "load-balancer", "us-east-1", None, None),
        ("metal", "nfs-endpoint", "", None, None),
    ],
)
def test_storage_prices(target: str, storage_class: str, region: str, tier: int | None, expected: float | None) -> None:
    price = catalog.storage_price(target, storage_class, region=region, mbs_per_tib=tier)
    assert (price.usd_per_gib_month if price else None) == expected


@pytest.mark.parametrize(
    ("storage_class", "region", "expected"),
    [("efs", "us-east-1", (0.03, 0.06)), ("fsx-lustre-scratch-2", "us-east-1", (None, None)), ("ebs-gp3", "us-west-2", (None, None))],
)
def test_what_goes_in_and_out_is_paid_for_where_throughput_is_elastic(storage_class: str, region: str, expected: tuple[float | None, float | None]) -> None:
    price = catalog.storage_price("aws", storage_class, region=region)
    assert price is not None
    assert (price.usd_per_gb_read, price.usd_per_gb_written) == expected


def test_aws_and_google_ask_the_same_for_lustre() -> None:
    for tier in (125, 250, 500, 1000):
        aws = catalog.storage_price("aws", "fsx-lustre-persistent-2", region="us-east-1", mbs_per_tib=tier)
        google = catalog.storage_price("gcp", "managed-lustre", region="us-central1", mbs_per_tib=tier)
        assert aws is not None
        assert google is not None
        assert aws.usd_per_gib_month == google.usd_per_gib_month
        assert not aws.low


@pytest.mark.parametrize(
    ("target", "service", "region", "expected", "low"),
    [
        ("aws", "load-balancer", "us-east-1", 0.0225, False),
        ("aws", "nat-gateway", "us-east-1", 0.045, False),
        ("aws", "kubernetes", "us-east-1", 0.10, False),
        ("aws", "public-ipv4", "us-east-1", 0.005, False),
        # The same in every region.
        ("aws", "public-ipv4", "eu-west-1", 0.005, False),
        ("aws", "kubernetes", "us-west-2", 0.10, False),
        ("aws", "nat-gateway", "us-west-2", 0.045, False),
        ("aws", "load-balancer", "us-west-2", 0.0225, True),
        ("gcp", "kubernetes", "us-central1", 0.10, False),
        ("gcp", "load-balancer", "us-central1", 0.025, True),
        ("gcp", "nat-gateway", "europe-west4", 0.0448, False),
    ],
)
def test_service_prices(target: str, service: str, region: str, expected: float, low: bool) -> None:
    price = catalog.service_price(target, service, region=region)
    assert price is not None
    assert (price.usd_per_hour, price.low) == (expected, low)


@pytest.mark.parametrize(
    ("target", "service", "region"), [("aws", "nat-gateway", "eu-west-1"), ("aws", "ebs-gp3", "us-east-1"), ("local", "load-balancer", "")]
)
def test_a_service_without_a_price(target: str, service: str, region: str) -> None:
    assert catalog.service_price(target, service, region=region) is None


def test_each_kind_of_storage_and_service_is_priced_once() -> None:
    keys = [tuple(row[column] for column in ("target", "what", "tier", "region")) for row in files.table("prices/storage")]
    assert len(keys) == len(set(keys))
    for row in files.table("prices/storage"):
        assert row["unit"] in ("hour", "GiB-month", "GB")
        assert (row["unit"] == "GB") is (row["tier"] in ("read", "write"))
        assert row["region"] == "*" or any(row["region"] in machine.regions for machine in catalog.machines(row["target"]).values())
        assert row["what"] in SERVICES if row["unit"] == "hour" else row["what"] in {*files.mapping("storage")[row["target"]], *BOOT_DISKS}
        assert float(row["usd"]) > 0
        assert row["confidence"] in ("high", "medium", "low")


def test_googles_disks_cost_in_every_region_what_their_kinds_are_worth() -> None:
    rows = {(row["what"], row["region"]): float(row["usd"]) for row in files.table("prices/storage") if row["what"] in BOOT_DISKS}
    regions = {region for _, region in rows}
    assert len(rows) == 3 * len(regions) == 18
    for region in regions:
        assert rows["pd-balanced", region] == pytest.approx(2.5 * rows["pd-standard", region], rel=0.01)
        assert rows["pd-ssd", region] == pytest.approx(1.7 * rows["pd-balanced", region], rel=0.01)


def test_derived_prices_are_never_called_certain() -> None:
    for price in itertools.chain(catalog.prices("aws").values(), catalog.prices("gcp").values()):
        if price.method not in ("listed", "lowest zone"):
            assert price.confidence != "high"
