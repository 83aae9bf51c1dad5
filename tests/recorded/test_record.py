"""What records stacks on AWS works for each of them, and a stack whose hosts were rebuilt is as one that was just provisioned."""

from collections import Counter
from pathlib import Path

import pytest

from components.aws import rebuild

from . import record, states
from .stack import changed

pytestmark = pytest.mark.engine

ON_AWS = [name for name in states.NAMES if name.startswith("aws")]
INSTANCE = "ec2.Instance"
OTHERS = [name for name in ON_AWS if name != "aws-public"]


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.soak) for name in OTHERS])
def test_a_stack_on_aws_can_be_recorded(tmp_path: Path, name: str) -> None:
    state = record.aws(name, tmp_path)
    before = states.State.read(name)
    assert state.images.keys() == before.images.keys()
    assert {one["type"] for one in before.resources} <= {one["type"] for one in state.resources}


@pytest.mark.soak
def test_after_a_rebuild_nothing_is_left_to_change(tmp_path: Path) -> None:
    """Slurm's side of a rebuild is `tests/hosts/test_aws.py`'s matter."""
    with record.provisioned("aws-public", tmp_path) as (stack, cloud):
        before = {thing.id: thing.kind for thing in cloud.things()}
        urns = rebuild.Rebuild().replaced(["control-0", "login-0"], stack.export()["deployment"]["resources"])
        stack.up("--refresh", *(word for urn in urns for word in ("--replace", urn)))
        after = {thing.id: thing.kind for thing in cloud.things()}
        assert Counter(before.values()) == Counter(after.values())
        assert [kind for one, kind in before.items() if one not in after].count(INSTANCE) == len(urns) == 2
        assert changed(stack.preview("--refresh")) == {}
