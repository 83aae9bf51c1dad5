"""What is done to the hosts of a group, decided from what should be and what is."""

from collections.abc import Mapping

import pytest

from components.local.pool import Action, Actual, Condition, plan

MADE = Actual(Condition.RUNNING, "image-2", "boot-2")
OTHER_BOOT = Actual(Condition.RUNNING, "image-2", "boot-1")
STOPPED = Actual(Condition.STOPPED, "image-2", "boot-2")
OUTDATED = Actual(Condition.RUNNING, "image-1", "boot-2")
ABSENT = Actual(Condition.ABSENT)


def steps(desired: list[str], actual: Mapping[str, Actual]) -> list[tuple[Action, str]]:
    return plan(dict.fromkeys(desired, "boot-2"), actual, image="image-2")


@pytest.mark.parametrize(
    ("desired", "actual", "wanted"),
    [
        pytest.param([], {}, [], id="nothing is wanted and nothing is there"),
        pytest.param(["n-0", "n-1"], {}, [(Action.MAKE, "n-0"), (Action.MAKE, "n-1")], id="all are made"),
        pytest.param(["n-0", "n-1"], {"n-0": MADE, "n-1": MADE}, [], id="what runs as it should is left alone"),
        pytest.param(["n-0", "n-1", "n-2"], {"n-0": MADE, "n-1": ABSENT, "n-2": MADE}, [(Action.MAKE, "n-1")], id="only the lost one is made"),
        pytest.param(["n-0", "n-1"], {"n-0": MADE, "n-1": STOPPED}, [(Action.START, "n-1")], id="a host without power is started on its disk"),
        pytest.param(["n-0"], {"n-0": OUTDATED}, [(Action.REBUILD, "n-0")], id="another image is a new disk"),
        pytest.param(["n-0"], {"n-0": Actual(Condition.STOPPED, "image-1")}, [(Action.REBUILD, "n-0")], id="also of a stopped host"),
        pytest.param(["n-0", "n-1"], {"n-0": OTHER_BOOT, "n-1": MADE}, [(Action.RESTART, "n-0")], id="what booted with something else boots again"),
        pytest.param(["n-0"], {"n-0": Actual(Condition.RUNNING, "image-1", "boot-1")}, [(Action.REBUILD, "n-0")], id="a new disk boots with what is new, too"),
        pytest.param(
            ["n-0"], {"n-0": Actual(Condition.RUNNING, "image-2", "boot-2", age_s=3)}, [(Action.AWAIT, "n-0")], id="what a killed run started may still boot"
        ),
        pytest.param(["n-0"], {"n-0": Actual(Condition.RUNNING, "image-2", "boot-2", age_s=900)}, [], id="what runs for long and is silent is not waited for"),
        pytest.param(
            ["n-0"],
            {"n-0": ABSENT, "n-2": STOPPED, "n-1": MADE},
            [(Action.REMOVE, "n-1"), (Action.REMOVE, "n-2"), (Action.MAKE, "n-0")],
            id="surplus hosts go first, running or not",
        ),
    ],
)
def test_steps(desired: list[str], actual: Mapping[str, Actual], wanted: list[tuple[Action, str]]) -> None:
    assert steps(desired, actual) == wanted


def test_hosts_that_keep_their_disks_get_no_other_image() -> None:
    kept = {"n-0": OUTDATED, "n-1": Actual(Condition.STOPPED, "image-1"), "n-2": Actual(Condition.RUNNING, "image-1", "boot-1"), "n-3": ABSENT}
    wanted = [(Action.START, "n-1"), (Action.RESTART, "n-2"), (Action.MAKE, "n-3")]
    assert plan(dict.fromkeys(kept, "boot-2"), kept, image="image-2", keeps_disks=True) == wanted


def test_a_large_group_in_which_one_host_is_ill_has_one_step() -> None:
    names = [f"n-{number}" for number in range(2000)]
    assert steps(names, dict.fromkeys(names, MADE) | {"n-1234": STOPPED}) == [(Action.START, "n-1234")]
