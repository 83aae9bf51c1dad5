"""Thousands of nodes: the work of one decision grows as their number does. `python -m bench elastic` measures its time for 7,500."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from components.elastic import slurm as texts
from components.elastic.decide import Request, Wanted, resume, sync
from components.elastic.memory import Memory
from components.elastic.model import Cloud
from tests.elastic.values import NOW, OFF, STARTING, UP, instance, node, node_set, slurm, table

SETS = 15
FEW, TIMES = 150, 4
"""Nodes, and how many times as many: an algorithm that compares each node with each other one takes 16 times the steps."""
NEARLY = 1.25
"""Sorting takes a little more than its share."""


def lines_run(run: Callable[[], object]) -> int:
    """Count the lines of Python that are executed; the same on every machine."""
    found = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal found
        found += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return found


def look_at_anything(nodes: int) -> Callable[[], object]:
    on = table(*(node_set(f"pool{number}", count=nodes // SETS, minimum=1) for number in range(SETS)))
    names = [*on.owners()]
    states = (UP, OFF, STARTING, UP | {"drain"}, UP | {"not_responding"})
    view = slurm(*(node(name, states[number % 5], base="mixed" if number % 5 == 0 else "idle") for number, name in enumerate(names)), jobs={7: names[::5]})
    has = Cloud(tuple(instance(name) for name in names[::2]))
    return lambda: sync(table=on, slurm=view, cloud=has, memory=Memory(), now=NOW)


def look_at_what_is_off(nodes: int) -> Callable[[], object]:
    on = table(node_set(count=nodes, minimum=2))
    view = slurm(also=on)
    return lambda: sync(table=on, slurm=view, cloud=Cloud(()), memory=Memory(), now=NOW)


def many_jobs_in_pools_with_a_limit(nodes: int) -> Callable[[], object]:
    on = table(*(node_set(f"pool{number}-a", count=nodes // SETS, pool_most=nodes // SETS) for number in range(SETS)))
    request = Request(tuple(Wanted((name,), number) for number, name in enumerate([*on.owners()][: nodes // 2])))
    view = slurm(also=on)
    return lambda: resume(request, table=on, slurm=view, cloud=Cloud(()), memory=Memory(), now=NOW)


def one_large_job(nodes: int) -> Callable[[], object]:
    on = table(node_set(count=nodes))
    view = slurm(also=on)
    request = Request((Wanted(tuple(f"train-{number}" for number in range(nodes // 2)), 7),))
    return lambda: resume(request, table=on, slurm=view, cloud=Cloud(()), memory=Memory(), now=NOW)


def what_slurm_says(nodes: int) -> Callable[[], object]:
    line = "NodeName=train-{} CoresPerSocket=48 Gres=gpu:h100:8 NodeAddr=10.0.0.1 State=IDLE+CLOUD+POWERED_DOWN Partitions=train Reason=x [root@1]"
    text = "\n".join(line.format(number) for number in range(nodes))
    return lambda: texts.parse_nodes(text)


@pytest.mark.parametrize("work", [look_at_anything, look_at_what_is_off, many_jobs_in_pools_with_a_limit, one_large_job, what_slurm_says])
def test_work_grows_as_the_nodes_do(work: Callable[[int], Callable[[], object]]) -> None:
    work(FEW)()  # what is kept for the next call is made
    few, many = (lines_run(work(nodes)) for nodes in (FEW, FEW * TIMES))
    assert few > FEW / SETS
    assert many <= few * TIMES * NEARLY


def test_work_that_grows_with_the_square_is_noticed() -> None:
    def pairs(nodes: int) -> Callable[[], object]:
        return lambda: [None for one in range(nodes) for other in range(nodes)]

    few, many = (lines_run(pairs(nodes)) for nodes in (FEW, FEW * TIMES))
    assert many > few * TIMES * NEARLY
