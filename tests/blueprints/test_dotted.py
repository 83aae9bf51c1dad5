"""Places in a blueprint as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprints import dotted, load
from blueprints.facts import Facts

FACTS = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("pools", ("pools",)),
        ("pools.train.nodes", ("pools", "train", "nodes")),
        ('pools.train.mig["1g.10gb"]', ("pools", "train", "mig", "1g.10gb")),
        ('pools.train.labels["example.org/team"]', ("pools", "train", "labels", "example.org/team")),
        ("suppress.0.until", ("suppress", "0", "until")),
    ],
)
def test_a_place_is_read_and_written(text: str, steps: tuple[str, ...]) -> None:
    assert dotted.steps(text) == steps
    assert dotted.joined(steps) == text


@pytest.mark.parametrize("text", ["", ".", "pools.", "pools..train", 'pools["a"', 'pools[""]', "pools[a]", '["a.b"]'])
def test_what_has_not_the_form_is_no_place(text: str) -> None:
    assert dotted.FORM.fullmatch(text) is None
    assert dotted.steps(text) == tuple(text.split("."))


@given(st.lists(st.from_regex(r"[A-Za-z_][A-Za-z0-9_./-]{0,8}", fullmatch=True), max_size=4))
def test_reading_what_was_written_gives_the_same(names: list[str]) -> None:
    path = ("pools", *(name for name in names if "." in name or "/" not in name))
    assert dotted.steps(dotted.joined(path)) == path


def test_a_name_with_dots_can_be_set() -> None:
    loaded = load.examine("starter", target="local", stack="dev", facts=FACTS, overrides={'pools.train.labels["example.org/team"]': "vision"})
    assert loaded.blueprint.pools["train"].labels == {"example.org/team": "vision"}
