"""Fields of the spec by the keys that say them: each key is one of the language, each pattern one of the spec."""

from typing import Any

import pydantic
import pytest

from blueprints import spec
from blueprints.language import Blueprint
from blueprints.plan import blueprint_keys, changes, field_costs
from tests.blueprints import hand_made
from tests.blueprints.hand_made import changed

AWS = hand_made.aws()


def sections(annotation: Any) -> list[type[pydantic.BaseModel]]:
    """The sections that a value of the language can be, whether by name or alone."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [annotation]
    found = []
    for inner in getattr(annotation, "__args__", ()):
        found += sections(inner)
    return found


@pytest.mark.parametrize("pattern", blueprint_keys.KEYS)
def test_patterns_are_of_the_spec_and_keys_of_the_language(pattern: str) -> None:
    assert pattern in field_costs.FIELDS
    known: list[type[pydantic.BaseModel]] = [Blueprint]
    for step in blueprint_keys.KEYS[pattern].split("."):
        if step in "*+-":
            continue
        fields = [one.model_fields[step] for one in known if step in one.model_fields]
        assert fields, step
        known = [section for field in fields for section in sections(field.annotation)]


def named(path: str, value: Any, before: spec.ClusterSpec = AWS) -> set[str | None]:
    return {change.key for change in changes.compare(spec.as_record(before), changed(before, path, value)) if not change.derived}


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ("slurm.node_sets.0.hosts.count", 8, "pools.train.nodes.max"),
        ("slurm.node_sets.0.minimum", 1, "pools.train.nodes.min"),
        ("slurm.node_sets.0.capacity.kind", "reserved", "pools.train.capacity.kind"),
        ("slurm.node_sets", AWS.node_sets[:1], "pools.sweep"),
        ("access.count", 3, "access.login_nodes"),
        ("storage.0.size_gib", 16800.0, "storage.scratch.size"),
        ("storage", AWS.storage[:1], "storage.home"),
        ("software.slurm", "25.05", None),
        ("slurm.control.count", 2, None),
    ],
)
def test_a_change_has_the_name_that_the_blueprint_gives_it(path: str, value: Any, key: str | None) -> None:
    assert named(path, value) == {key}


def test_a_fixed_number_of_nodes_is_the_pool_s_nodes() -> None:
    assert named("slurm.node_sets.0.hosts.count", 3, hand_made.local()) == {"pools.train.nodes"}


def test_one_of_several_machines_of_a_pool_keeps_its_path() -> None:
    several = changed(AWS, "slurm.node_sets.1.pool", "train")
    assert named("slurm.node_sets.0.hosts.count", 8, several) == {None}


def test_only_what_follows_and_touches_nothing_is_derived() -> None:
    found = {change.path: change.derived for change in changes.compare(spec.as_record(AWS), changed(AWS, "network.subnets.0.needed", 9))}
    assert found == {"network.subnets.cluster.needed": True}
    assert [change.derived for change in changes.compare(spec.as_record(AWS), changed(AWS, "description", "other"))] == [False], "somebody wrote it"
    assert [change.derived for change in changes.compare(spec.as_record(AWS), changed(AWS, "slurm.control.count", 2))] == [False], "it touches what stands"
    known = changed(AWS, "network.subnets.1.zone", "us-east-1b")
    assert [change.derived for change in changes.compare(spec.as_record(AWS), known)] == [False], "nobody knows whether it differs"
