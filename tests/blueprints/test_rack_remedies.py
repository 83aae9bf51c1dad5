"""What is found about machines that NVLink joins, and whether what it advises leads anywhere."""

import pytest

from blueprints import catalog, finding, load, read
from blueprints.codes import Code
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


def trays(more: str = "", *, pool: str = "") -> str:
    """Write the blueprint of four trays of a rack on a site."""
    hosts = ", ".join(f"t{number}: {{address: 10.20.0.1{number}, rack: r1}}" for number in range(1, 5))
    inventory = f"inventory: {{hosts: {{c1: {{address: 10.20.0.20}}, {hosts}}}}}\n"
    train = f'pools: {{train: {{machine: gb200-nvl72-tray, hosts: ["t[1-4]"]{pool}}}}}\n'
    return f"name: tiny\nnetwork: {{cidr: 10.20.0.0/22}}\ncontrol: {{hosts: [c1]}}\n{more}{train}{inventory}"


def examined(text: str, target: str) -> tuple[finding.Finding, ...]:
    try:
        return load.from_document(read.from_bytes(text.encode(), file="t.yaml"), target=target, stack="t", facts=FACTS).findings
    except finding.Invalid as invalid:
        return invalid.findings


def found(text: str, target: str, code: Code) -> list[finding.Finding]:
    return [one for one in examined(text, target) if one.code is code]


@pytest.mark.parametrize("image", ["", ", image: ours"])
def test_an_image_does_not_exempt_trays_of_a_site_from_what_their_software_must_have(image: str) -> None:
    conflicts = found(trays("software: ubuntu-24.04\n", pool=f", fabric: none{image}"), "metal", Code.SOFTWARE_CONFLICT)
    assert [one.what for one in conflicts] == ["the software profile `ubuntu-24.04` has no NVIDIA driver"]


A4X = """name: tiny
network: {region: us-central1, zones: [us-central1-a]}
pools: {train: {machine: a4x-highgpu-4g, nodes: 20, capacity: {kind: reserved, id: ours}, partition: {exclusive: true}}}
"""


def test_no_profile_is_advised_for_a_newer_slurm_that_the_nodes_cannot_have() -> None:
    (old,) = found(A4X, "gcp", Code.SLURM_TOO_OLD)
    assert not [name for name in catalog.software_names("gcp") if name in old.remedy]
    assert found(A4X.replace("20", "36"), "gcp", Code.SLURM_TOO_OLD) == [], "the way out that it names"
    assert "multiples of 18 nodes and no other pool" in old.remedy


def test_trays_without_an_inventory_are_asked_for_their_racks_and_not_for_instances() -> None:
    text = "name: tiny\npools: {train: {machine: gb200-nvl72-tray, nodes: 36}}\n"
    (unknown,) = found(text, "metal", Code.DOMAIN_UNKNOWN)
    assert "instance" not in unknown.why
    assert unknown.remedy == "name the hosts in `inventory.hosts`, each with its `rack`"
    assert found(trays(), "metal", Code.DOMAIN_UNKNOWN) == [], "done to the letter"


@pytest.mark.parametrize(("target", "text", "is_sold"), [("metal", trays(), False), ("gcp", A4X, True)])
def test_only_a_cloud_sells_nvlink_domains(target: str, text: str, *, is_sold: bool) -> None:
    (partial,) = found(text, target, Code.DOMAIN_PARTIAL)
    assert ("sold" in partial.why) is is_sold


def test_jobs_that_may_share_nodes_of_a_domain_are_refused_with_the_key_that_is_named() -> None:
    shared = A4X.replace(", partition: {exclusive: true}", "")
    (only,) = found(shared, "gcp", Code.DOMAIN_SHARED)
    assert "`pools.train.partition.exclusive: true`" in only.remedy
    assert found(A4X, "gcp", Code.DOMAIN_SHARED) == []


def test_a_reservation_of_nvlink_domains_is_not_told_to_be_on_demand() -> None:
    spread = ", placement: spread, capacity: {kind: reserved, id: ours}"
    assert found(A4X.replace(", capacity: {kind: reserved, id: ours}", spread), "gcp", Code.PLACEMENT_UNRESERVED) == []
    assert found(f"name: tiny\npools: {{train: {{machine: n2-standard-8, nodes: 2{spread}}}}}\n", "gcp", Code.PLACEMENT_UNRESERVED)
