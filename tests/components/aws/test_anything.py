"""What the checks let pass stands up: blueprints in any combination of words, on a cloud that refuses what the real one refuses."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints import finding, load
from blueprints.facts import Facts
from stacks.engine import live
from tests.components.aws.anything import BUCKET, Writer
from tests.components.aws.standing import MACHINE, Standing
from tests.simcloud.aws.client import SimulatedCloud
from tests.simcloud.aws.deployment import STACK

pytestmark = [pytest.mark.engine, pytest.mark.soak]

STARTS = range(0, 10_000, 1000)
"""A test each, which takes the first blueprints from there on that nothing is wrong with."""
OF_EACH = 3
UNKNOWN_LAYOUT = "no record is at hand"


def is_right(file: Path) -> bool:
    """Say whether neither the checks nor the account find an error."""
    try:
        loaded = load.examine(str(file), target="aws", stack=STACK, facts=Facts(**MACHINE), overrides={})
    except finding.Invalid:
        return False
    return all(found.level is not finding.Level.ERROR for found in live.validate(loaded, stack=STACK).findings)


def right_ones(folder: Path, start: int, cloud: SimulatedCloud) -> Iterator[Path]:
    for seed in range(start, start + 1000):
        file = folder / f"seed-{seed}.yaml"
        file.write_text(json.dumps(Writer(seed).blueprint(), indent=1))
        if is_right(file):
            yield file


@pytest.mark.parametrize("start", STARTS)
def test_what_is_right_stands_and_goes(tmp_path: Path, cloud: SimulatedCloud, start: int) -> None:
    files = right_ones(tmp_path, start, cloud)
    for file, _ in zip(files, range(OF_EACH), strict=False):
        cloud.reset()
        cloud.set("foreign_buckets", [BUCKET])
        with Standing.of(tmp_path / file.stem, cloud, str(file)) as stack:
            stack.up()
            assert cloud.untagged("clusterwright:stack", "clusterwright:cluster") == []
            assert [fault for fault in cloud.audit() if UNKNOWN_LAYOUT not in fault] == []
            stack.up("--refresh", "--expect-no-changes")
            stack.destroy()
            assert [(thing.kind, thing.id) for thing in cloud.things()] == []
