"""Thousands of nodes: one decision is quick."""

import time
from collections.abc import Callable

from components.elastic import slurm as texts
from components.elastic.decide import Request, Wanted, resume, sync
from components.elastic.memory import Memory
from components.elastic.model import Cloud
from tests.elastic.values import NOW, OFF, STARTING, UP, instance, node, node_set, slurm, table

NODES = 7500
WITHIN_S = 1.0
RUNS = 3


def seconds_of_cpu(run: Callable[[], object]) -> float:
    """Give the least of several runs, of this thread alone: what else a machine does makes each run take longer, and none shorter."""
    taken = []
    for _ in range(RUNS):
        begin = time.thread_time()
        run()
        taken.append(time.thread_time() - begin)
    return min(taken)


def test_one_look_at_7500_nodes_of_which_anything_may_be_true() -> None:
    on = table(*(node_set(f"pool{number}", count=500, minimum=10) for number in range(15)))
    names = [*on.owners()]
    states = (UP, OFF, STARTING, UP | {"drain"}, UP | {"not_responding"})
    view = slurm(*(node(name, states[number % 5], base="mixed" if number % 5 == 0 else "idle") for number, name in enumerate(names)), jobs={7: names[::5]})
    has = Cloud(tuple(instance(name) for name in names[::2]))
    assert seconds_of_cpu(lambda: sync(table=on, slurm=view, cloud=has, memory=Memory(), now=NOW)) <= WITHIN_S


def test_one_look_at_one_node_set_of_7500_that_are_off() -> None:
    on = table(node_set(count=NODES, minimum=2))
    assert seconds_of_cpu(lambda: sync(table=on, slurm=slurm(also=on), cloud=Cloud(()), memory=Memory(), now=NOW)) <= WITHIN_S


def test_500_jobs_of_one_node_each_in_pools_with_a_limit_of_their_own() -> None:
    on = table(*(node_set(f"pool{number}-a", count=500, pool_most=400) for number in range(15)))
    request = Request(tuple(Wanted((name,), number) for number, name in enumerate([*on.owners()][:500])))
    assert seconds_of_cpu(lambda: resume(request, table=on, slurm=slurm(also=on), cloud=Cloud(()), memory=Memory(), now=NOW)) <= WITHIN_S


def test_one_job_of_500_nodes_among_7500() -> None:
    on = table(node_set(count=NODES))
    view = slurm(also=on)
    request = Request((Wanted(tuple(f"train-{number}" for number in range(500)), 7),))
    assert seconds_of_cpu(lambda: resume(request, table=on, slurm=view, cloud=Cloud(()), memory=Memory(), now=NOW)) <= WITHIN_S


def test_what_slurm_says_of_7500_nodes_is_read() -> None:
    line = "NodeName=train-{} CoresPerSocket=48 Gres=gpu:h100:8 NodeAddr=10.0.0.1 State=IDLE+CLOUD+POWERED_DOWN Partitions=train Reason=x [root@1]"
    text = "\n".join(line.format(number) for number in range(NODES))
    assert seconds_of_cpu(lambda: texts.parse_nodes(text)) <= WITHIN_S
