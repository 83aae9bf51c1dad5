"""Runs inside one allocation: nccl-tests over all nodes, inside each node, and, where a rate is short, over parts of the nodes until the slow one is found."""

import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from . import isolation, judge_collectives, nccl_tests
from .expectation import Collective, NodeSet
from .judge_collectives import Run

PROGRAMS = ("/usr/lib/clusterwright/nccl-tests", "/opt/nccl-tests/build", "/usr/local/bin")
"""Where images have nccl-tests. The first that holds the program is taken."""
LIMIT_S = 300
WARMUPS, ITERATIONS = 5, 20
TOGETHER = 16
"""Nodes that are measured one by one at the same time: the traffic stays inside each."""
PRINTED_LINES = 4
ABSENT = 127
"""The shell's status for a program that is not there (POSIX, Shell Command Language, Exit Status for Commands)."""
SIMULATED = "simulated_nccl_tests.py"
OPT_OUT = "CLUSTERWRIGHT_FABRIC"
"""A job that sets it to `none` gets no variables of the fabric (role job_environment)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """What the runs gave; `absent` when the nodes have no program."""

    runs: tuple[Run, ...] = ()
    found: isolation.Found | None = None
    absent: bool = False


def measure(node_set: NodeSet, nodes: Sequence[str]) -> Measured:
    """Run the collectives for which something is expected."""
    inside = judge_collectives.wanted(node_set, 1)
    try:
        alone = tuple(_each(node_set, nodes, inside)) if inside else ()
        over_all = judge_collectives.wanted(node_set, len(nodes)) if len(nodes) > 1 else None
        if over_all is None:
            return Measured(alone)
        whole = run(node_set, nodes, over_all)
        found = None
        if len(nodes) > isolation.PAIR and judge_collectives.is_short(node_set, whole):
            found = isolation.search(nodes, lambda part: _is_slow(node_set, part, over_all))
        return Measured((*alone, whole), found)
    except FileNotFoundError:
        return Measured(absent=True)


def _each(node_set: NodeSet, nodes: Sequence[str], wanted: Collective) -> list[Run]:
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        return list(pool.map(lambda name: run(node_set, [name], wanted), nodes))


def _is_slow(node_set: NodeSet, part: Sequence[str], usual: Collective) -> bool:
    return judge_collectives.is_short(node_set, run(node_set, part, judge_collectives.wanted(node_set, len(part)) or usual))


def run(node_set: NodeSet, nodes: Sequence[str], wanted: Collective) -> Run:
    """Run one collective over some of the nodes of the allocation.

    Raises:
        FileNotFoundError: the nodes have no such program.
    """
    command = [
        *("srun", "--quiet", "--overlap", "--mpi=pmix", "--kill-on-bad-exit=1", f"--time=0:{LIMIT_S}", "--input=none"),
        *(f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}", f"--ntasks-per-node={node_set.gpu_count}", f"--gpus-per-node={node_set.gpu_count}"),
        *(["--overcommit"] if node_set.cpus < node_set.gpu_count else [f"--cpus-per-task={node_set.cpus // node_set.gpu_count}"]),
        "--distribution=block:block",  # ranks of neighbouring GPUs on one socket; Slurm's own order takes the sockets in turn (srun(1))
        *_program(node_set, wanted.collective),
        *("-b", str(wanted.size_bytes), "-e", str(wanted.size_bytes), "-g", "1", "-w", str(WARMUPS), "-n", str(ITERATIONS), "-c", "1"),
    ]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=LIMIT_S + 5, env=_environment(nodes))
    except subprocess.TimeoutExpired as late:
        printed = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else ""
        return Run(tuple(nodes), wanted, nccl_tests.parse(printed), f"it was not over after {LIMIT_S} s")
    if ended.returncode == ABSENT:
        raise FileNotFoundError(_last(ended.stderr))
    output = nccl_tests.parse(f"{ended.stdout}\n{ended.stderr}")
    return Run(tuple(nodes), wanted, output, "" if ended.returncode == 0 else _last(ended.stderr) or f"exit status {ended.returncode}")


def _program(node_set: NodeSet, collective: str) -> list[str]:
    name = f"{collective}_perf"
    if node_set.simulated:
        text = (pathlib.Path(__file__).parent / SIMULATED).read_text(encoding="utf-8")
        return ["python3", "-c", text, name]
    tried = " ".join(f"{folder}/{name}" for folder in PROGRAMS)
    return [
        "/bin/sh",
        "-c",
        f'for one in {tried}; do [ -x "$one" ] && exec "$one" "$@"; done; echo "no {name} in {" ".join(PROGRAMS)}" >&2; exit {ABSENT}',
        name,
    ]


def _environment(nodes: Sequence[str]) -> Mapping[str, str]:
    """Give what a job has, and NCCL's log. Slurm itself adds the fabric's variables (role job_environment), as to users' jobs; inside one node they would slow NVLink."""
    return {
        **os.environ,
        **({OPT_OUT: "none"} if len(nodes) == 1 else {}),
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV,NVLS",
    }


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and not nccl_tests.LOGGED.match(line)]
    return "; ".join(lines[-PRINTED_LINES:])


def as_record(measured: Measured) -> dict[str, Any]:
    return dataclasses.asdict(measured)


def from_record(record: Mapping[str, Any]) -> Measured:
    """Read what the job printed."""
    found = record.get("found")
    return Measured(
        runs=tuple(_run(one) for one in record["runs"]),
        found=isolation.Found(
            suspects=tuple(found["suspects"]),
            jobs=found["jobs"],
            between=(tuple(found["between"][0]), tuple(found["between"][1])) if found["between"] else None,
            others=tuple(tuple(one) for one in found["others"]),
        )
        if found
        else None,
        absent=record["absent"],
    )


def _run(record: Mapping[str, Any]) -> Run:
    output = record["output"]
    log = {host: nccl_tests.HostLog(**{**one, "lines": tuple(one["lines"]), "networks": tuple(one["networks"])}) for host, one in output["log"].items()}
    ranks = tuple(nccl_tests.Rank(**one) for one in output["ranks"])
    rows = tuple(nccl_tests.Row(**one) for one in output["rows"])
    return Run(
        tuple(record["nodes"]),
        Collective(**record["wanted"]),
        nccl_tests.Output(ranks, rows, output["out_of_bounds"], log, output["simulated"]),
        record["error"],
    )
