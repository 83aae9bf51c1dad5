"""What is done to the hosts of a group, decided from what should be and what is."""

from collections.abc import Mapping, Sequence

import pytest

from components.local.pool import Action, Actual, Condition, plan

MADE = Actual(Condition.RUNNING, "image-2")
STOPPED = Actual(Condition.STOPPED, "image-2")
OUTDATED = Actual(Condition.RUNNING, "image-1")
ABSENT = Actual(Condition.ABSENT)


@pytest.mark.parametrize(
    ("desired", "actual", "seeds_changed", "steps"),
    [
        pytest.param([], {}, False, [], id="nothing is wanted and nothing is there"),
        pytest.param(["n-0", "n-1"], {}, False, [(Action.MAKE, "n-0"), (Action.MAKE, "n-1")], id="all are made"),
        pytest.param(["n-0", "n-1"], {"n-0": MADE, "n-1": MADE}, False, [], id="what runs as it should is left alone"),
        pytest.param(["n-0", "n-1", "n-2"], {"n-0": MADE, "n-1": ABSENT, "n-2": MADE}, False, [(Action.MAKE, "n-1")], id="only the lost one is made"),
        pytest.param(["n-0", "n-1"], {"n-0": MADE, "n-1": STOPPED}, False, [(Action.START, "n-1")], id="a host without power is started on its disk"),
        pytest.param(["n-0"], {"n-0": OUTDATED}, False, [(Action.REBUILD, "n-0")], id="another image is a new disk"),
        pytest.param(["n-0"], {"n-0": Actual(Condition.STOPPED, "image-1")}, False, [(Action.REBUILD, "n-0")], id="also of a stopped host"),
        pytest.param(["n-0"], {"n-0": MADE}, True, [(Action.RESTART, "n-0")], id="other seeds are a new boot of the same disk"),
        pytest.param(["n-0"], {"n-0": OUTDATED}, True, [(Action.REBUILD, "n-0")], id="a new disk has the new seeds"),
        pytest.param(["n-0"], {}, True, [(Action.MAKE, "n-0")], id="a new host has the new seeds"),
        pytest.param(
            ["n-0"],
            {"n-0": ABSENT, "n-2": STOPPED, "n-1": MADE},
            False,
            [(Action.REMOVE, "n-1"), (Action.REMOVE, "n-2"), (Action.MAKE, "n-0")],
            id="surplus hosts go first, running or not",
        ),
    ],
)
def test_steps(desired: Sequence[str], actual: Mapping[str, Actual], seeds_changed: bool, steps: list[tuple[Action, str]]) -> None:
    assert plan(desired, actual, image="image-2", seeds_changed=seeds_changed) == steps


def test_a_large_group_in_which_one_host_is_ill_has_one_step() -> None:
    names = [f"n-{number}" for number in range(2000)]
    actual = dict.fromkeys(names, MADE) | {"n-1234": STOPPED}
    assert plan(names, actual, image="image-2", seeds_changed=False) == [(Action.START, "n-1234")]
