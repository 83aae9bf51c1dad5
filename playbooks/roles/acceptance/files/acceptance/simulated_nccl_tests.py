"""A stand-in for a program of nccl-tests where GPUs are simulated: the same command line, the same output, real processes under Slurm and MPI, and no GPU.

Its rates come from /etc/clusterwright/simulated-fabric.json on each node, a description of hardware that isn't there, with the faults that somebody put into it; a node without the file has none, and the
program says that it measured nothing. Sent to the nodes as text (`python3 -c`).
"""

import argparse
import json
import os
import pathlib
import socket
import sys

from mpi4py import MPI

DESCRIPTION = pathlib.Path("/etc/clusterwright/simulated-fabric.json")
MODEL = "simulated GPU"
GBS = 1e9
NO_DESCRIPTION = 3
FACTORS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n, "alltoall": lambda n: (n - 1) / n}
"""Of the algorithm's bandwidth, by the rule of nccl-tests (doc/PERFORMANCE.md there)."""


def main() -> None:
    name = sys.argv[1].removesuffix("_perf")
    options = argparse.ArgumentParser(prog=sys.argv[1])
    for flag, kind in (("-b", int), ("-e", int), ("-f", int), ("-g", int), ("-w", int), ("-n", int), ("-c", int)):
        options.add_argument(flag, type=kind, default=1)
    given = options.parse_args(sys.argv[2:])
    world, here = MPI.COMM_WORLD, socket.gethostname().partition(".")[0]
    described = json.loads(DESCRIPTION.read_text()) if DESCRIPTION.exists() else {}
    everyone = world.allgather((here, os.getpid(), int(os.environ.get("SLURM_LOCALID", "0")), described))
    nodes = {host: known for host, _, _, known in everyone}
    log(here, world.rank, described, len(nodes))
    if any(not known for known in nodes.values()):
        if world.rank == 0:
            print(f"simulated nccl-tests: no {DESCRIPTION} on {', '.join(host for host, known in nodes.items() if not known)}", file=sys.stderr)
        sys.exit(NO_DESCRIPTION)
    if any(known.get("faults", {}).get("crash") for known in nodes.values()):
        if described.get("faults", {}).get("crash"):
            print(f"{here}: Test NCCL failure common.cu:958 '{described['faults']['crash']}'", file=sys.stderr)
        sys.exit(NO_DESCRIPTION)
    if world.rank == 0:
        header(given, everyone)
        size = given.b
        wrong = sum(known.get("faults", {}).get("wrong_values", 0) for known in nodes.values())
        while size <= given.e:
            row(name, size, rate(name, size, nodes), wrong, len(everyone))
            size *= max(2, given.f)
        rates = rate(name, given.e, nodes)
        print(f"# Out of bounds values : {wrong} {'OK' if not wrong else 'FAILED'}\n# Avg bus bandwidth    : {rates:g} \n#", flush=True)


def rate(name: str, size: int, nodes: dict) -> float:
    """Give the bus bandwidth in GB/s: what the hardware would give, times the worst fault of any node."""
    first = next(iter(nodes.values()))
    of_kind = first["busbw"][name]
    fitting = [count for count in sorted(of_kind, key=int) if int(count) <= len(nodes)]
    typical = of_kind[fitting[-1]]
    full = int(first.get("full_at", size))
    share = min(1.0, 0.6 + 0.4 * size / full)
    worst = min(share_of(known, inside=len(nodes) == 1) for known in nodes.values())
    slow_path = min((known.get("faults", {}).get("path", {}).get(other, 1.0) for known in nodes.values() for other in nodes), default=1.0)
    return round(typical * share * worst * slow_path, 2)


