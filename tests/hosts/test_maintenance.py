"""A maintenance window that is open now, on real Slurm: no job of a user starts, acceptance runs, a node that wants a reboot gets it; without the window all is as before."""

import datetime as dt
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import maintenance_windows
from components.finish import group
from components.inspection import record
from components.provider.kind import Work
from stacks.drift import repair
from tests.hosts.deployment import SOON_S, Deployment, wait_until
from tests.hosts.test_acceptance import accepted, changed
from tests.hosts.test_health import NODE, OFTEN, USUAL, booted, state

pytestmark = pytest.mark.hosts


def configured(stack: Deployment, windows: list[dict[str, Any]]) -> None:
    """Configure the controller from what is recorded of it, with these windows."""
    exported = stack.run("pulumi", "stack", "export", "--show-secrets", "--stack", stack.stack)
    recorded = dict(repair.recorded_groups(record.read(json.loads(exported.stdout)))["control"])
    provided = {**recorded.get("provided", {}), **({"maintenance": windows} if windows else {})}
    work = Work(show=lambda _text, _kept: None, stopping=threading.Event(), timeout_s=300, purpose="maintenance windows")
    outcome = group.finish_again({**recorded, "provided": provided}, ["control-0"], work)
    assert outcome.ok, outcome


def reservations(stack: Deployment) -> str:
    return stack.inside("control-0", "scontrol", "--oneliner", "show", "reservation")


@pytest.fixture
def in_window(running: Deployment) -> Iterator[Deployment]:
    """The starter in a window that opened in the last hour."""
    opened = dt.datetime.now(dt.UTC)
    window = {"weekday": maintenance_windows.WEEKDAYS[opened.weekday()], "start": f"{opened:%H}:00", "hours": 3, "week": "every"}
    try:
        configured(running, [window])
        yield running
    finally:
        configured(running, [])
    assert "clusterwright-maintenance" not in reservations(running)
    running.wait_for_idle(2)
    assert running.ssh("srun --nodes=2 hostname | sort").split() == ["train-0", "train-1"]


def test_in_a_window_jobs_wait_acceptance_runs_and_nodes_reboot_that_want_to(in_window: Deployment) -> None:
    shown = [line for line in reservations(in_window).splitlines() if line.startswith("ReservationName=clusterwright-maintenance-")]
    assert [" State=ACTIVE" in line for line in shown] == [True, False]
    assert all("Nodes=train-[0-1]" in line and "MAINT" in line for line in shown)
    waiting = in_window.ssh("sbatch --parsable --time=1 --wrap true").strip()
    checks = accepted(in_window)
    assert {check["verdict"] for check in checks["node state"]} == {"pass"}
    assert in_window.ssh(f"squeue --noheader --jobs={waiting} --format=%T").strip() == "PENDING"
    in_window.ssh(f"scancel {waiting}")
    before = booted(in_window)
    with changed(in_window, "control-0", OFTEN, USUAL):
        in_window.inside(NODE, "touch", "/run/reboot-required")
        wait_until(lambda: booted(in_window) != before, awaiting="the reboot", within_s=SOON_S)
        wait_until(lambda: state(in_window)[0] in ("maint", "idle"), awaiting="the node's return", within_s=SOON_S)
    in_window.inside(NODE, "rm", "--force", "/var/lib/clusterwright/maintenance-reboot")
