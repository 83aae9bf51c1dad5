"""Carry out decisions through two ports: Slurm and the fleet. Each step is repeatable; a failed step does not affect the others."""

import dataclasses
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Protocol

from blueprints import hostlist

from . import decide
from .decide import steps as kinds
from .decide.answers import Answer, Refusal
from .memory import Launch, Memory, Store, replace
from .model import OURS, Cloud, Fault, Slurm, fault_of
from .slurm import Unanswered
from .table import Table

AT_A_TIME = 8
"""Launches at a time; a cloud's API allows few calls a second."""
AT_MOST_SAID = 50

log = logging.getLogger("clusterwright-elastic")


class SlurmPort(Protocol):
    def view(self) -> Slurm: ...
    def spares_kept(self) -> bool: ...
    def set_state(self, nodes: Sequence[str], state: str, *, reason: str = "") -> list[str]: ...
    def set_addresses(self, addresses: Sequence[tuple[str, str]]) -> list[str]: ...
    def requeue(self, jobs: Iterable[int]) -> list[str]: ...
    def start_now(self, jobs: Iterable[int]) -> list[str]: ...
    def explain(self, jobs: Iterable[int], reason: str) -> list[str]: ...
    def reserve(self, name: str, nodes: Sequence[str], start: float, *, is_there: bool) -> None: ...
    def unreserve(self, name: str) -> None: ...
    def switches(self) -> Mapping[str, frozenset[str]]: ...
    def reconfigure(self) -> None: ...


class Fleet(Protocol):
    """The instances of this stack, and no others."""

    def view(self, *, is_brief: bool = False) -> Cloud:
        """Return all instances of the stack, with the cloud's notices for them, and the leases of its capacity.

        Args:
            is_brief: return the instances only.
        Raises:
            Unreachable: the instances are unknown. An unknown cloud is never treated as an empty one.
        """

    def launch(self, launch: Launch) -> Answer:
        """Start instances for the nodes of a launch; repeating the launch returns the same instances."""

    def terminate(self, instances: Sequence[str]) -> None:
        """Terminate instances; missing instances are no error.

        Raises:
            Unended: some could not be terminated; all others are.
            Unreachable: it is unknown which are terminated.
        """

    def withdraw(self, requests: Sequence[str]) -> None:
        """Cancel requests that wait in the cloud's queue; missing ones are no error.

        Raises:
            Unreachable: some still wait.
        """

    def report(self, instance: str, fault: Fault, why: str, *, waits: bool = True) -> None:
        """Report the host of an instance as faulty, so that the cloud takes it out of service. The same report made again is one report.

        Args:
            why: for the cloud's engineers.
            waits: for the end of the cloud's work, which takes minutes.
        Raises:
            Underway: the cloud still works on it.
            Unreachable: the cloud refuses, or takes no such reports.
        """

    def console(self, instance: str) -> str:
        """Return the last part of an instance's console; empty: none."""


class Unreachable(Exception):
    """The fleet's service did not answer or refused; the text says why."""


class Underway(Unreachable):
    """The fleet's service has begun with it, and has not ended."""


class Unended(Unreachable):
    """Some instances could not be terminated.

    Args:
        why: instance → the reason from the fleet's service.
    """

    def __init__(self, why: Mapping[str, str]):
        whom: dict[str, list[str]] = {}
        for instance, said in why.items():
            whom.setdefault(said, []).append(instance)
        super().__init__("; ".join(f"{_listed(instances)} can't be terminated: {said}" for said, instances in whom.items()))
        self.instances = frozenset(why)