def share_of(known: dict, *, inside: bool) -> float:
    """Give the share of its rate that a node's faults leave."""
    faults = known.get("faults", {})
    shares = [float(faults.get("throttled", 1.0)), float(faults.get("nvlink", 1.0)) if inside or "nvlink" in faults else 1.0]
    if faults.get("nvls") is False and inside:
        shares.append(0.77)
    if not inside:
        nics = int(known["nics"])
        shares.append(int(faults.get("nics", nics)) / nics)
        shares.append(float(faults.get("rail", 1.0)))
        if faults.get("socket") or os.environ.get("NCCL_IB_DISABLE") == "1" or os.environ.get("NCCL_NET") == "Socket":
            shares.append(4.0 / max(known["busbw"].get("all_reduce", {"2": 400}).get("2", 400), 4.0))
        if faults.get("direct") is False:
            shares.append(0.5)
    return min(shares)


def log(here: str, rank: int, known: dict, nodes: int) -> None:
    """Log what NCCL logs with NCCL_DEBUG=INFO, as far as the description has it."""
    if os.environ.get("NCCL_DEBUG") != "INFO" or not known:
        return
    faults, device = known.get("faults", {}), os.environ.get("SLURM_LOCALID", "0")
    socket_only = faults.get("socket") or os.environ.get("NCCL_IB_DISABLE") == "1" or os.environ.get("NCCL_NET") == "Socket"

    def say(text: str) -> None:
        print(f"{here}:{os.getpid()}:{os.getpid()} [{device}] NCCL INFO {text}", file=sys.stderr)

    for name in sorted(os.environ):
        if name.startswith("NCCL_"):
            say(f"{name} set by environment to {os.environ[name]}.")
    say(f"NVLS multicast support is {'not available' if faults.get('nvls') is False else 'available'} on dev {device}")
    given = ",".join(str(number) for number in sorted(os.sched_getaffinity(0)))
    used = "empty, ignoring" if faults.get("affinity") is False else given
    say(f"ncclTopoGetCpuAffinity: Affinity for GPU {device} is {used}. (GPU affinity = {given} ; CPU affinity = {given}).")
    if nodes == 1:
        return
    if socket_only:
        say("NET/Socket : Using [0]eth0:192.0.2.1<0>")
        say("Using network Socket")
    else:
        for line in known["log"]:
            say(
                line.replace("{nics}", str(faults.get("nics", known["nics"]))).replace(
                    "{list}", " ".join(f"[{n}]mlx5_{n}:1/RoCE" for n in range(int(faults.get("nics", known["nics"]))))
                )
            )
    suffix = "" if faults.get("direct") is False or socket_only else "/GDRDMA"
    say(f"Channel 00/0 : {rank}[{device}] -> {rank + 1}[{device}] [send] via NET/{'Socket' if socket_only else known['network']}/0{suffix}")


def header(given: argparse.Namespace, everyone: list) -> None:
    print("# simulated: no GPU computes, rates come from a description of the hardware")
    print(
        f"# nThread 1 nGpus {given.g} minBytes {given.b} maxBytes {given.e} step: {given.f}(factor) warmup iters: {given.w} iters: {given.n} agg iters: 1 validation: {given.c} graph: 0\n#\n# Using devices"
    )
    for rank, (host, pid, device, known) in enumerate(everyone):
        print(f"#  Rank {rank:2d} Group  0 Pid {pid:6d} on {host:>10s} device {device:2d} [0x{device:02x}] {known.get('model', MODEL)}")
    print("#\n#                                                              out-of-place                       in-place          ")
    print("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong")
    print("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ")


def row(name: str, size: int, busbw: float, wrong: int, ranks: int) -> None:
    algorithm = busbw / FACTORS[name](ranks) if ranks > 1 else busbw
    time_us = size / (algorithm * GBS) * 1e6 if algorithm else 0
    side = f"{time_us:8.1f}  {algorithm:6.2f}  {busbw:6.2f}  {wrong:5d}"
    print(f"{size:12d}  {size // 4:12d}     float     sum      -1  {side}  {side}")


if __name__ == "__main__":
    main()
