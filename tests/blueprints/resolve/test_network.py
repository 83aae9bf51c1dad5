"""Region, zones and subnets: what is chosen, what holds the hosts, and what is too small."""

import ipaddress
import itertools
from typing import Any

import pytest

from blueprints import catalog, spec
from blueprints.codes import Code
from tests.blueprints.resolve import asked

ERROR = "error"
USUAL = {target: catalog.target(target).default_region for target in asked.CLOUDS}


def subnets(cluster: spec.ClusterSpec) -> dict[str, spec.Subnet]:
    return {subnet.name: subnet for subnet in cluster.network.subnets}


def network_of(subnet: spec.Subnet) -> ipaddress.IPv4Network:
    assert isinstance(subnet.cidr, str)
    return ipaddress.IPv4Network(subnet.cidr)


@pytest.mark.parametrize(
    ("target", "network", "region", "codes"),
    [
        ("aws", {}, "us-east-1", {("note", Code.REGION_CHOSEN)}),
        ("gcp", {}, USUAL["gcp"], {("note", Code.REGION_CHOSEN)}),
        ("aws", {"region": "us-west-2"}, "us-west-2", set()),
        ("aws", {"zones": ["us-west-2b"]}, "us-west-2", set()),
        ("gcp", {"zones": ["us-east4-a"]}, "us-east4", set()),
        ("aws", {"region": "us-west-2", "zones": ["us-west-2b"]}, "us-west-2", set()),
        ("aws", {"region": "us-west-2", "zones": ["us-east-1b"]}, "us-west-2", {(ERROR, Code.ZONE_UNKNOWN)}),
        ("aws", {"zones": ["us-west-2b", "us-east-1a"]}, "us-west-2", {(ERROR, Code.ZONE_UNKNOWN)}),
        ("aws", {"zones": ["nonsense"]}, "us-east-1", {(ERROR, Code.ZONE_UNKNOWN)}),
        ("aws", {"region": "us-wets-2"}, "us-wets-2", {(ERROR, Code.REGION_UNKNOWN)}),
        ("aws", {"region": "us-west-9"}, "us-west-9", {("warning", Code.REGION_UNKNOWN)}),
        ("aws", {"region": "virginia"}, "virginia", {(ERROR, Code.REGION_UNKNOWN)}),
        ("gcp", {"region": "us-central-1"}, "us-central-1", {(ERROR, Code.REGION_UNKNOWN)}),
        ("metal", {}, "", set()),
        ("metal", {"region": "us-west-2"}, "", set()),
        ("local", {"region": "us-west-2", "zones": ["us-west-2b"]}, "", set()),
    ],
)
def test_the_region(target: str, network: dict[str, Any], region: str, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt(target=target, network=network)
    assert attempted.spec.network.region == region
    assert asked.found(attempted, without=(Code.MACHINE_SMALLEST, Code.HOSTS_UNNAMED)) == codes


@pytest.mark.parametrize(
    ("target", "region", "what", "remedy"),
    [
        (
            "gcp",
            "eu-west-1",
            "`eu-west-1` is a region of AWS, and this target is Google Cloud",
            "write it as `targets.aws.network.region`, and a region such as",
        ),
        (
            "aws",
            "us-west1",
            "`us-west1` is a region of Google Cloud, and this target is AWS",
            "write it as `targets.gcp.network.region`, and a region such as",
        ),
        ("aws", "us-wets-2", "AWS has no region `us-wets-2`", "did you mean `us-west-2`?"),
        ("aws", "us-est-1", "AWS has no region `us-est-1`", "did you mean `us-east-1`?"),
        ("aws", "useast1", "`useast1` is not a valid region name of AWS", "did you mean `us-east-1`?"),
        ("aws", "virginia", "`virginia` is not a valid region name of AWS", "write a name of this form; `clusterwright catalog regions --target aws`"),
        ("aws", "us-east-9", "the catalogue has no region `us-east-9` of AWS", "check the name; `clusterwright catalog regions --target aws`"),
    ],
)
def test_a_region_that_is_none_is_said_to_be_what_it_is(target: str, region: str, what: str, remedy: str) -> None:
    (found,) = [one for one in asked.attempt(target=target, network={"region": region}).findings if one.code == Code.REGION_UNKNOWN]
    assert found.what == what
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("target", "network", "what", "remedy"),
    [
        ("aws", {"zones": ["us-central1-a"]}, "`us-central1-a` is a zone of Google Cloud, and this target is AWS", "write it as `targets.gcp.network.zones`"),
        ("gcp", {"zones": ["us-east-1a"]}, "`us-east-1a` is a zone of AWS, and this target is Google Cloud", "write it as `targets.aws.network.zones`"),
        ("aws", {"region": "us-east-1", "zones": ["us-east-1"]}, "`us-east-1` is a region, and `zones` names zones in it", "write `region: us-east-1`"),
        ("aws", {"region": "us-east-1", "zones": ["us-west-2a"]}, "`us-west-2a` is not a zone of us-east-1", "write `region: us-west-2`"),
    ],
)
def test_a_zone_that_is_none_of_the_region_is_said_to_be_what_it_is(target: str, network: dict[str, Any], what: str, remedy: str) -> None:
    (found,) = [one for one in asked.attempt(target=target, network=network).findings if one.code == Code.ZONE_UNKNOWN]
    assert found.what == what
    assert found.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("more", "pool", "zone"),
    [
        ({"network": {"zones": ["us-east-2b", "us-east-2c"]}}, {}, "us-east-2b"),
        ({}, {}, spec.Late("the first zone of us-east-1 that offers the pools' machines")),
        ({}, {"capacity": {"kind": "reserved", "id": "cr-1"}}, spec.Late("the zone of cr-1")),
        ({}, {"capacity": "reserved"}, spec.Late("the zone of the reserved capacity")),
        ({"network": {"zones": ["us-east-1a"]}}, {"capacity": {"kind": "block", "id": "cr-1"}}, "us-east-1a"),
    ],
)
def test_the_zone_of_the_nodes(more: dict[str, Any], pool: dict[str, Any], zone: str | spec.Late) -> None:
    assert subnets(asked.cluster({"train": {**asked.TRAIN, **pool}}, **more))["cluster"].zone == zone


