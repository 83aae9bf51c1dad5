"""Judge one node: decide the action from all that is known of it."""

import dataclasses
from enum import Enum

from ..memory import Hold, Launch
from ..model import BROKEN_PART, Instance, Node
from ..table import STAY, NodeSet
from .resume import VISIBLE_WITHIN_S

REQUEST_WITHIN_S = 60.0
"""Slurm's request for a node was lost when the node has no launch after this time."""
CLOCKS_DIFFER_S = 60.0
"""The cloud reports an instance's start by its own clock: an instance this much older than its launch is from an earlier life."""
MISSING_FOR_S = 120.0
"""An instance is gone when the cloud does not list it for this time and its node does not answer."""


REPAIRED_WITHIN_S = 1800.0
"""A node that repairs itself, its reboot included, and says nothing more for this time is replaced."""


class Act(Enum):
    """The action for a node."""

    LEAVE = "leave"
    UP = "up"
    """It is up: its launch is complete."""
    WAIT = "wait"
    """Something expected is missing; count the time."""
    FAIL = "fail"
    """Take it down, so that its jobs leave it, then power it down."""
    FAILED_BOOT = "failed boot"
    """The same, and count the failure against its node set."""
    STOP = "stop"
    """Power it down; no job runs on it."""
    REPLACE = "replace"
    """The same, and log the last part of its console: it is unfit for jobs."""
    HOLD = "hold"
    """Keep jobs off it, as off its node set."""
    RELEASE = "release"
    START = "start"
    ASK = "ask"
    """Repeat Slurm's lost request."""
    REPEAT = "repeat"
    """Repeat the launch that was not answered."""
    DRAIN = "drain"
    """Drain it: the cloud takes its instance back."""
    REPORT = "report"
    """Tell the cloud that its host is broken, and ask how far it is with that."""


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    act: Act
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """All that is known of a node."""

    node: Node
    node_set: NodeSet
    now: float
    instance: Instance | None = None
    """The live one."""
    has_ended: bool = False
    """The cloud lists an ended instance, and no live one."""
    ended_because: str = ""
    """The cloud's reason for that end."""
    is_certain: bool = True
    """The ended instance is the node's current one, not one of an earlier life."""
    launch: Launch | None = None
    hold: Hold | None = None
    is_trial: bool = False
    """It tests whether nodes of a held set boot now."""
    full: str | None = None
    """Reason for Slurm when the node's pool has reached its maximum."""
    missing_since: float | None = None
    may_be_replaced: bool = True
    """It always runs, and may be replaced now."""
    may_be_reported: bool = False
    reported: str = ""
    """What the cloud was told of its host and still works on: the instance must run on until then."""

    @property
    def has_had_time(self) -> bool:
        """Return whether the node had time to boot since its launch: Slurm counts from its own request, which may reach the cloud much later."""
        launched_at = self.launch.launched_at if self.launch else None
        return launched_at is not None and self.now - launched_at >= self.node_set.boot_timeout_s / 2

    @property
    def of_this_life(self) -> Instance | None:
        """Return the instance of a starting node, unless it is left from an earlier life and its termination failed."""
        if self.instance is None:
            return None
        if self.launch:
            began_before = self.launch.requested_at - CLOCKS_DIFFER_S
            return None if self.launch.launched_at is None and self.instance.launched_at < began_before else self.instance
        return self.instance if self.now - self.instance.launched_at < self.node_set.boot_timeout_s else None

    def is_missing_for(self, seconds: float) -> bool:
        return self.missing_since is not None and self.now - self.missing_since >= seconds


LEAVE = Verdict(Act.LEAVE)
WAIT = Verdict(Act.WAIT)


def judge(case: Case) -> Verdict:
    """Decide the action for the node."""
    node = case.node
    if node.is_kept or node.is_stopping:
        return LEAVE
    if node.is_off:
        return _off(case)
    if node.is_starting:
        return _starting(case)
    return _up(case)


def _off(case: Case) -> Verdict:
    node, launch = case.node, case.launch
    if node.has_jobs or "power_up" in node.flags:
        return LEAVE  # about to be started
    if launch and node.shortage:
        return Verdict(Act.FAILED_BOOT, node.shortage)
    if launch and node.is_down and not node.is_ours and case.has_had_time:
        return Verdict(Act.FAILED_BOOT, "it did not register with Slurm in time")
    if case.hold and not case.is_trial:
        return Verdict(Act.HOLD, case.hold.reason) if not node.is_ours else LEAVE
    if case.full and not case.node_set.always_runs(node.name):
        return Verdict(Act.HOLD, case.full) if not node.is_ours else LEAVE
    if node.is_down or node.is_drained:
        return Verdict(Act.RELEASE, "powered down and usable again")
    if case.is_trial:
        return Verdict(Act.START, "to test whether nodes of its set boot now")
    if case.node_set.always_runs(node.name):
        return Verdict(Act.START, f"{case.node_set.minimum} of {case.node_set.count} always run")
    return LEAVE


