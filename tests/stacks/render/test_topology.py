"""What a picture shows: everything there is, in a page's worth of cards, and what is simulated as such."""

import dataclasses
from collections.abc import Callable

import pytest

from blueprints.spec import ClusterSpec
from stacks.render import pool_sizes
from stacks.render.picture.parts import Domain, Item, Topology
from stacks.render.picture.topology import MOST_POOLS, MOST_STORES, topology
from tests.blueprints import hand_made
from tests.stacks.render import clusters


def item(shown: Topology, key: str) -> Item:
    (found,) = [one for group in (shown.outside, shown.edge, shown.hosts, shown.pools, shown.storage) for one in group if one.key == key]
    return found


@pytest.mark.parametrize("name", clusters.CLUSTERS)
def test_every_card_has_a_key_of_its_own_and_every_way_leads_from_card_to_card(name: str) -> None:
    shown = topology(clusters.CLUSTERS[name]())
    keys = [one.key for group in (shown.outside, shown.edge, shown.hosts, shown.pools, shown.storage) for one in group]
    assert len(set(keys)) == len(keys)
    assert shown.routes
    assert {key for route in shown.routes for key in route} <= set(keys)
    assert {one.rails for one in shown.pools if one.rails} <= {rails.key for rails in shown.rails}


def test_a_pool_says_machines_gpus_interfaces_and_how_it_is_bought() -> None:
    train = item(topology(clusters.pretrain()), "pool-train")
    assert train.lines == (
        "16 × p5.48xlarge",
        "128 GPUs: H100 80 GB",
        "each 192 CPUs, 2 TiB",
        "1 × ENA + 32 × EFA, 3.2 Tb/s",
        "reserved cr-0123456789abcdef0, placed by the capacity",
    )
    assert train.domain == Domain(nodes=1, gpus=8, times="16", named=False)
    assert not train.elastic
    assert item(topology(clusters.pretrain()), "pool-develop").domain == Domain(nodes=1, gpus=4, times="1 to 8", named=False)


def test_rails_are_as_many_as_gpus_or_interfaces_whichever_is_less() -> None:
    (efa,) = topology(clusters.pretrain()).rails
    assert efa.lanes == 8  # 32 interfaces for 8 GPUs
    assert efa.lines == ("400 Gb/s per GPU, 32 interfaces a node", "all-gather over 16 nodes: 338 GB/s typical (extrapolated from 2 nodes), 304 GB/s at least")
    (tcpxo,) = topology(clusters.nine_networks()).rails
    assert tcpxo.lanes == 8
    assert tcpxo.lines[-1] == "8 subnets: 10.1.0.0/20 to 10.8.0.0/20"
    (infiniband,) = topology(clusters.rack()).rails
    assert infiniband.lanes == 4


def test_an_nvlink_domain_is_drawn_whole_and_counted() -> None:
    shown = topology(clusters.rack())
    assert item(shown, "pool-train").domain == Domain(nodes=18, gpus=4, times="2", named=True)
    assert item(shown, "pool-spare").domain == Domain(nodes=4, gpus=4, times="1", named=True)


def test_the_number_of_cards_is_bounded_and_the_last_one_counts_the_rest() -> None:
    spec = clusters.crowd()
    shown = topology(spec)
    assert (len(shown.pools), len(shown.storage)) == (MOST_POOLS, MOST_STORES)
    shown_nodes = sum(range(1, MOST_POOLS))
    assert item(shown, "more-pools").title == "85 more"
    assert item(shown, "more-pools").lines == (f"{pool_sizes.nodes(spec) - shown_nodes:,} nodes", f"{16 * (pool_sizes.nodes(spec) - shown_nodes):,} GPUs")
    assert item(shown, "more-storage").title == "13 more"


def test_seven_thousand_nodes_are_sixteen_cards() -> None:
    shown = topology(clusters.seven_thousand())
    assert len(shown.pools) == 16
    assert shown.subtitle == "At most 7,500 nodes, 60,000 GPUs, Slurm 25.11", "most of its pools come and go"
    assert [one.rails for one in shown.pools] == ["efa"] * 12 + [None] * 4


def test_what_is_simulated_is_marked_and_said() -> None:
    spec = clusters.starter()
    shown = topology(spec)
    assert [one.simulated for one in (*shown.pools, *shown.storage)] == [True, True, True]
    assert shown.notes == spec.simulated
    assert not any(one.simulated for one in topology(clusters.pretrain()).pools)


def test_a_pool_with_several_machines_is_one_card_and_counted_once() -> None:
    spec = clusters.pretrain()
    first = spec.node_sets[0]
    other = dataclasses.replace(
        first, hosts=dataclasses.replace(first.hosts, name="train-b", machine=clusters.machine("p5e.48xlarge", gpus=first.hosts.machine.gpus))
    )
    both = hand_made.replaced(spec, node_sets=(first, other))
    assert pool_sizes.nodes(both) == 16
    (card,) = topology(both).pools
    assert card.lines[:2] == ("16 × p5.48xlarge", "or p5e.48xlarge")


@pytest.mark.parametrize(
    ("cluster", "ways"),
    [
        (clusters.pretrain, [("people", "balancer"), ("balancer", "access"), ("access", "control")]),
        (clusters.crowd, [("people", "access"), ("access", "control")]),
        (clusters.kubernetes, [("people", "kubernetes")]),
    ],
)
def test_people_come_in_where_the_cluster_lets_them(cluster: Callable[[], ClusterSpec], ways: list[tuple[str, str]]) -> None:
    assert list(topology(cluster()).routes) == ways


def test_places_say_zone_subnets_and_their_addresses() -> None:
    shown = topology(clusters.pretrain())
    assert (shown.site.title, shown.site.line) == ("AWS, us-east-2", "network 10.0.0.0/16; public subnets 10.0.0.0/28 (us-east-2a), 10.0.0.16/28 (us-east-2b)")
    assert shown.zone is not None
    assert (shown.zone.title, shown.zone.line) == ("Zone us-east-2a", "subnet cluster 10.0.16.0/20: 52 of 4,091 addresses")
    assert topology(clusters.starter()).zone is None
    assert "anywhere in the world" in topology(clusters.nine_networks()).outside[0].lines[0]
