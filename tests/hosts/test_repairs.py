"""Drift of a hundred kinds on a real cluster: `up` brings back what is recorded, `drift fix` the rest, only what needs a new host stays, and `rebuild` gives that host."""

import fnmatch
import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.inspection import codes
from components.local.machine import command as machine
from stacks.drift import fix
from stacks.drift.fix import step
from tests.hosts import planted
from tests.hosts.deployment import Deployment, deployment

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(1800)]

NODES = ("train-0", "train-1")
HOSTS = ("control-0", "login-0", *NODES)
ON_HOSTS = ("hosts", "scheduler", "versions", "capability")
BEYOND_RECORDS = {codes.Code.WORLD_WRITABLE, codes.Code.UNLIKE}
"""What only a check finds, which looks further than `up`: beyond the places that are recorded."""

UNHELD_PROGRAMS = ("train-1: /usr/bin/newgrp",)
"""Only a check reads the programs of packages that are not held."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A starter of this module's own: what is planted here would disturb others."""
    with deployment("test-repairs", tmp_path_factory.mktemp("repairs")) as one:
        one.up()
        yield one


def findings(stack: Deployment, *layers: str) -> list[dict[str, Any]]:
    """Give what a check finds in these layers; in all five where none is named."""
    words = [word for layer in layers for word in ("--layer", layer)]
    done = stack.clusterwright("drift", "--json", "--history", str(stack.home / "history"), *words)
    assert done.returncode in (0, 7), done.stdout[-3000:] + done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found


def line(found: dict[str, Any]) -> str:
    return f"{found['layer']} {found['code']} {found['where']}"


def expected_of(restored: planted.Restored) -> list[str]:
    """Give what a check has to say of what is restored so."""
    return [pattern for batch in planted.BATCHES for plant in batch if plant.restored is restored for pattern in plant.expected]


def plant_all(stack: Deployment) -> None:
    for batch in planted.BATCHES:
        for plant in batch:
            if plant.is_outside:
                machine.run("nsenter", f"--target={stack.guest(plant.host)}", "--net", "--", "sh", "-c", plant.command)
            else:
                stack.inside(plant.host, "sh", "-c", plant.command)


def test_after_up_and_fix_only_what_needs_a_new_host_stays(stack: Deployment) -> None:
    plant_all(stack)
    up = stack.clusterwright("up")
    left = findings(stack, *ON_HOSTS)
    restored_by_up = {code for code, kind in fix.KIND_OF.items() if kind not in step.REMOVING} - BEYOND_RECORDS
    for_boot, for_rebuild = expected_of(planted.Restored.BOOT), expected_of(planted.Restored.REBUILD)
    stayed = [
        line(one) for one in left if one["code"] in restored_by_up and not any(fnmatch.fnmatchcase(line(one), pattern) for pattern in for_boot + for_rebuild)
    ]
    assert stayed == [], up.stdout[-6000:]
    said = up.stdout.partition("Still different from the record\n")[2]
    unsaid = [line(one) for one in left if one["code"] in restored_by_up and one["where"] not in UNHELD_PROGRAMS and one["where"] not in said]
    assert unsaid == [], said
    entries = [text for text in said.splitlines() if text.startswith("  ") and text.rstrip().endswith("]")]
    assert len(entries) == said.count("\n    do: "), "each with the command that ends it"
    kinds = [word for kind in fix.Kind for word in ("--kind", str(kind))]
    done = stack.clusterwright("drift", "fix", "--yes", *kinds)
    assert "Traceback" not in done.stdout + done.stderr
    stayed = [line(one) for one in findings(stack, *ON_HOSTS)]
    assert planted.mismatch(stayed, for_rebuild) == ([], []), done.stdout[-6000:]


def test_after_a_rebuild_nothing_stays(stack: Deployment) -> None:
    """Goes on from what the test before left."""
    done = stack.clusterwright("rebuild", *HOSTS, "--yes")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    stack.wait_for_idle(len(NODES))
    assert [line(one) for one in findings(stack)] == []
    assert stack.preview_steps() == []
