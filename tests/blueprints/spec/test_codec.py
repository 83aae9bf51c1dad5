"""Recorded specs come back as they were, and what is no record is refused with the place."""

import json
from typing import Any

import pytest

from blueprints import finding, library, load, spec
from blueprints.facts import Facts
from tests.blueprints import hand_made

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


@pytest.mark.parametrize("name", library.names())
def test_every_spec_comes_back_from_its_record(name: str) -> None:
    for target in ("aws", "gcp", "metal", "local"):
        try:
            resolved = load.examine(name, target=target, stack="test", facts=FACTS).spec
        except finding.Invalid:
            continue
        assert spec.from_record(json.loads(json.dumps(spec.as_record(resolved)))) == resolved
        assert spec.from_record(spec.as_record(resolved)) == resolved


def test_values_that_are_known_later_come_back_as_such() -> None:
    assert spec.from_record(json.loads(json.dumps(spec.as_record(hand_made.aws())))) == hand_made.aws()
    assert isinstance(hand_made.aws().network.subnets[1].zone, spec.Late)


def test_fields_that_a_record_lacks_have_their_defaults() -> None:
    record = spec.as_record(hand_made.local())
    del record["monitoring"]
    assert spec.from_record(record).monitoring == spec.Monitoring()


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("name", 7, "spec.name is of another type"),
        ("users", "ada", "spec.users is no list"),
        ("users", [7], "spec.users.0 is no object"),
        ("slurm", {"run_by": "slurm_hosts"}, "spec.slurm.control is missing"),
        ("login", {"load_balancer": 1}, "spec.login.load_balancer is of another type"),
        ("login", {"colour": "red"}, "spec.login.colour is not known"),
        ("tags", [["a"]], "spec.tags.0 has 1 entries"),
    ],
)
def test_what_is_no_record_is_refused_with_the_place(field: str, value: Any, place: str) -> None:
    with pytest.raises(spec.Unreadable, match=place):
        spec.from_record({**spec.as_record(hand_made.local()), field: value})


def test_the_kind_of_capacity_is_plain_text_in_records() -> None:
    record = spec.as_record(hand_made.aws())
    capacity = record["slurm"]["node_sets"][0]["capacity"]
    assert type(capacity["kind"]) is str
    capacity["kind"] = "gift"
    with pytest.raises(spec.Unreadable, match=r"capacity\.kind is not one of on-demand, spot"):
        spec.from_record(record)
