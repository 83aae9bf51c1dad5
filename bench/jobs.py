"""What the programs around a job add to it, by real Slurm on hosts of this machine: the same job with them and without, in turn."""

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.hosts.deployment import Deployment, deployment, wait_until
from tests.hosts.test_job_environment import ENVIRONMENT, configured

from . import machine
from .bars import bar

NODES, JOBS, TURNS = 2, 10, 3
GIVEN = next(iter(ENVIRONMENT))
"""A variable that TaskProlog gives to jobs."""
SETTLED_WITHIN_S = 60
MILLISECONDS_PER_S = 1000
PROGRAMS = "Prolog|TaskProlog|Epilog|HealthCheckProgram"
CONF, KEPT = "/etc/slurm/slurm.conf", "/etc/slurm/slurm.conf.bench"
SEEN = "/run/slurm/conf/slurm.conf"
"""Where slurmd keeps what the controller gave it."""
JOB = f"srun --quiet --exclusive --nodes={NODES} --ntasks-per-node=1"
ALONE = f"""
for number in $(seq {JOBS}); do
    until [ "$(sinfo --noheader --format=%T | sort -u)" = idle ]; do sleep 0.05; done
    before=$(date +%s%N); {JOB} true; after=$(date +%s%N); echo $(((after - before) / 1000000))
done"""
"""Milliseconds of jobs that find their nodes idle."""
IN_TURN = f"for number in $(seq {JOBS}); do {JOB} date +%s%N | sort | head -n 1; done"
"""When jobs began of which each takes the nodes of the one before."""


def jobs(home: Path) -> Iterator[dict[str, Any]]:
    """A job over two nodes with all programs of a fabric's pool, and the same one without any."""
    with deployment("bench", home) as stack:
        stack.up()
        configured(stack, ENVIRONMENT)
        alone: dict[bool, list[float]] = {True: [], False: []}
        in_turn: dict[bool, list[float]] = {True: [], False: []}
        _measure(stack)  # the first jobs find nothing in memory
        for _ in range(TURNS):
            for is_on in (True, False):
                _switch(stack, is_on=is_on)
                seconds, apart = _measure(stack)
                alone[is_on] += seconds
                in_turn[is_on] += apart
        how = f"{JOB}, median of {TURNS * JOBS} each, with and without TaskProlog, Epilog and HealthCheckProgram in slurm.conf"
        yield bar("what the programs before a job add to it, healthy node", _added(alone), 0.3, "s", how)
        yield bar(
            "what the check after a job adds until the next one begins, healthy node", _added(in_turn), 0.3, "s", f"{how}; from one job's task to the next's"
        )
        stack.down()


def _switch(stack: Deployment, *, is_on: bool) -> None:
    """Let Slurm run the programs, or none."""
    keep = f"[ -e {KEPT} ] || cp -p {CONF} {KEPT}"
    write = f"cp -p {KEPT} {CONF}" if is_on else f"grep -vE '^({PROGRAMS})=' {KEPT} >{CONF}"
    stack.inside("control-0", "/bin/sh", "-c", f"{keep}; {write}; scontrol reconfigure")

    def is_done() -> bool:
        return ("Epilog=" in stack.inside("train-0", "cat", SEEN)) is is_on

    wait_until(is_done, awaiting="slurmd to have the configuration", within_s=SETTLED_WITHIN_S)
    stack.wait_for_idle(NODES)
    if (GIVEN in stack.ssh(f"{JOB} env")) is not is_on:
        raise RuntimeError(f"jobs {'lack' if is_on else 'have'} what TaskProlog gives")
    stack.wait_for_idle(NODES)


def _measure(stack: Deployment) -> tuple[list[float], list[float]]:
    """Give the seconds of jobs on idle nodes, and those between the beginnings of jobs that follow each other."""
    alone = [int(line) / MILLISECONDS_PER_S for line in stack.ssh(ALONE).split()]
    began = [int(line) / machine.NANOSECONDS_PER_S for line in stack.ssh(IN_TURN).split()]
    stack.wait_for_idle(NODES)
    return alone, [after - before for before, after in itertools.pairwise(began)]


def _added(found: dict[bool, list[float]]) -> float:
    return round(statistics.median(found[True]) - statistics.median(found[False]), 3)
