"""Runs on every node under MPI: sum one array over all processes, check each value, time it. The first process prints one JSON line.

Sent to the nodes as text (`python3 -c`), so that nothing but Open MPI and mpi4py needs to be installed there.
"""

import array
import json
import sys
import time

from mpi4py import MPI

PATTERN = 7
"""Neighbouring elements differ, so that a shifted or repeated block shows."""


def main() -> None:
    task = json.loads(sys.argv[1])
    world = MPI.COMM_WORLD
    elements = task["bytes"] // 8
    mine = array.array("d", [float((world.rank + 1) * (place % PATTERN + 1)) for place in range(PATTERN)])
    total = world.size * (world.size + 1) // 2
    correct = array.array("d", [float(total * (place % PATTERN + 1)) for place in range(PATTERN)])
    send = _repeat(mine, elements)
    wanted = _repeat(correct, elements)
    receive = array.array("d", bytes(8 * elements))
    world.Allreduce([send, MPI.DOUBLE], [receive, MPI.DOUBLE])
    wrong = 0 if receive == wanted else sum(1 for got, want in zip(receive, wanted, strict=True) if got != want)
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(task["iterations"]):
        world.Allreduce([send, MPI.DOUBLE], [receive, MPI.DOUBLE])
    seconds = (time.perf_counter() - begin) / task["iterations"]
    slowest = world.reduce(seconds, op=MPI.MAX)
    wrong_everywhere = world.reduce(wrong, op=MPI.SUM)
    names = world.gather(MPI.Get_processor_name())
    if world.rank == 0:
        library = MPI.Get_library_version().split(",")[0]
        print(
            json.dumps(
                {
                    "processes": world.size,
                    "nodes": sorted(set(names or [])),
                    "bytes": 8 * elements,
                    "seconds": slowest,
                    "wrong_values": wrong_everywhere,
                    "library": library,
                }
            ),
            flush=True,
        )


def _repeat(pattern: "array.array[float]", elements: int) -> "array.array[float]":
    return (pattern * (elements // PATTERN + 1))[:elements]


if __name__ == "__main__":
    main()
