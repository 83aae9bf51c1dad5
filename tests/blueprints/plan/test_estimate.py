"""What a cluster costs: each part from the catalogue's prices, and unknown said as unknown."""

import dataclasses
import json
from typing import Any

import pytest

from blueprints import catalog, spec
from blueprints.plan import estimate
from tests.blueprints import hand_made

REGION = "us-east-1"


def parts(cluster: spec.ClusterSpec) -> dict[str, estimate.Part]:
    return {part.name: part for part in estimate.estimate(cluster).parts}


def one_pool(**more: Any) -> spec.ClusterSpec:
    """A cluster with known prices alone: one pool, and hosts of its own."""
    return hand_made.aws(
        storage=(), node_sets=(hand_made.pool("train", 16, machine=hand_made.P5, **{"capacity": spec.Capacity(spec.CapacityKind.ON_DEMAND), **more}),)
    )


def listed(capacity: str) -> catalog.Price:
    found = catalog.price("aws", "p5.48xlarge", region=REGION, capacity=capacity)
    assert found is not None
    return found


@pytest.mark.parametrize("target", ["local", "metal"])
def test_what_is_owned_has_no_hourly_price_and_is_no_guess(target: str) -> None:
    found = estimate.estimate(hand_made.local(target=target))
    assert (found.owned, found.parts, found.complete, found.hourly_max) == (True, (), True, 0.0)


def test_an_elastic_pool_costs_between_its_smallest_and_its_largest() -> None:
    (train,) = [part for part in estimate.estimate(one_pool(minimum=4)).parts if part.kind == "compute"]
    each = listed("on-demand").usd_per_hour
    assert train.unit_usd_per_hour == each
    assert [train.hourly_min, train.hourly_max] == pytest.approx([4 * each, 16 * each])
    assert (train.as_of, train.source) == (listed("on-demand").as_of, listed("on-demand").source)


def test_the_sums_are_those_of_the_parts_and_a_month_has_730_hours() -> None:
    found = estimate.estimate(one_pool(minimum=4))
    record = estimate.as_record(found)
    assert found.complete
    assert record["complete"] is True
    assert found.hourly_max == pytest.approx(sum(part.hourly_max or 0.0 for part in found.parts))
    assert found.hourly_max == pytest.approx(sum(found.of(kind)[1] for kind in ("compute", "control", "access", "storage", "service")))
    assert record["hourly_min"] == pytest.approx(found.hourly_min, abs=1e-4)
    assert record["monthly_max"] == pytest.approx(found.hourly_max * 730, abs=0.01)
    assert record["prices_from"] <= record["prices_to"]


def test_spot_has_its_own_price_and_says_that_it_moves() -> None:
    spot, bought = (parts(one_pool(capacity=spec.Capacity(kind)))["train"] for kind in (spec.CapacityKind.SPOT, spec.CapacityKind.ON_DEMAND))
    assert (spot.unit_usd_per_hour, spot.method) == (listed("spot").usd_per_hour, listed("spot").method)
    assert listed("spot").usd_per_hour < listed("on-demand").usd_per_hour == bought.unit_usd_per_hour
    assert "moves" in spot.note
    assert f"{listed('spot').highest_usd:.2f}" in spot.note
    assert "moves" not in bought.note


def reserved(**more: Any) -> estimate.Part:
    return parts(one_pool(capacity=spec.Capacity(spec.CapacityKind.RESERVED, id="cr-0123"), **more))["train"]


def test_a_reservation_is_billed_as_on_demand() -> None:
    found = reserved()
    assert (found.what, found.count_min, found.count_max) == ("p5.48xlarge, reserved", 16, 16)
    assert (found.unit_usd_per_hour, found.as_of, found.source) == (listed("on-demand").usd_per_hour, listed("on-demand").as_of, listed("on-demand").source)
    assert found.note == "as on demand, used or not, before any discount"


def test_an_elastic_pool_in_a_reservation_costs_the_whole_reservation_at_any_time() -> None:
    found = reserved(minimum=0)
    assert (found.count_min, found.count_max) == (16, 16)
    assert found.hourly_min == found.hourly_max == pytest.approx(16 * listed("on-demand").usd_per_hour)
    assert found.note == "as on demand, used or not, before any discount; the whole reservation is billed, however few nodes run"


def test_a_reserved_machine_without_a_known_price_has_none() -> None:
    node_set = hand_made.pool(
        "train", 16, machine=dataclasses.replace(hand_made.P5, name="p6e-gb200.36xlarge"), capacity=spec.Capacity(spec.CapacityKind.RESERVED, id="cr-1")
    )
    found = parts(hand_made.aws(storage=(), node_sets=(node_set,)))["train"]
    assert (found.unit_usd_per_hour, found.note) == (None, "no price is known")


