"""A small training job with data parallelism, and whether it learned what one process would have learned. Runs in pods: nothing of this project is there.

Every node starts one process for each of its GPUs; they share what they learn by gloo. What the Trainer sets says who is who (PET_*). The last words go into the pod's termination message, as JSON.
"""

import json
import os
import socket
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path

import torch  # type: ignore[import-not-found]
import torch._dynamo  # type: ignore[import-not-found]  # DistributedDataParallel imports it: seconds of each process, if not once here
import torch.distributed as dist  # type: ignore[import-not-found]
from torch.nn.parallel import DistributedDataParallel  # type: ignore[import-not-found]

MESSAGE = "/dev/termination-log"
TOGETHER_WITHIN = timedelta(seconds=240)
"""The nodes' images arrive at different times."""
ROWS, FEATURES, STEPS, RATE = 4, 16, 5, 0.1
CLOSE = 1e-5
"""Sums of single precision in another order."""


def main() -> int:
    nodes, per_node, node = (int(os.environ[name]) for name in ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK"))
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    children = []
    for local in range(per_node):  # they share what is imported
        child = os.fork()
        if child == 0:
            os._exit(_guarded(node * per_node + local, nodes * per_node, is_first=local == 0))
        children.append(child)
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return max(map(abs, ended))


def _guarded(rank: int, world: int, *, is_first: bool) -> int:
    try:
        found = train(rank, world)
    except BaseException:
        print(traceback.format_exc(), file=sys.stderr, flush=True)
        _say({"error": f"rank {rank}: {traceback.format_exc().strip().splitlines()[-1]}"})
        return 1
    if is_first:
        _say({**found, "gpus": len([one for one in os.environ.get("NVIDIA_VISIBLE_DEVICES", "").split(",") if one])})
    return 0


def _say(found: dict[str, object]) -> None:
    Path(MESSAGE).write_text(json.dumps(found))


def train(rank: int, world: int) -> dict[str, object]:
    """Train with the other processes, and alone; give how far apart the results are, of all processes."""
    address, port = os.environ["PET_MASTER_ADDR"], int(os.environ["PET_MASTER_PORT"])
    _await_name(address)
    store = dist.TCPStore(address, port, world, is_master=rank == 0, timeout=TOGETHER_WITHIN, use_libuv=False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=TOGETHER_WITHIN)
    total = torch.tensor([rank + 1], dtype=torch.int64)
    dist.all_reduce(total)
    inputs, targets = _examples(world)
    together = _learn(DistributedDataParallel(_model()), inputs[rank::world], targets[rank::world])
    alone = _learn(_model(), inputs, targets)
    difference = torch.stack([(one - other).abs().max() for one, other in zip(together, alone, strict=True)]).max()
    dist.all_reduce(difference, op=dist.ReduceOp.MAX)
    dist.barrier()
    dist.destroy_process_group()
    return {"ranks": world, "sum": int(total), "sum_wanted": world * (world + 1) // 2, "difference": float(difference), "close": bool(difference < CLOSE)}


def _await_name(name: str) -> None:
    deadline = time.monotonic() + TOGETHER_WITHIN.total_seconds()
    while True:
        try:
            socket.getaddrinfo(name, None)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, FEATURES), torch.nn.Tanh(), torch.nn.Linear(FEATURES, 1))


def _examples(world: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Give the examples of all processes; each learns from its own."""
    chosen = torch.Generator().manual_seed(1)
    inputs = torch.randn(world * ROWS, FEATURES, generator=chosen)
    return inputs, inputs.sum(dim=1, keepdim=True).sin()


def _learn(model: torch.nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    return [one.detach() for one in model.parameters()]


if __name__ == "__main__":
    sys.exit(main())
