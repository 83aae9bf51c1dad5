"""Elastic nodes in a rebuild: the scheduler terminates and starts them, never the engine.

The elastic program on the controller works at the same time: it terminates drained nodes that have no jobs, and returns them to service as soon as they are off. The next job, or the pool's minimum, may then start such a
node at once, so that it is never seen to be off. What tells whether a node was rebuilt is therefore its instance.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence

from blueprints import hostlist

from ..errors import Problem
from .plan import Plan
from .scheduler import Scheduler

LOOK_EVERY_S = 2.0
POWERED_WITHIN_S = 1800.0
"""Machines with eight GPUs take minutes to stop and to boot."""


@dataclasses.dataclass(frozen=True, slots=True)
class Instances:
    """The instances of the elastic nodes that are rebuilt.

    Args:
        before: node → its instance when the rebuild began.
        look: give the nodes that run now, each with its instance; None: unknown at the moment.
    """

    before: Mapping[str, str]
    look: Callable[[], Mapping[str, str] | None]

    def remaining(self, nodes: Sequence[str]) -> tuple[str, ...]:
        """Give the nodes that still have the instance from before, or may have it."""
        now = self.look() if nodes else {}
        return tuple(name for name in nodes if now is None or now.get(name) == self.before[name])


def awaited(decided: Plan, slurm: Scheduler, instances: Instances) -> tuple[str, ...]:
    """Give the nodes whose jobs a rebuild waits for: not those that have a new instance and run new jobs already."""
    elastic = {host.name for host in decided.elastic}
    if not elastic:
        return decided.nodes
    nodes = slurm.nodes()
    returned = [name for name in decided.drained if name in elastic and not nodes[name].is_drained]
    rebuilt = set(returned).difference(instances.remaining(returned))
    return tuple(name for name in decided.nodes if name not in rebuilt)


def restart(decided: Plan, slurm: Scheduler, instances: Instances, *, say: Callable[[str], None]) -> None:
    """Let the scheduler terminate elastic nodes, and start those again that the rebuild drained.

    Raises:
        Problem: an instance does not end, or a node does not register.
    """
    nodes = [host.name for host in decided.elastic]
    if left := instances.remaining(nodes):
        say(f"Slurm terminates {hostlist.compress(left)}")
        states = slurm.nodes()
        slurm.power_down([name for name in left if states[name].is_up or states[name].is_starting])
        _wait(lambda: not instances.remaining(left), f"Slurm to terminate {hostlist.compress(left)}")
    if ours := [name for name in nodes if name in decided.drained]:
        say(f"Slurm starts {hostlist.compress(ours)}")
        _start(ours, slurm)


def _start(nodes: Sequence[str], slurm: Scheduler) -> None:
    asked: set[str] = set()
    served: set[str] = set()

    def is_done() -> bool:
        states = slurm.nodes()
        if off := [name for name in nodes if states[name].is_off and "power_up" not in states[name].flags and name not in asked]:
            slurm.power_up(off)
            asked.update(off)
        served.update(name for name in nodes if states[name].is_up and states[name].is_answering and not states[name].is_drained)
        return served.issuperset(nodes)

    _wait(is_done, f"{hostlist.compress(nodes)} to register with Slurm")


def _wait(is_done: Callable[[], bool], awaiting: str) -> None:
    deadline = time.monotonic() + POWERED_WITHIN_S
    while not is_done():
        if time.monotonic() > deadline:
            raise Problem(
                f"waited {POWERED_WITHIN_S / 60:.0f} minutes for {awaiting}",
                why="the journal of clusterwright-elastic on the controller says what it did",
                remedy="run `clusterwright-elastic status` on the controller, and the same command again",
            )
        time.sleep(LOOK_EVERY_S)