def test_subnets_of_aws() -> None:
    found = subnets(asked.cluster({"train": asked.TRAIN, "cpu": {"nodes": 4}}, access={"login_nodes": 2}, network={"zones": ["us-east-1a", "us-east-2b"]}))
    assert list(found) == ["cluster", "public-1", "public-2"]
    assert [subnet.role for subnet in found.values()] == ["cluster", "public", "public"]
    assert [subnet.zone for subnet in found.values()] == ["us-east-1a", "us-east-1a", "us-east-2b"]
    assert found["cluster"].needed == 16 + 4 + 1 + 2 + 1  # one address a node, whatever its cards, and one for the builder of images
    assert found["cluster"].usable == network_of(found["cluster"]).num_addresses - 5


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, ["cluster", "public-1", "public-2"]),
        ({"accounting": {"database": "managed"}}, ["cluster", "public-1", "public-2", "cluster-2"]),
        ({"scheduler": "kubernetes"}, ["cluster", "public-1", "public-2", "cluster-2"]),
        ({"control": {"highly_available": True}, "network": {"zones": ["us-east-1a", "us-east-2b"]}}, ["cluster", "public-1", "public-2", "cluster-2"]),
        ({"control": {"highly_available": True}, "network": {"zones": ["us-east-1a"]}}, ["cluster", "public-1", "public-2"]),
        ({"network": {"zones": ["us-east-1a", "us-east-2b"]}}, ["cluster", "public-1", "public-2"]),
        ({"network": {"existing": "vpc-1", "cidr": "10.1.0.0/16"}}, ["cluster"]),
        ({"network": {"existing": "vpc-1", "subnets": ["subnet-1", "subnet-2"]}}, ["subnet-1", "subnet-2"]),
    ],
)
def test_which_subnets_there_are(more: dict[str, Any], names: list[str]) -> None:
    assert list(subnets(asked.cluster(**more))) == names


@pytest.mark.parametrize(
    "more",
    [
        {"accounting": {"database": "managed"}},
        {"control": {"highly_available": True}},
        {"control": {"highly_available": True}, "accounting": {"database": "managed"}},
    ],
)
def test_a_service_that_comes_later_moves_no_subnet(more: dict[str, Any]) -> None:
    """No two subnets can have the same addresses at one time: one that moved to where another stands would never get there."""
    zones = {"network": {"zones": ["us-east-1a", "us-east-1b"]}}
    before, after = subnets(asked.cluster(**zones)), subnets(asked.cluster(**zones, **more))
    assert {name: after[name].cidr for name in before} == {name: one.cidr for name, one in before.items()}
    assert after.keys() - before.keys() == {"cluster-2"}