def test_a_block_has_no_known_price_and_the_total_is_a_least() -> None:
    found = estimate.estimate(one_pool(capacity=spec.Capacity(spec.CapacityKind.BLOCK, id="cr-0123")))
    assert "a price of its own" in found.unknown[0].note
    assert [part.name for part in found.unknown] == ["train"]
    assert not found.complete
    assert found.of("compute") == (0.0, 0.0)
    assert found.hourly_max > 0, "the rest is still counted"
    assert estimate.as_record(found)["parts"][0]["unit_usd_per_hour"] is None


def test_an_elastic_pool_without_a_price_is_unknown_even_if_it_can_be_empty() -> None:
    assert not estimate.estimate(one_pool(minimum=0, capacity=spec.Capacity(spec.CapacityKind.BLOCK, id="cr-0123"))).complete


def test_a_region_without_prices_is_unknown_and_not_another_region_s_price() -> None:
    elsewhere = dataclasses.replace(hand_made.aws(), network=dataclasses.replace(hand_made.aws().network, region="af-south-1"))
    found = estimate.estimate(elsewhere)
    assert {part.unit_usd_per_hour for part in found.parts} == {None}
    assert (found.dates, found.hourly_max) == (None, 0.0)


def test_a_file_system_costs_its_size_by_the_month() -> None:
    scratch, home = parts(hand_made.aws())["scratch"], parts(hand_made.aws())["home"]
    price = catalog.storage_price("aws", "fsx-lustre-persistent-2", region=REGION, mbs_per_tib=250)
    assert price is not None
    assert scratch.unit_usd_per_hour == pytest.approx(price.usd_per_gib_month * 14400 / 730)
    assert home.unit_usd_per_hour is None, "EFS is paid by what is stored, which nobody knows"
    assert home.note == "paid by what is stored: 0.3 USD per GiB-month; about 0.03 USD per GB read and 0.06 USD per GB written come on top"
    assert "by what is stored" in home.note


def test_a_file_system_that_exists_is_not_this_cluster_s_cost() -> None:
    scratch = dataclasses.replace(hand_made.aws().storage[0], kind="existing", source="fs-0123456789abcdef0")
    assert "scratch" not in parts(hand_made.aws(storage=(scratch,)))


def test_control_and_login_hosts_and_services_are_counted() -> None:
    found = parts(hand_made.aws())
    assert {name: (part.kind, part.count_max) for name, part in found.items() if part.kind != "compute" and part.kind != "storage"} == {
        "control": ("control", 1), "access": ("access", 2), "nat-gateway": ("service", 1), "load-balancer": ("service", 1),
    }  # fmt: skip
    group = hand_made.hosts("kubernetes", 3, "", hand_made.M7I, role="kubernetes")
    both = parts(dataclasses.replace(hand_made.aws(), slurm=None, kubernetes=spec.Kubernetes("kubernetes_hosts", "hosts", "1.34", group)))
    assert (both["kubernetes"].kind, both["kubernetes"].count_max, "control" in both) == ("control", 3, False)


def test_a_service_without_a_price_makes_the_total_a_least() -> None:
    found = estimate.estimate(one_pool())
    more = estimate.estimate(dataclasses.replace(one_pool(), services=(spec.Service("managed-database", "RDS for MariaDB", 1),)))
    assert (found.complete, more.complete) == (True, False)


def test_the_record_is_json_and_holds_every_part() -> None:
    record = json.loads(json.dumps(estimate.as_record(estimate.estimate(hand_made.aws()))))
    assert {part["name"] for part in record["parts"]} == {"train", "sweep", "control", "access", "scratch", "home", "nat-gateway", "load-balancer"}
    for part in record["parts"]:
        if part["unit_usd_per_hour"] is not None:
            assert part["hourly_max"] == pytest.approx(part["unit_usd_per_hour"] * part["count_max"], abs=1e-4)
            assert part["as_of"]
            assert part["source"] in catalog.sources()


def test_machines_that_stand_in_for_each_other_cost_what_the_dearest_of_them_do() -> None:
    cheap, dear = (
        dataclasses.replace(
            hand_made.pool(f"sweep-{letter}", 16, machine=machine, capacity=spec.Capacity(spec.CapacityKind.ON_DEMAND), minimum=0), pool="sweep", pool_most=16
        )
        for letter, machine in (("a", dataclasses.replace(hand_made.P5, name="p4d.24xlarge")), ("b", hand_made.P5))
    )
    both = estimate.estimate(hand_made.aws(storage=(), node_sets=(cheap, dear))).of("compute")
    assert both == pytest.approx((0, 16 * listed("on-demand").usd_per_hour))
