"""Input for AWS that can't work, or hardly: each is found before the engine starts, with code, level, place, reason and remedy. What only the account knows is in test_live."""

import pytest

from blueprints import finding, load, read
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
ERROR, WARNING, NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
OPEN = "access: {allowed_cidrs: [192.0.2.0/24]}\n"
P5 = "machine: p5.48xlarge, nodes: 2"
LUSTRE = "kind: lustre, mount: /data"


def pool(words: str, *more: str) -> str:
    return "\n".join([f"name: tiny\n{OPEN}pools:", f"  train: {{{words}}}", *more, ""])


def network(words: str) -> str:
    return pool("nodes: 1", f"network: {words}")


BAD: dict[str, tuple[str, Code, finding.Level, str]] = {
    "a region that nobody knows": (network("{region: us-east-9}"), Code.REGION_UNKNOWN, WARNING, "us-east-9"),
    "a zone of another region": (network("{region: us-east-1, zones: [us-west-2a]}"), Code.ZONE_UNKNOWN, ERROR, "us-west-2a"),
    "a region for a zone": (network("{region: us-east-1, zones: [us-east-1]}"), Code.ZONE_UNKNOWN, ERROR, "zones"),
    "a local zone": (network("{zones: [us-east-1-dfw-2a]}"), Code.ZONE_LOCAL, WARNING, "us-east-1-dfw-2a"),
    "a machine that the region lacks": (pool("machine: p6-b200.48xlarge, nodes: 2", "network: {region: sa-east-1}"), Code.MACHINE_NOT_SOLD, ERROR, "p6-b200"),
    "a login machine that the region lacks": (
        "name: tiny\naccess:\n  allowed_cidrs: [192.0.2.0/24]\n  machine: p6-b200.48xlarge\npools: {train: {nodes: 1}}\nnetwork: {region: sa-east-1}\n",
        *(Code.MACHINE_NOT_SOLD, ERROR, "p6-b200"),
    ),
    "a way of buying that the machine isn't sold in": (pool("machine: p6e-gb200.36xlarge, nodes: 9, capacity: spot"), Code.MACHINE_NOT_SOLD, ERROR, "train"),
    "a reservation for several machines": (
        pool(
            "machines: [p5.48xlarge, p5en.48xlarge], nodes: {min: 0, max: 2}, capacity: {kind: reserved, id: cr-0123456789abcdef0}",
            "network: {zones: [us-east-1a]}",
        ),
        *(Code.CAPACITY_MACHINES, ERROR, "machines"),
    ),
    "a reservation for spot": (pool(f"{P5}, capacity: {{kind: spot, id: cr-0123456789abcdef0}}"), Code.CAPACITY_ID_UNUSED, ERROR, "cr-0123456789abcdef0"),
    "a block that grows": (
        pool("machine: p5.48xlarge, nodes: {min: 1, max: 2}, capacity: {kind: block, id: cr-0123456789abcdef0}", "network: {zones: [us-east-1a]}"),
        *(Code.BLOCK_ELASTIC, ERROR, "nodes"),
    ),
    "a block without its name": (pool(f"{P5}, capacity: block"), Code.CAPACITY_ID_MISSING, WARNING, "capacity"),
    "bought capacity without its zone": (
        pool(f"{P5}, capacity: {{kind: block, id: cr-0123456789abcdef0}}"),
        Code.CAPACITY_ZONE_MISSING,
        WARNING,
        "cr-0123456789abcdef0",
    ),
    "a placement beside a reservation's own": (
        pool(f"{P5}, placement: packed, capacity: {{kind: reserved, id: cr-0123456789abcdef0}}", "network: {zones: [us-east-1a]}"),
        *(Code.PLACEMENT_GIVEN, ERROR, "packed"),
    ),
    "EFA without a placement": (pool(f"{P5}, fabric: required, placement: none"), Code.PLACEMENT_AGAINST_FABRIC, WARNING, "placement: none"),
    "EFA of nodes far apart": (pool(f"{P5}, fabric: required, placement: spread"), Code.PLACEMENT_AGAINST_FABRIC, WARNING, "placement: spread"),
    "EFA of a machine that has none": (pool("machine: g6.xlarge, nodes: 2, fabric: required"), Code.FABRIC_UNAVAILABLE, ERROR, "fabric"),
    "a pool in two zones": (pool(f"{P5}, fabric: required", "network: {zones: [us-east-1a, us-east-1b]}"), Code.ZONES_UNUSED, NOTE, "us-east-1b"),
    "a size that FSx doesn't have": (
        pool("nodes: 1", f"storage:\n  data: {{{LUSTRE}, size: 3000 GiB, throughput: 250 MB/s/TiB}}"),
        *(Code.STORAGE_ROUNDED, NOTE, "3000 GiB"),
    ),
    "a throughput that FSx doesn't have": (
        pool("nodes: 1", f"storage:\n  data: {{{LUSTRE}, size: 4800 GiB, throughput: 2000 MB/s/TiB}}"),
        *(Code.STORAGE_THROUGHPUT, ERROR, "2000 MB/s/TiB"),
    ),
    "a network that is too small": (pool("nodes: 300", "network: {cidr: 10.0.0.0/24}"), Code.CIDR_TOO_SMALL, ERROR, "10.0.0.0/24"),
    "a network of others on the Internet": (network("{cidr: 198.51.100.0/24}"), Code.CIDR_NOT_PRIVATE, ERROR, "198.51.100.0/24"),
    "too few subnets": (
        pool("nodes: 1", "accounting: {database: managed}", "network: {existing: vpc-0123456789abcdef0, subnets: [subnet-0123456789abcdef0]}"),
        *(Code.SUBNETS_MISSING, ERROR, "subnets"),
    ),
    "subnets of no network": (network("{subnets: [subnet-0123456789abcdef0]}"), Code.SUBNETS_ALONE, ERROR, "subnets"),
    "a network without subnets": (network("{existing: vpc-0123456789abcdef0}"), Code.SUBNETS_UNNAMED, WARNING, "vpc-0123456789abcdef0"),
    "no way out": (network("{egress: none}"), Code.EGRESS_NONE, ERROR, "none"),
    "no way out for images": (network("{egress: none, private_endpoints: true}"), Code.EGRESS_FOR_IMAGES, WARNING, "none"),
    "SSH for the world": ("name: tiny\naccess:\n  allowed_cidrs: [0.0.0.0/0]\npools: {train: {nodes: 1}}\n", Code.ACCESS_OPEN, WARNING, "0.0.0.0/0"),
    "SSH for nobody": ("name: tiny\naccess: {login_nodes: 1}\npools: {train: {nodes: 1}}\n", Code.ACCESS_UNREACHABLE, NOTE, "access"),
    "more mounts than a host can be told of": (
        pool(
            "nodes: 1",
            "storage:",
            *(f"  s{number}: {{kind: existing, source: '10.0.0.5:/{'e' * 200}{number}', mount: /m/{'m' * 20}{number}}}" for number in range(60)),
        ),
        *(Code.MOUNTS_TOO_LONG, ERROR, "storage"),
    ),
    "a name that a host can't have": (pool("nodes: 1").replace("tiny", "a" * 60), Code.NAME_LENGTH, ERROR, "name"),
    "a tag that AWS refuses": (pool("nodes: 1", 'tags: {owner: "a*b"}'), Code.TAG_REFUSED, ERROR, "owner"),
    "quotas that EFS doesn't know": (
        pool("nodes: 1", "storage:\n  home: {kind: nfs, mount: /home, quotas: {user: 1 TiB}}"),
        *(Code.QUOTAS_NOT_ENFORCED, ERROR, "quotas"),
    ),
}


def findings(text: str) -> tuple[finding.Finding, ...]:
    try:
        return load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target="aws", stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        return invalid.findings


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_found_where_it_stands(case: str) -> None:
    text, code, level, words = BAD[case]
    found = [one for one in findings(text) if one.code == code]
    assert found, {(str(one.code), one.what) for one in findings(text)}
    for one in found:
        assert one.level is level
        assert one.where is not None
        assert words in one.where.text
        assert one.what
        assert one.why
        assert one.remedy


def test_a_plain_blueprint_has_none_of_these() -> None:
    codes = {str(code) for _, code, _, _ in BAD.values()}
    assert not codes & {str(one.code) for one in findings(pool(P5, "network: {region: us-east-1}"))}
