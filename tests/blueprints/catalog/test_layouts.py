import dataclasses

import pytest

from blueprints import catalog
from blueprints.catalog import files
from tests.blueprints.catalog import clouds, records

Row = tuple[int, int, str, int]


def rows(target: str, name: str) -> list[Row]:
    machine = catalog.machine(target, name)
    return [dataclasses.astuple(nic) for nic in catalog.expand(catalog.layout(machine.nic_layout), machine)]


def efa(cards: range) -> list[Row]:
    """The layout of machines whose cards take several interfaces each."""
    return [(0, 0, "ena", 1), (0, 1, "efa-only", 0), *((card, 1, "efa-only", 0) for card in cards)]


@pytest.mark.parametrize(
    ("target", "name", "expected"),
    [
        ("aws", "m7i.large", [(0, 0, "ena", 1)]),
        ("aws", "g6.8xlarge", efa(range(1, 1))),
        ("aws", "p4d.24xlarge", efa(range(1, 4))),
        ("aws", "p5.48xlarge", efa(range(1, 32))),
        ("aws", "p5en.48xlarge", efa(range(1, 16))),
        ("aws", "p6-b200.48xlarge", efa(range(1, 8))),
        ("aws", "p6-b300.48xlarge", [(0, 0, "ena", 1), *((card, 0, "efa-only", 0) for card in range(1, 17))]),
        ("aws", "p6e-gb200.36xlarge", [(0, 0, "ena", 1), *((card, 0, "efa-only", 0) for card in (1, 5, 9, 13))]),
        ("aws", "hpc6id.32xlarge", [(0, 0, "efa", 1), (1, 0, "efa-only", 0)]),
        ("gcp", "n2-standard-8", [(0, 0, "gvnic", 1)]),
        ("gcp", "a3-highgpu-8g", [(card, 0, "gvnic", 1) for card in range(5)]),
        ("gcp", "a3-megagpu-8g", [(card, 0, "gvnic", 1) for card in range(9)]),
        ("gcp", "a4-highgpu-8g", [*((card, 0, "gvnic", 1) for card in range(2)), *((card, 0, "mrdma", 1) for card in range(2, 10))]),
        ("gcp", "a4x-highgpu-4g", [*((card, 0, "gvnic", 1) for card in range(2)), *((card, 0, "mrdma", 1) for card in range(2, 6))]),
        ("gcp", "a4x-maxgpu-4g-metal", [*((card, 0, "idpf", 1) for card in range(2)), *((card, 0, "mrdma", 0) for card in range(2, 10))]),
        ("gcp", "h4d-standard-192", [(0, 0, "gvnic", 1), (1, 0, "irdma", 1)]),
        ("metal", "dgx-h100", [(0, 0, "ethernet", 1), *((card, 0, "infiniband", 0) for card in range(1, 9))]),
        ("metal", "gb300-nvl72-tray", [(0, 0, "ethernet", 1), *((card, 0, "infiniband", 0) for card in range(1, 5))]),
    ],
)
def test_the_interfaces_of_a_machine(target: str, name: str, expected: list[Row]) -> None:
    assert rows(target, name) == expected


@pytest.mark.parametrize(
    ("cards", "count", "expected"),
    [("0", 8, [0]), ("1-3", 8, [1, 2, 3]), ("1-13/4", 17, [1, 5, 9, 13]), ("1-15/2", 17, [1, 3, 5, 7, 9, 11, 13, 15]), ("1-", 4, [1, 2, 3]), ("1-", 1, [])],
)
def test_how_cards_are_written(cards: str, count: int, expected: list[int]) -> None:
    machine = dataclasses.replace(catalog.machine("aws", "p5.48xlarge"), cards=count)
    layout = catalog.Layout("made-up", interfaces=(catalog.Interface(cards, device=0, kind="ena", addresses=1),), source="", as_of="")
    assert [nic.card for nic in catalog.expand(layout, machine)] == expected


@pytest.mark.parametrize("cards", ["", "a", "1,2", "-3", "1-3/", "0 "])
def test_cards_that_are_written_otherwise_are_refused(cards: str) -> None:
    layout = catalog.Layout("made-up", interfaces=(catalog.Interface(cards, device=0, kind="ena", addresses=1),), source="", as_of="")
    with pytest.raises(ValueError, match="^" + cards.replace("/", "/") + "$"):
        catalog.expand(layout, catalog.machine("aws", "p5.48xlarge"))


def test_every_layout_is_in_use_and_has_a_source() -> None:
    used = {row["nic_layout"] for target in ("aws", "gcp", "metal") for row in files.table(f"machines/{target}")}
    assert set(catalog.layouts()) == used
    for layout in catalog.layouts().values():
        assert layout.source in catalog.sources()
        assert layout.as_of.startswith("20")


@pytest.mark.parametrize("name", sorted(set(catalog.machines("aws")) & set(records.ec2_machines())))
def test_ec2_accepts_the_layout(name: str) -> None:
    network = records.ec2_machines()[name]["NetworkInfo"]
    cards = {card["NetworkCardIndex"]: card for card in network["NetworkCards"]}
    nics = rows("aws", name)
    assert len({(card, device) for card, device, _, _ in nics}) == len(nics)
    for card, device, kind, _ in nics:
        assert device < cards[card]["MaximumNetworkInterfaces"]
        assert {"ena": "interface"}.get(kind, kind) in cards[card]["InterfaceTypes"]
    assert sum(kind in ("efa", "efa-only") for _, _, kind, _ in nics) == network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)


@pytest.mark.parametrize("name", list(catalog.machines("aws")))
def test_an_aws_node_takes_one_address_on_its_first_interface(name: str) -> None:
    assert [(card, device) for card, device, _, addresses in rows("aws", name) if addresses] == [(0, 0)]
    assert rows("aws", name)[0][2] != "efa-only"  # EC2 refuses it as the primary interface


def test_kinds_are_those_of_the_apis() -> None:
    aws = set(clouds.aws("ec2")["shapes"]["NetworkInterfaceCreationType"]["enum"]) | {"interface"}
    google = set(clouds.google("compute.v1")["NetworkInterface"]["properties"]["nicType"]["enum"])
    for target, known in (("aws", aws), ("gcp", google)):
        for name in catalog.machines(target):
            for _, _, kind, _ in rows(target, name):
                assert (kind.upper() if target == "gcp" else {"ena": "interface"}.get(kind, kind)) in known


def test_every_kind_of_interface_has_a_title() -> None:
    assert {interface.kind for layout in catalog.layouts().values() for interface in layout.interfaces} <= catalog.interface_titles().keys()