def test_on_google_cloud_each_interface_has_a_subnet() -> None:
    pools = {"mega": {"machine": "a3-megagpu-8g", "nodes": 8}, "ultra": {"machine": "a3-ultragpu-8g", "nodes": 4}, "cpu": {"nodes": 2}}
    found = subnets(asked.cluster(pools, target="gcp"))
    assert list(found) == ["cluster", *(f"gvnic-{number}" for number in range(1, 9)), *(f"mrdma-{number}" for number in range(1, 9))]
    assert found["cluster"].needed == 8 + 4 + 2 + 1 + 1
    assert found["gvnic-1"].needed == 8 + 4
    assert found["gvnic-2"].needed == 8
    assert {found[f"mrdma-{number}"].needed for number in range(1, 9)} == {4}
    assert found["gvnic-1"].role == "fabric"


def test_interfaces_without_ipv4_need_no_subnet() -> None:
    found = subnets(asked.cluster({"train": {"machine": "a4x-maxgpu-4g-metal", "nodes": 18, "capacity": "reserved"}}, target="gcp"))
    assert list(found) == ["cluster", "idpf-1"]


@pytest.mark.parametrize("target", asked.CLOUDS)
@pytest.mark.parametrize("nodes", [1, 27, 28, 250, 7500, 30_000])
def test_subnets_hold_their_hosts_lie_in_the_network_and_share_nothing(target: str, nodes: int) -> None:
    attempted = asked.attempt({"train": {**asked.TRAIN, "nodes": nodes}}, target=target, accounting={"database": "managed"}, scheduler="both")
    assert not [code for level, code in asked.found(attempted) if level == ERROR]
    network = ipaddress.IPv4Network(attempted.spec.network.cidr)
    for subnet in attempted.spec.network.subnets:
        assert subnet.usable is not None
        assert subnet.needed <= subnet.usable
        assert network_of(subnet).subnet_of(network)
    for one, other in itertools.combinations(attempted.spec.network.subnets, 2):
        assert not network_of(one).overlaps(network_of(other))


def test_a_pool_that_grows_moves_no_subnet() -> None:
    for target in asked.CLOUDS:
        few, many = (asked.cluster({"train": {**asked.TRAIN, "nodes": nodes}}, target=target).network for nodes in (2, 2000))
        assert few.cidr == many.cidr
        assert [subnet.cidr for subnet in few.subnets] == [subnet.cidr for subnet in many.subnets]


@pytest.mark.parametrize(
    ("target", "nodes", "network", "codes", "words"),
    [
        ("aws", 10, {"cidr": "10.0.0.0/16"}, set(), ""),
        ("aws", 10, {"cidr": "10.0.0.0/26"}, set(), ""),  # 10 + 2 + 1 + 5 in a /27, and two /28
        ("aws", 10, {"cidr": "10.0.0.0/27"}, {(ERROR, Code.CIDR_TOO_SMALL)}, "write `10.0.0.0/26` or a larger"),
        ("aws", 1000, {"cidr": "10.0.0.0/22"}, {(ERROR, Code.CIDR_TOO_SMALL)}, "(cluster 1003, public-1 9, public-2 9) need a /21"),
        ("aws", 10, {"cidr": "10.0.0.0/15"}, {(ERROR, Code.CIDR_SIZE)}, "the largest network of AWS is a /16"),
        ("gcp", 10, {"cidr": "10.0.0.0/15"}, set(), ""),
        ("gcp", 100, {"cidr": "10.0.0.0/20"}, set(), ""),  # nine of 128
        ("gcp", 100, {"cidr": "10.0.0.0/22"}, {(ERROR, Code.CIDR_TOO_SMALL)}, "and 5 more"),
        ("aws", 10, {"cidr": "8.8.0.0/16"}, {(ERROR, Code.CIDR_NOT_PRIVATE)}, ""),
        ("aws", 32_700, {}, set(), ""),  # half of the largest network
        ("aws", 32_800, {}, {(ERROR, Code.CLUSTER_TOO_LARGE)}, "need a /15, and the largest network is a /16"),
        ("gcp", 50_000, {}, set(), ""),
        ("metal", 250, {"cidr": "10.0.0.0/24"}, set(), ""),
        ("metal", 253, {"cidr": "10.0.0.0/24"}, {(ERROR, Code.CIDR_TOO_SMALL)}, "254 addresses for hosts, and 255 hosts"),
        ("metal", 1, {"cidr": "8.8.0.0/16"}, {(ERROR, Code.CIDR_NOT_PRIVATE)}, ""),
    ],
)
def test_a_network_holds_what_is_asked_of_it(target: str, nodes: int, network: dict[str, Any], codes: set[tuple[str, str]], words: str) -> None:
    attempted = asked.attempt({"train": {**asked.TRAIN, "nodes": nodes}}, target=target, network=network)
    assert asked.found(attempted) == codes
    assert any(words in f"{one.why}. {one.remedy}" for one in attempted.findings)