def _starting(case: Case) -> Verdict:
    node, launch, instance = case.node, case.launch, case.of_this_life
    if node.shortage:
        return Verdict(Act.FAILED_BOOT, node.shortage)
    if unfit := _unfit(case):
        return unfit
    if node.is_down:
        return Verdict(Act.STOP, "it was taken out of service while it started")
    if launch is None and instance is None:
        return Verdict(Act.ASK, "Slurm's request for it was lost") if case.is_missing_for(REQUEST_WITHIN_S) else WAIT
    if launch and launch.launched_at is None and instance is None:
        if launch.ask_until is not None and launch.jobs and not node.has_jobs:
            return Verdict(Act.FAIL, "no job waits for it any more")
        if launch.ask_until is None or case.now < launch.ask_until:
            return Verdict(Act.REPEAT, "the cloud's answer was lost")
        return Verdict(Act.FAIL, "the cloud provided no instance in time")
    since = launch.launched_at if launch and launch.launched_at else instance.launched_at if instance else case.now
    if instance is None:
        if case.has_ended:
            # The cloud takes spot instances back at any time, which says nothing about their image.
            is_taken_back = case.node_set.capacity_kind == "spot"
            because = f": {case.ended_because}" if case.ended_because else ""
            return Verdict(Act.FAIL if is_taken_back else Act.FAILED_BOOT, f"its instance ended while it booted{because}")
        if case.now - since >= VISIBLE_WITHIN_S:
            return Verdict(Act.FAILED_BOOT, f"its instance did not appear within {VISIBLE_WITHIN_S:.0f} s")
        return LEAVE
    if case.now - since >= case.node_set.boot_timeout_s:
        return Verdict(Act.FAILED_BOOT, f"it did not register with Slurm within {case.node_set.boot_timeout_s:.0f} s")
    return LEAVE


def _why_down(node: Node) -> str:
    return f"Slurm took it down: {node.reason}" if node.is_slurms and not node.reason.startswith("Not responding") else "it does not answer"


def _unfit(case: Case) -> Verdict | None:
    """Fail the boot of a node that came up unfit for jobs, by Slurm's reason."""
    if case.launch and case.node.is_unfit and case.node.is_slurms:
        return Verdict(Act.FAILED_BOOT, f"it is unfit for jobs: {case.node.reason}")
    return None


def _up(case: Case) -> Verdict:
    node, instance = case.node, case.instance
    if case.node_set.keeps(node) and not case.has_ended:
        return LEAVE  # also when it no longer answers: somebody is to look at it
    # A node that is healthy again meanwhile may have a job, and its host must run on.
    if case.reported and node.is_unhealthy and not node.has_jobs:
        return Verdict(Act.REPORT, case.reported)
    if case.has_ended and (case.is_certain or not node.is_answering):
        return Verdict(Act.FAIL, "its instance is gone")
    if case.has_ended:
        return Verdict(Act.FAIL, "its instance is gone") if case.is_missing_for(MISSING_FOR_S) else WAIT
    if node.shortage:
        return Verdict(Act.FAILED_BOOT if case.launch else Act.FAIL, node.shortage)
    if unfit := _unfit(case):
        return unfit
    if node.is_down:
        return Verdict(Act.FAIL, _why_down(node))
    if instance is None and not node.is_answering:
        return Verdict(Act.FAIL, "its instance is gone") if case.is_missing_for(MISSING_FOR_S) else WAIT
    if node.is_drained and node.has_jobs:
        return LEAVE
    if node.is_unhealthy and case.node_set.on_failure in STAY:
        return _unhealthy(case)
    if node.is_drained:
        return Verdict(Act.REPLACE, f"Slurm drained it: {node.reason}") if node.is_slurms else Verdict(Act.STOP, "drained, and its jobs are gone")
    if instance and instance.has_notice:
        return Verdict(Act.DRAIN, "the cloud takes its instance back")
    if instance and instance.is_outdated and not node.has_jobs and case.may_be_replaced:
        return Verdict(Act.STOP, "it was started from an earlier template of its node set")
    return Verdict(Act.UP) if case.launch and node.is_answering else LEAVE


def _unhealthy(case: Case) -> Verdict:
    """Leave a node to itself, to the cloud, or to a person, as its pool says."""
    node, wanted = case.node, case.node_set.on_failure
    if not node.is_beyond_repair:
        late = f"it did not repair itself within {REPAIRED_WITHIN_S / 60:.0f} minutes"
        return Verdict(Act.REPLACE, late) if case.is_missing_for(REPAIRED_WITHIN_S) else WAIT
    if wanted == "report" and BROKEN_PART in node.reason and case.instance and case.may_be_reported:
        return Verdict(Act.REPORT, node.reason)
    return Verdict(Act.REPLACE, f"it can't repair itself: {node.reason}")