class Actor:
    """One run of the program, under the lock.

    Args:
        clock: seconds since 1970.
        at_a_time: launches under way at once.
    """

    def __init__(self, table: Table, *, slurm: SlurmPort, fleet: Fleet, store: Store, clock: Callable[[], float] = time.time, at_a_time: int = AT_A_TIME):
        self._table, self._slurm, self._fleet, self._store, self._clock, self._at_a_time = table, slurm, fleet, store, clock, at_a_time
        self.complaints: list[str] = []
        """Failed steps; the next `sync` repeats them."""

    def resume(self, request: decide.Request) -> None:
        slurm, cloud = self._slurm.view(), self._fleet.view()
        self._complain(cloud.unknown)
        decision = decide.resume(request, table=self._table, slurm=slurm, cloud=cloud, memory=self._store.read(), now=self._clock())
        self._carry_out(decision)

    def suspend(self, nodes: Sequence[str]) -> None:
        slurm, cloud = self._slurm.view(), self._fleet.view(is_brief=True)
        spares, memory = self._slurm.spares_kept(), self._store.read()
        self._carry_out(decide.suspend(nodes, table=self._table, slurm=slurm, cloud=cloud, memory=memory, now=self._clock(), spares_kept=spares))

    def sync(self) -> None:
        # Query the cloud first: a node that Slurm starts in between then looks young, never lost.
        cloud, slurm = self._fleet.view(), self._slurm.view()
        self._complain(cloud.unknown)
        self._carry_out(decide.sync(table=self._table, slurm=slurm, cloud=cloud, memory=self._store.read(), now=self._clock()))
        if self._table.topology:
            self._arrange(slurm, cloud)

    def _arrange(self, slurm: Slurm, cloud: Cloud) -> None:
        """Tell Slurm where nodes are, if it does not know."""
        try:
            slurm = dataclasses.replace(slurm, switches=self._slurm.switches())
        except Unanswered as error:
            self._complain([str(error)])
            return
        memory, now = self._store.read(), self._clock()
        step = decide.arrange(table=self._table, slurm=slurm, cloud=cloud, memory=memory, now=now)
        # It is remembered first: what fails is not repeated at once either.
        if step and self._remember(dataclasses.replace(memory, arranged_at=now)):
            self._take(step)

    def _carry_out(self, decision: kinds.Decision) -> None:
        is_remembered = self._remember(decision.memory)
        asks = [step for step in decision.steps if isinstance(step, kinds.Ask)]
        for step in decision.steps:
            if not isinstance(step, kinds.Ask) and (is_remembered or not isinstance(step, kinds.PowerUp | kinds.Report)):
                self._take(step)
        if asks and is_remembered:
            self._launch(asks)

    def _remember(self, memory: Memory) -> bool:
        """Write the memory, and return whether it was written. Without it, nothing is started; terminations go ahead, as the next `sync` would decide the same."""
        try:
            self._store.write(memory)
        except OSError as error:
            self._complain([f"{self._store.file} can't be written, so nothing is started: {error}"])
            return False
        return True

    def _launch(self, asks: Sequence[kinds.Ask]) -> None:
        for ask in asks:
            log.info("%s", described(ask))
        if self._at_a_time == 1 or len(asks) == 1:
            for ask in asks:
                self._follow(ask.launch, self._answer(ask.launch))
            return
        with ThreadPoolExecutor(max_workers=self._at_a_time) as several:
            waiting: dict[Future[Answer], Launch] = {several.submit(self._answer, ask.launch): ask.launch for ask in asks}
            for done in as_completed(waiting):
                self._follow(waiting[done], done.result())

    def _answer(self, launch: Launch) -> Answer:
        if launch.token not in {one.token for one in self._store.read().launches}:
            return Answer((), Refusal.ERROR, "the rest of the job can't start")
        try:
            return self._fleet.launch(launch)
        except Unreachable as error:
            return Answer((), Refusal.LATER, str(error))

    def _follow(self, launch: Launch, answer: Answer) -> None:
        made = _listed(f"{instance.node}={instance.id}" for instance in answer.instances)
        if answer.refusal:
            log.warning("%s of %s: %s: %s", hostlist.compress(launch.nodes), launch.node_set, answer.refusal.value, answer.detail)
        if made:
            log.info("launched %s", made)
        # Only a refusal needs the node sets that the scheduler could choose next.
        slurm = self._slurm.view() if len(answer.instances) < len(launch.nodes) else Slurm({})
        decision = decide.launched(launch, answer, table=self._table, slurm=slurm, memory=self._store.read(), now=self._clock())
        self._remember(decision.memory)
        for step in decision.steps:
            self._take(step)

    def _take(self, step: kinds.Step) -> None:
        log.info("%s", described(step))
        try:
            self._complain(self._do(step))
        except Exception as error:  # one failed step must not block the others
            self._complain([f"{type(error).__name__}: {error}"])

    def _complain(self, complaints: Sequence[str]) -> None:
        for complaint in complaints:
            log.warning("%s", complaint)
        self.complaints += complaints

    def _do(self, step: kinds.Step) -> Sequence[str]:
        match step:
            case kinds.SetDown(nodes, reason):
                return self._slurm.set_state(nodes, "DOWN", reason=reason)
            case kinds.Drain(nodes, reason):
                return self._slurm.set_state(nodes, "DRAIN", reason=reason)
            case kinds.PowerDown(nodes):
                return self._slurm.set_state(nodes, "POWER_DOWN")
            case kinds.PowerUp(nodes):
                return self._slurm.set_state(nodes, "POWER_UP")
            case kinds.Release(nodes):
                return self._slurm.set_state(nodes, "IDLE")
            case kinds.SetAddress(addresses):
                return self._slurm.set_addresses(addresses)
            case kinds.Requeue(jobs):
                return self._slurm.requeue(jobs)
            case kinds.StartNow(jobs):
                self._slurm.start_now(jobs)  # a job that could not be requeued has ended: nothing to start
            case kinds.Explain(jobs, reason):
                self._slurm.explain(jobs, reason)  # a job that has ended needs no reason
            case kinds.Terminate(instances):
                self._terminate(instances)
            case kinds.Withdraw(requests):
                self._fleet.withdraw(requests)
            case kinds.Keep(instance, node):
                for line in self._fleet.console(instance).splitlines()[-20:]:
                    log.warning("console of %s: %s", node, line)
            case kinds.Report(instance, _, why):
                return self._report(instance, why)
            case kinds.Reserve(name, nodes, start, _, is_there):
                self._slurm.reserve(name, nodes, start, is_there=is_there)
            case kinds.Unreserve(name):
                self._slurm.unreserve(name)
            case kinds.Arrange(text):
                replace(Path(self._table.topology), text)
                self._slurm.reconfigure()
            case kinds.Ask():
                raise TypeError("launches go their own way")
        return []

    def _report(self, instance: str, why: str) -> Sequence[str]:
        """Tell the cloud of a broken host. Also a refusal ends it: the node is replaced then."""
        complaints: list[str] = []
        try:
            self._fleet.report(instance, fault_of(why), why, waits=False)
        except Underway:
            return complaints
        except Unreachable as error:
            complaints.append(str(error))
        memory = self._store.read()
        over = {one: dataclasses.replace(report, is_over=True) for one, report in memory.reports.items() if one == instance}
        self._remember(dataclasses.replace(memory, reports={**memory.reports, **over}))
        return complaints

    def _terminate(self, instances: Sequence[str]) -> None:
        try:
            self._fleet.terminate(instances)
        except Unreachable as error:
            # They still run: forget their termination, or the program would leave them alone for a while.
            living = error.instances if isinstance(error, Unended) else frozenset(instances)
            memory = self._store.read()
            self._remember(dataclasses.replace(memory, terminated={one: at for one, at in memory.terminated.items() if one not in living}))
            raise