@pytest.mark.parametrize(
    ("more", "first", "further"),
    [
        ({}, 0, None),
        ({"storage": {"home": {"kind": "nfs", "mount": "/home"}}}, 1, None),
        ({"storage": {"data": {"kind": "lustre", "mount": "/data", "size": "1200 GiB"}}}, 1 + 1, None),
        ({"storage": {"data": {"kind": "lustre", "mount": "/data", "size": "4800 GiB"}}}, 1 + 4, None),
        ({"storage": {"disk": {"kind": "block", "mount": "/disk", "size": "1 TiB"}, "old": {"kind": "object", "mount": "/old"}}}, 0, None),
        ({"storage": {"old": {"kind": "existing", "mount": "/old", "source": "fs-0123456789abcdef0"}}}, 0, None),
        ({"network": {"private_endpoints": True}}, 2, None),
        ({"accounting": {"database": "managed"}}, 1, 1),
        ({"accounting": {"database": "managed"}, "storage": {"home": {"kind": "nfs", "mount": "/home"}}}, 1 + 1, 1 + 1),
        ({"network": {"existing": "vpc-1", "cidr": "10.0.0.0/20"}}, 1, None),  # the load balancer, which has no public subnets there
        ({"network": {"existing": "vpc-1", "cidr": "10.0.0.0/20"}, "access": {"load_balancer": False}}, 0, None),
    ],
)
def test_everything_that_takes_addresses_counts(more: dict[str, Any], first: int, further: int | None) -> None:
    found = subnets(asked.cluster({"cpu": {"nodes": 4}}, **more))
    hosts, builder = 4 + 1 + 1, 1
    assert found["cluster"].needed == hosts + builder + first
    assert (found["cluster-2"].needed if "cluster-2" in found else None) == further


def test_more_nodes_than_any_network_holds() -> None:
    pools = {f"p{number}": {"nodes": 50_000} for number in range(2)}
    attempted = asked.attempt(pools)
    assert asked.found(attempted) == {(ERROR, Code.CLUSTER_TOO_LARGE)}
    assert all(isinstance(subnet.cidr, spec.Late) for subnet in attempted.spec.network.subnets)
    assert asked.found(asked.attempt(pools, target="gcp")) == set()


def test_what_exists_and_was_not_looked_up_is_known_later() -> None:
    network = asked.cluster({"train": asked.TRAIN}, network={"existing": "vpc-1", "subnets": ["subnet-1"]}).network
    assert (network.existing, network.cidr) == ("vpc-1", "")
    (only,) = network.subnets
    assert (only.name, only.role, only.needed, only.usable) == ("subnet-1", "cluster", 18 + 1 + 1, None)
    assert isinstance(only.cidr, spec.Late)
    made = asked.cluster(network={"existing": "vpc-1"}).network
    assert [subnet.cidr for subnet in made.subnets] == [spec.Late("free addresses of vpc-1")]
    site = asked.cluster(target="metal").network
    assert [subnet.cidr for subnet in site.subnets] == [spec.Late("the network of the site's hosts")]


@pytest.mark.parametrize(
    ("target", "more", "given", "codes"),
    [
        ("aws", {}, 1, set()),
        ("aws", {"accounting": {"database": "managed"}}, 1, {(ERROR, Code.SUBNETS_MISSING)}),
        ("aws", {"accounting": {"database": "managed"}}, 2, set()),
        ("gcp", {}, 8, {(ERROR, Code.SUBNETS_MISSING)}),
        ("gcp", {}, 9, set()),
    ],
)
def test_an_existing_network_has_a_subnet_for_all_that_needs_one(target: str, more: dict[str, Any], given: int, codes: set[tuple[str, str]]) -> None:
    network = {"existing": "net-1", "subnets": [f"subnet-{number}" for number in range(given)]}
    assert asked.found(asked.attempt({"train": asked.TRAIN}, target=target, network=network, **more)) == codes


def test_addresses_are_the_clouds_business() -> None:
    for target in ("aws", "gcp", "metal"):
        attempted = asked.cluster({"train": asked.TRAIN}, target=target)
        assert {group.first_address for group in attempted.host_groups} == {""}
        assert (attempted.network.gateway, attempted.network.balancer_address) == ("", "")


def test_the_default_network_comes_from_the_stacks_name() -> None:
    one, again, other = (asked.cluster(stack=stack).network.cidr for stack in ("one", "one", "other"))
    assert one == again != other
