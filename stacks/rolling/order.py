"""Carry out a roll: drain, install, restart, return to service, a few hosts at a time.

Everything may be killed and run again. What a roll has taken out of service has its reason in Slurm; what is to be done is decided from what hosts and Slurm show.
"""

import contextlib
import dataclasses
import datetime as dt
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from blueprints import hostlist
from blueprints.spec import ClusterSpec
from components.elastic.model import GUARD, Node
from components.finish import group
from components.inspection import collect, in_place
from components.inspection.recorded_cluster import Known
from components.provider.kind import Work
from components.repair import shipping

from ..drift import repair
from ..errors import Problem
from ..rebuild import scheduler
from ..rebuild.scheduler import RunningJob, Scheduler
from . import decide, plan
from .decide import Phase
from .plan import Plan
from .window import ANY_TIME, Permission

TAKEN = (Phase.DRAINING, Phase.EMPTY)
LOOK_EVERY_S = 2.0
SAY_AGAIN_S = 60.0
PLAYBOOK = "roll.yml"
INSTALL_WITHIN_S = 2 * 3600
"""Packages of a driver, and the restart of a machine with eight GPUs, which takes minutes."""
SERVES_WITHIN_S = 600
"""After the restart: until the start guard has passed and Slurm hears of the node."""
GUARD_UNIT, DAEMON_UNIT = "clusterwright-guard.service", "slurmd.service"
"""Of a compute node: both are active on a node that may take jobs. The guard runs once after each start, so that its state is that of this start."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wishes:
    """How a person wants the roll."""

    requeues: bool = False
    """Put jobs back into the queue instead of waiting for them."""
    wait_s: float | None = None
    """How long to wait for the jobs of a node; None: until they have ended."""
    restart_s: float = 1800.0
    """How long a host may take to restart."""
    permission: Permission = ANY_TIME
    """Until when hosts that serve are taken out of service."""


class Roll:
    """One roll in progress.

    Args:
        known: the stack as it is recorded now.
        cluster: as it should become.
    """

    def __init__(self, stack: str, known: Known, cluster: ClusterSpec, decided: Plan, wishes: Wishes, *, say: Callable[[str], None]):
        self._stack, self._known, self._cluster, self._plan, self._wishes, self._say = stack, known, cluster, decided, wishes, say
        self._begun: dict[str, float] = {}
        """Host → when this roll took it out of service."""
        self._done: set[str] = set()
        self._failed: dict[str, str] = {}
        """Host → why it is not back in service."""
        self._requeued: dict[int, RunningJob] = {}
        """Jobs that were put back into the queue and still have a node."""
        self._installing: frozenset[str] = frozenset()
        self._said, self._said_at = "", 0.0

    def carry_out(self) -> frozenset[str]:
        """Roll all hosts, or those that a maintenance window leaves time for; name those that were restarted.

        Raises:
            Problem: a host did not come back, jobs did not end in time, or there is no room for the roll.
        """
        self.return_left()
        try:
            while not (step := self._step()).is_over:
                pass
        except (Problem, KeyboardInterrupt):
            self._give_back()
            raise
        if self._failed:
            raise self._stopped()
        if self._is_closed():
            if waiting := self._kept():
                self._say(f"{hostlist.compress(waiting)}: waits for the next maintenance window")
        elif step.blocked or self._kept():
            raise self._incomplete(step.blocked)
        return frozenset(self._done)

    def return_left(self) -> None:
        """Return the nodes to service that an earlier roll drained and that lack nothing any more."""
        if self._plan.left:
            with self._slurm() as slurm:
                nodes = slurm.nodes()  # Slurm refuses to resume a node that is in service
                slurm.resume([name for name in self._plan.left if name in nodes and nodes[name].is_drained])

    def _step(self) -> decide.Step:
        """Look, decide, act."""
        with self._slurm() as slurm:
            nodes, jobs = slurm.nodes(), slurm.jobs(self._compute(self._plan.due))
            hosts = self._hosts(nodes, jobs)
            now = time.monotonic()
            self._begun |= {host.name: now for host in hosts if host.phase in TAKEN and host.name not in self._begun}  # also by a roll that was killed
            step = decide.decide(hosts, self._plan.limits, order=self._plan.order, is_closed=self._is_closed())
            if step.begin:
                self._say(f"taking {hostlist.compress(step.begin)} out of service")
                slurm.drain(self._compute(step.begin))
                self._begun |= dict.fromkeys(step.begin, now)
            slurm.resume(self._compute(step.resume))
            self._begun = {name: moment for name, moment in self._begun.items() if name not in step.resume}
            self._requeue(slurm, jobs)
            self._check_patience(jobs)
        if step.install:
            self._install(step.install)
        elif not step.begin and not step.is_over:
            self._tell_waiting(jobs)
            time.sleep(LOOK_EVERY_S)
        return step

    def _is_closed(self) -> bool:
        return self._wishes.permission.is_over(dt.datetime.now(dt.UTC))

    def _hosts(self, nodes: Mapping[str, Node], jobs: Sequence[RunningJob]) -> list[decide.Host]:
        busy = frozenset(name for job in jobs for name in job.nodes)
        return plan.hosts(self._plan, nodes, busy=busy, begun=frozenset(self._begun), done=frozenset(self._done), failed=frozenset(self._failed))

    def _install(self, names: Sequence[str]) -> None:
        """Install and restart hosts together, and return those to service that are as they should be."""
        self._say(f"installing and restarting {hostlist.compress(names)}")
        self._installing = frozenset(names)
        reasons = self._run_playbook(names)
        reasons |= self._inspected([name for name in names if name not in reasons])
        nodes = self._compute([name for name in names if name not in reasons])
        if nodes:
            reasons |= self._returned(nodes)
        self._failed |= reasons
        good = [name for name in names if name not in reasons]
        self._done |= set(good)
        self._installing = frozenset()
        if good:
            self._say(f"{hostlist.compress(good)} {'is' if len(good) == 1 else 'are'} back in service ({len(self._done)} of {len(self._plan.due)})")

    def _run_playbook(self, names: Sequence[str]) -> dict[str, str]:
        """Configure hosts, with the parts that they restart for; give the reasons of those that failed."""
        recorded = repair.recorded_groups(self._known)
        failed: dict[str, str] = {}
        groups = {host.name: host.group for host in self._known.hosts}
        for name in dict.fromkeys(groups[one] for one in names):
            members = [one for one in names if groups[one] == name]
            work = Work(show=lambda text, _kept: self._say(text), stopping=threading.Event(), timeout_s=INSTALL_WITHIN_S, stack=self._stack, purpose="roll")
            outcome = group.finish_again(recorded[name], members, work, variables={"rolling": {"restart_within_s": self._wishes.restart_s}}, order=PLAYBOOK)
            failed |= {failure.host: str(failure) for failure in outcome.failures}
            if outcome.error:
                failed |= {one: outcome.error for one in members if one not in failed}
        return failed

    def _inspected(self, names: Sequence[str]) -> dict[str, str]:
        """Look at installed hosts; give the reasons of those that still lack something."""
        hosts = tuple(host for host in self._known.hosts if host.name in names)
        seen = collect.collect(dataclasses.replace(self._known, hosts=hosts))
        reasons = {host.name: why for host, why in (*seen.unreachable.items(), *seen.failed.items())}
        for host, facts in seen.facts.items():
            if lacking := in_place.lacks(self._cluster, host.group, facts):
                reasons[host.name] = f"after the restart it lacks {', '.join(map(str, lacking))}"
        return reasons

    def _returned(self, nodes: Sequence[str]) -> dict[str, str]:
        """Return nodes to service whose start guard has passed; give the reasons of the others."""
        reasons: dict[str, str] = {}
        waiting, deadline = set(nodes), time.monotonic() + SERVES_WITHIN_S
        while waiting and time.monotonic() < deadline:
            units = self._units(waiting)
            with self._slurm() as slurm:
                now = slurm.nodes()
                ready = [name for name in waiting if units[name] == {GUARD_UNIT: "active", DAEMON_UNIT: "active"} and now[name].is_answering]
                # Slurm keeps what an earlier start's guard said of a drained node: the reason alone says nothing.
                reasons |= {name: _guard_said(now[name]) for name in waiting if units[name].get(GUARD_UNIT) == "failed"}
                slurm.resume(ready)
            waiting -= {*ready, *reasons}
            if waiting:
                time.sleep(LOOK_EVERY_S)
        return reasons | dict.fromkeys(waiting, f"neither the start guard nor slurmd ended its start within {SERVES_WITHIN_S / 60:.0f} minutes")

    def _units(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Give the states of the units on each host, in systemd's words; none where a host doesn't answer."""
        asked = (GUARD_UNIT, DAEMON_UNIT)
        hosts = {host: [shipping.Order(("systemctl", "show", "--property=ActiveState", "--value", *asked))] for host in self._known.hosts if host.name in names}
        answers = shipping.run(hosts, private_key=self._known.private_key)
        return {host.name: dict(zip(asked, said.said.split(), strict=False)) if said.is_done else {} for host, (said,) in answers.items()}

    def _requeue(self, slurm: Scheduler, jobs: Sequence[RunningJob]) -> None:
        """Put the jobs of drained nodes back into the queue, and let them start elsewhere as soon as their processes have ended."""
        if not self._wishes.requeues:
            return
        running = {job.id for job in jobs}
        ended = [job for number, job in self._requeued.items() if number not in running]
        slurm.start_now(ended)
        self._requeued = {number: job for number, job in self._requeued.items() if number in running}
        going = [job for job in jobs if job.requeues and job.id not in self._requeued and self._waiting([job])]
        self._requeued |= {job.id: job for job in going}
        for complaint in slurm.requeue(going):
            self._say(f"Slurm did not requeue a job: {complaint}")

    def _check_patience(self, jobs: Sequence[RunningJob]) -> None:
        wait_s = self._wishes.wait_s
        if wait_s is None:
            return
        late_nodes = {name for name, moment in self._begun.items() if time.monotonic() - moment > wait_s}
        late = [job for job in jobs if late_nodes & set(self._waiting([job]))]
        if late:
            raise Problem(
                f"the roll stopped: jobs still run on {hostlist.compress(self._waiting(late))}",
                why="\n".join([*(f"job {job}" for job in late), self._progress()]),
                remedy=f"run `clusterwright up --stack {self._stack}` again later, which continues, with a longer --wait, or with --requeue",
            )

    def _tell_waiting(self, jobs: Sequence[RunningJob]) -> None:
        ours = [job for job in jobs if self._waiting([job])]
        names = hostlist.compress(self._waiting(ours))
        text = f"waiting for {'a job' if len(ours) == 1 else f'{len(ours)} jobs'} on {names} to end: {', '.join(map(str, ours[:5]))}"
        if names != self._said or time.monotonic() - self._said_at > SAY_AGAIN_S:
            self._say(text)
            self._said, self._said_at = names, time.monotonic()

    def _waiting(self, jobs: Sequence[RunningJob]) -> list[str]:
        return [name for name in self._begun if name not in self._done and any(name in job.nodes for job in jobs)]

    def _give_back(self) -> None:
        """Return the nodes to service that are drained and that nothing was installed on yet. The others stay drained for the next roll."""
        open_nodes = self._compute([name for name in self._begun if name not in {*self._done, *self._failed, *self._installing}])
        with self._slurm() as slurm:
            slurm.resume([name for name in open_nodes if plan.is_rolls(slurm.nodes()[name])])

    def _compute(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self._plan.roles[name] == plan.COMPUTE]

    def _kept(self) -> list[str]:
        return [name for name in self._plan.due if name not in self._done and name not in self._failed]

    def _progress(self) -> str:
        missing = [name for name in self._plan.due if name not in self._done]
        return f"{len(self._done)} of {len(self._plan.due)} hosts are done; not done: {hostlist.compress(missing)}"

    def _stopped(self) -> Problem:
        names = hostlist.compress(self._failed)
        return Problem(
            f"the roll stopped: {names} did not come back into service",
            why="\n".join([*(f"{name}: {why}" for name, why in self._failed.items()), self._progress()]),
            remedy=f"repair {names} or drain it with a reason of your own, then run `clusterwright up --stack {self._stack}`, which continues",
        )

    def _incomplete(self, blocked: Mapping[str, Sequence[str]]) -> Problem:
        reasons = [
            f"{scope}: {hostlist.compress(out)} {'is' if len(out) == 1 else 'are'} out of service, and the limit is {self._plan.limits[scope]} (pools.{scope}.rolling)"
            for scope, out in blocked.items()
        ]
        return Problem(
            f"the roll left out {hostlist.compress(self._kept())}",
            why="\n".join([*reasons, "nodes that somebody drained or that do not answer are not rolled", self._progress()]),
            remedy=f"return the nodes to service, or raise the limit, then run `clusterwright up --stack {self._stack}`, which continues",
        )

    def _slurm(self) -> contextlib.AbstractContextManager[Scheduler]:
        return scheduler.answering(scheduler.controllers(self._known), private_key=self._known.private_key, reason=plan.REASON)


def _guard_said(node: Node) -> str:
    return node.reason if node.reason.startswith(GUARD) else f"the start guard failed: `journalctl -u {GUARD_UNIT}` on {node.name} says why"