def described(step: kinds.Step) -> str:
    """Return a step as a line of the log."""
    match step:
        case kinds.SetDown(nodes, reason) | kinds.Drain(nodes, reason):
            return f"{'down' if isinstance(step, kinds.SetDown) else 'drain'} {hostlist.compress(nodes)}: {reason.removeprefix(OURS)}"
        case kinds.PowerDown(nodes, why) | kinds.PowerUp(nodes, why) | kinds.Release(nodes, why):
            words = {kinds.PowerDown: "switch off", kinds.PowerUp: "switch on", kinds.Release: "release"}
            return f"{words[type(step)]} {hostlist.compress(nodes)}: {why}"
        case kinds.SetAddress(addresses):
            return "address " + _listed(f"{node}={address}" for node, address in addresses)
        case kinds.Requeue(jobs, why):
            return f"requeue {_listed(map(str, jobs))}: {why}"
        case kinds.StartNow(jobs):
            return f"start at once: {_listed(map(str, jobs))}"
        case kinds.Explain(jobs, reason):
            return f"explain in {_listed(map(str, jobs))}: {reason.removeprefix(OURS)}"
        case kinds.Terminate(instances, why):
            return f"terminate {_listed(instances)}: {why}"
        case kinds.Withdraw(requests, why):
            return f"withdraw {_listed(requests)}: {why}"
        case kinds.Ask(launch, why):
            wanted = f" for job {_listed(map(str, launch.jobs))}" if launch.jobs else ""
            return f"launch {hostlist.compress(launch.nodes)}{wanted}{', all or none' if launch.is_whole else ''}: {why}"
        case kinds.Keep(instance, node):
            return f"console of {instance} ({node}), before its termination"
        case kinds.Report(instance, node, why):
            return f"report the host of {node} ({instance}): {why.removeprefix(OURS)}"
        case kinds.Reserve(name, nodes, _, why, is_there):
            return f"{'move the reservation of' if is_there else 'reserve'} {hostlist.compress(nodes)} as {name}: {why}"
        case kinds.Unreserve(name, why):
            return f"delete reservation {name}: {why}"
        case kinds.Arrange(_, why):
            return f"arrange nodes by their places: {why}"


def _listed(words: Iterable[str]) -> str:
    """List words; of hundreds, only the first: a line of the log has a limit."""
    several = list(words)
    more = len(several) - AT_MOST_SAID
    return ", ".join(several[:AT_MOST_SAID]) + (f" and {more} more" if more > 0 else "")


def plan(table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory, now: float) -> Mapping[str, object]:
    """Describe the next `sync`, for `status`."""
    decision = decide.sync(table=table, slurm=slurm, cloud=cloud, memory=memory, now=now)
    return {"steps": [described(step) for step in decision.steps]}
