"""A cloud and a Slurm that behave as the real ones were seen to, under a clock of their own, for the program to be run against.

Slurm's part follows what was seen with 24.11 on hosts of the local target: a node that goes down gives its jobs back, one that is told to stop while it starts goes on starting unless it is down, and
a node is taken only when its instance began after it was asked for.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from blueprints import hostlist
from components.elastic import act, decide
from components.elastic.decide.answers import Answer, Refusal
from components.elastic.memory import Launch, Store
from components.elastic.model import SLURMS_OWN, Cloud, Fault, Instance, Job, Life, Node, Queued, Reservation, Slurm
from components.elastic.table import Table

BOOT_S = 40.0
RESUME_TIMEOUT_S = 900.0
STOP_S = 60.0
IDLE_S = 300.0
SILENT_S = 60.0
JOB_S = 200.0
NOTICE_S = 120.0


class Killed(BaseException):
    """The program was ended in the middle, as kill -9 does."""


@dataclasses.dataclass
class Machine:
    """An instance as it is, whatever the cloud shows."""

    id: str
    node: str
    token: str
    began: float
    boots: bool
    ended_at: float | None = None
    noticed: bool = False


@dataclasses.dataclass
class Known:
    """A node as Slurm has it."""

    name: str
    power: str = "off"
    """`off`, `starting`, `up`, `stopping`."""
    since: float = 0.0
    is_down: bool = False
    is_drained: bool = False
    is_silent: bool = False
    is_maintained: bool = False
    reason: str = ""
    job: int | None = None
    idle_since: float = 0.0

    @property
    def is_free(self) -> bool:
        return self.power in ("off", "up") and not (self.is_down or self.is_drained or self.is_silent or self.is_maintained) and self.job is None


@dataclasses.dataclass
class Batch:
    """A job."""

    id: int
    size: int
    lasts: float = JOB_S
    nodes: tuple[str, ...] = ()
    began: float | None = None
    is_over: bool = False
    requeues: bool = True
    """It waits anew when it loses a node, as a batch job does; one of srun or salloc is over then."""
    is_lost: bool = False


class World:
    def __init__(self, table: Table, folder: Path):
        self.table, self.now = table, 1_000_000.0
        self.nodes = {name: Known(name) for name in table.owners()}
        self.machines: dict[str, Machine] = {}
        self.jobs: dict[int, Batch] = {}
        self.room = {node_set.name: node_set.count for node_set in table.node_sets}
        self.queued_until = 0.0
        """Until then the cloud puts requests into its queue, and then provides what waits there, wanted or not."""
        self.queue: dict[str, tuple[str, ...]] = {}
        """Token → nodes."""
        self.explained: dict[int, str] = {}
        """Job → what it was last told that it waits for."""
        self.boots = True
        self.shown_after_s = 0.0
        self.is_reachable = True
        self.kill_in: int | None = None
        """The program is killed when it makes this many further calls."""
        # One launch after the other: with several at once a story would not happen twice in the same way.
        self.actor = act.Actor(table, slurm=self, fleet=Door(self), store=Store(folder), clock=lambda: self.now, at_a_time=1)
        self.reserved: dict[str, Reservation] = {}
        self.reconfigured: list[float] = []
        """When Slurm read its configuration again."""
        self._switches: Mapping[str, frozenset[str]] = {}
        self._waiting: list[Callable[[], None]] = []
        self.wrong: list[str] = []
        """What must never happen, and did."""
        self.peak = 0
        """The most instances that lived at once."""

    # What the program asks of Slurm

    def view(self) -> Slurm:
        self.step()
        nodes = {name: self._shown(known) for name, known in self.nodes.items()}
        running = tuple(Job(job.id, "running", job.nodes, job.requeues) for job in self.jobs.values() if job.nodes and not job.is_over)
        return Slurm(nodes, running, tuple(self.reserved.values()))

    def spares_kept(self) -> bool:
        return True

    def set_state(self, nodes: Sequence[str], state: str, *, reason: str = "") -> list[str]:
        self.step()
        for name in nodes:
            known = self.nodes[name]
            if known.is_maintained or ((known.is_down or known.is_drained) and known.reason == "ada"):
                self.wrong.append(f"{state} of {name}, which a person has")
            match state:
                case "DOWN":
                    known.is_down, known.reason = True, reason
                    self._give_back(known)
                case "DRAIN":
                    known.is_drained, known.reason = True, reason
                case "POWER_DOWN":
                    if known.job is not None and known.power == "up":
                        self.wrong.append(f"{name} is switched off under job {known.job}")
                    if known.power == "up" or (known.power == "starting" and known.is_down):
                        self._stop(known)
                case "POWER_UP":
                    if known.power == "off":
                        self._start(known)
                        self.call(functools.partial(self.actor.resume, decide.Request((decide.Wanted((name,), None),))), later=True)
                case "IDLE":
                    known.is_down = known.is_drained = False
                    known.reason = ""
        return []

    def set_addresses(self, addresses: Sequence[tuple[str, str]]) -> list[str]:
        self.step()
        return []

    def requeue(self, jobs: Iterable[int]) -> list[str]:
        self.step()
        for job in jobs:
            for name in self.jobs[job].nodes:
                self._give_back(self.nodes[name])
        return []

    def start_now(self, jobs: Iterable[int]) -> list[str]:
        self.step()
        return []

    def explain(self, jobs: Iterable[int], reason: str) -> list[str]:
        self.step()
        self.explained |= dict.fromkeys(jobs, reason)
        return []

    def reserve(self, name: str, nodes: Sequence[str], start: float, *, is_there: bool) -> None:
        self.step()
        if is_there != (name in self.reserved) or (is_there and self.reserved[name].start <= self.now):
            self.wrong.append(f"reservation {name} is {'not ' if is_there else ''}there, or has begun")
        self.reserved[name] = Reservation(name, start, tuple(nodes))

    def unreserve(self, name: str) -> None:
        self.step()
        del self.reserved[name]

    def switches(self) -> Mapping[str, frozenset[str]]:
        self.step()
        return self._switches

    def reconfigure(self) -> None:
        """Read topology.conf as Slurm does: nodes that are connected nowhere, or to two switches, get no jobs."""
        self.step()
        self.reconfigured.append(self.now)
        lines = [dict(word.split("=", 1) for word in line.split()) for line in Path(self.table.topology).read_text().splitlines() if not line.startswith("#")]
        self._switches = {one["SwitchName"]: frozenset(hostlist.expand(one.get("Switches") or one["Nodes"])) for one in lines}
        leaves = [node for one in lines if "Nodes" in one for node in hostlist.expand(one["Nodes"])]
        if sorted(leaves) != sorted(self.nodes):
            self.wrong.append(f"nodes with switches: {leaves}")

    # What happens

    def step(self) -> None:
        """Count a call of the program, which may be its last."""
        if self.kill_in is not None:
            self.kill_in -= 1
            if self.kill_in < 0:
                self.kill_in = None
                raise Killed

    def call(self, run: Callable[[], None], *, later: bool = False) -> None:
        """Have the program run; killed or not, the world goes on. What Slurm starts while the program runs has to wait for its lock."""
        if later:
            self._waiting.append(run)
            return
        with contextlib.suppress(Killed, act.Unreachable):
            run()
        while self._waiting:
            self.call(self._waiting.pop(0))

    def submit(self, size: int, *, lasts: float = JOB_S, requeues: bool = True) -> Batch:
        number = len(self.jobs) + 1
        self.jobs[number] = Batch(number, size, lasts, requeues=requeues)
        return self.jobs[number]

    def cancel(self, job: Batch) -> None:
        """Have its owner cancel a job."""
        for name in job.nodes:
            self.nodes[name].job, self.nodes[name].idle_since = None, self.now
        job.is_over = True

    def advance(self, seconds: float) -> None:
        """Let time pass, half a minute at a time, as the timer does."""
        end = self.now + seconds
        while self.now < end:
            self._pass(30)
            self._live()
            self._schedule()
            self.call(self.actor.sync)
            self.peak = max(self.peak, sum(machine.ended_at is None for machine in self.machines.values()))

    def reboot(self, name: str) -> None:
        """Let a node boot again without being asked: Slurm takes it down, and leaves it so with the ReturnToService of elastic nodes (slurm.conf(5): 1, "unexpected reboot")."""
        known = self.nodes[name]
        known.is_down, known.reason = True, SLURMS_OWN[2]
        self._give_back(known)

    def _pass(self, seconds: float) -> None:
        self.now += seconds

    def end_instance(self, identity: str) -> None:
        machine = self.machines[identity]
        if machine.ended_at is None:
            machine.ended_at = self.now

    def start(self, token: str, nodes: Iterable[str]) -> None:
        for node in nodes:
            machine = Machine(f"i-{len(self.machines)}", node, token, self.now, self.boots)
            self.machines[machine.id] = machine

    def _live(self) -> None:
        while self.queue and self.now >= self.queued_until:
            self.start(*self.queue.popitem())
        for one in self.machines.values():
            if one.ended_at is None and one.noticed and self.now - one.began > NOTICE_S:
                one.ended_at = self.now
        alive = {one.node: one for one in self.machines.values() if one.ended_at is None}
        for known in self.nodes.values():
            machine = alive.get(known.name)
            if known.power == "starting":
                if machine and machine.boots and machine.began >= known.since and self.now - machine.began >= BOOT_S and not known.is_down:
                    known.power, known.is_silent, known.idle_since = "up", False, self.now
                elif self.now - known.since > RESUME_TIMEOUT_S:
                    known.power, known.is_down, known.reason, known.is_silent = "off", True, SLURMS_OWN[1], False
                    self._give_back(known)
            elif known.power == "up":
                known.is_silent = machine is None
                if known.is_silent and not known.is_down and self.now - known.idle_since > SILENT_S:
                    known.is_down, known.reason = True, SLURMS_OWN[0]
                    self._give_back(known)
                owner = self.table.owners()[known.name]
                if known.job is None and not owner.always_runs(known.name) and not known.is_drained and self.now - known.idle_since > IDLE_S:
                    self._stop(known)
            elif known.power == "stopping" and self.now - known.since >= STOP_S:
                known.power = "off"
        for job in self.jobs.values():
            if not job.nodes or job.is_over:
                continue
            on = [self.nodes[name] for name in job.nodes]
            if job.began is None and all(known.power == "up" for known in on):
                job.began = self.now
            if job.began is not None and self.now - job.began >= job.lasts:
                job.is_over = True
                for known in on:
                    known.job, known.idle_since = None, self.now

    def _schedule(self) -> None:
        """Give waiting jobs nodes: of one set if they fit there, running ones first."""
        wanted = []
        for job in self.jobs.values():
            if job.nodes or job.is_over:
                continue
            kept = {name for one in self.reserved.values() if one.start < self.now + job.lasts for name in one.nodes}
            free = sorted(
                (known for known in self.nodes.values() if known.is_free and known.name not in kept),
                key=lambda known: (known.power != "up", list(self.nodes).index(known.name)),
            )
            if len(free) < job.size:
                continue
            chosen = free[: job.size]
            job.nodes = tuple(known.name for known in chosen)
            off = tuple(known.name for known in chosen if known.power == "off")
            for known in chosen:
                known.job = job.id
                if known.power == "off":
                    self._start(known)
            if off:
                wanted.append(decide.Wanted(off, job.id))
        if wanted:
            self.call(lambda: self.actor.resume(decide.Request(tuple(wanted))))

    def _start(self, known: Known) -> None:
        known.power, known.since, known.is_silent = "starting", self.now, True

    def _stop(self, known: Known) -> None:
        known.power, known.since, known.is_silent = "stopping", self.now, False
        self.call(lambda: self.actor.suspend([known.name]), later=True)

    def _give_back(self, known: Known) -> None:
        """A node lost its job: the job waits anew."""
        if known.job is None:
            return
        job = self.jobs[known.job]
        for name in job.nodes:
            self.nodes[name].job = None
            self.nodes[name].idle_since = self.now
        job.nodes, job.began = (), None
        job.is_over = job.is_lost = not job.requeues

    def _shown(self, known: Known) -> Node:
        flags = {"off": {"powered_down"}, "starting": {"powering_up"}, "up": set(), "stopping": {"powering_down"}}[known.power]
        flags |= {name for name, is_set in (("drain", known.is_drained), ("not_responding", known.is_silent), ("maintenance", known.is_maintained)) if is_set}
        base = "down" if known.is_down else "mixed" if known.job is not None else "idle"
        return Node(known.name, base, frozenset(flags | {"cloud"}), known.reason)


class Door:
    """What the program asks of the cloud."""

    def __init__(self, world: World):
        self._world = world

    def view(self, *, is_brief: bool = False) -> Cloud:
        world = self._world
        world.step()
        if not world.is_reachable:
            raise act.Unreachable("the cloud is away")
        shown = []
        for machine in world.machines.values():
            if world.now - machine.began >= world.shown_after_s:
                life = Life.LIVE if machine.ended_at is None else Life.ENDED
                shown.append(Instance(machine.id, machine.node, life, machine.began, "10.0.0.1", machine.token, has_notice=machine.noticed))
        return Cloud(tuple(shown), queued=tuple(Queued(token, token, nodes) for token, nodes in world.queue.items()))

    def withdraw(self, requests: Sequence[str]) -> None:
        self._world.step()
        if not self._world.is_reachable:
            raise act.Unreachable("the cloud is away")
        for request in requests:
            self._world.queue.pop(request, None)

    def launch(self, launch: Launch) -> Answer:
        world = self._world
        world.step()
        if not world.is_reachable:
            raise act.Unreachable("the cloud is away")
        known = [machine for machine in world.machines.values() if machine.token == launch.token]
        if not known and world.now < world.queued_until:
            world.queue[launch.token] = launch.nodes
            return Answer((), Refusal.QUEUED, "third in line")
        if not known:
            running = sum(machine.ended_at is None and world.table.owners()[machine.node].name == launch.node_set for machine in world.machines.values())
            room = max(0, world.room[launch.node_set] - running)
            nodes = launch.nodes if len(launch.nodes) <= room else () if launch.is_whole else launch.nodes[:room]
            world.start(launch.token, nodes)
            known = [machine for machine in world.machines.values() if machine.token == launch.token]
        world.step()  # killed here, the instances are there and nobody knows
        made = tuple(Instance(machine.id, machine.node, Life.LIVE, machine.began, "", machine.token) for machine in known if machine.ended_at is None)
        return Answer(made, Refusal.CAPACITY if len(made) < len(launch.nodes) else None, "none left")

    def terminate(self, instances: Sequence[str]) -> None:
        world = self._world
        world.step()
        if not world.is_reachable:
            raise act.Unreachable("the cloud is away")
        for identity in instances:
            machine = world.machines[identity]
            known = world.nodes.get(machine.node)
            if known and machine.ended_at is None and known.power == "up" and known.job is not None and not known.is_silent and self._serves(machine, known):
                world.wrong.append(f"{identity} of {machine.node} ended under job {known.job}")
            world.end_instance(identity)

    def report(self, instance: str, fault: Fault, why: str, *, waits: bool = True) -> None:
        raise act.Unreachable("the cloud takes no reports")

    def console(self, instance: str) -> str:
        return ""

    def _serves(self, machine: Machine, known: Known) -> bool:
        """Say whether it is the instance that the node runs on."""
        same = [one for one in self._world.machines.values() if one.node == known.name and one.ended_at is None]
        return same[0] is machine or len(same) == 1
