"""Processors, memory, GPUs and interfaces, as the kernel reports them."""

import glob
import json
import os
from typing import Any

from . import asking


def gpus() -> dict[str, Any]:
    """Give the GPU device nodes, and what a driver says that there are; None without a driver."""
    devices = sorted(
        (path for path in glob.glob("/dev/nvidia[0-9]*") if path[len("/dev/nvidia") :].isdigit()), key=lambda path: int(path[len("/dev/nvidia") :])
    )
    nodes = []
    for path in devices:
        status = os.stat(path)
        nodes.append({"path": path, "mode": f"{status.st_mode & 0o777:04o}", "major": os.major(status.st_rdev), "minor": os.minor(status.st_rdev)})
    known = os.path.isdir("/proc/driver/nvidia/gpus")
    return {"devices": nodes, "driver_count": len(os.listdir("/proc/driver/nvidia/gpus")) if known else None, **_divided()}


def _divided() -> dict[str, Any]:
    """Give how the host says that its GPUs are divided (role mig), and how many MIG instances there are; nothing where they are whole."""
    made = [path for path in glob.glob("/dev/clusterwright-mig/*-compute") if os.path.exists(path)]
    kernel = glob.glob("/proc/driver/nvidia/capabilities/gpu*/mig/gi*/ci*")
    try:
        with open("/var/lib/clusterwright/mig.json") as file:
            record = dict(json.load(file))
    except (OSError, ValueError):
        record = {}
    if not (record or made or kernel):
        return {}
    count = len(made) if record.get("simulated") else len(kernel)
    return {"mig": {"layout": record.get("layout", {}), "refused": record.get("refused", ""), "instances": count}}


def nics() -> dict[str, dict[str, str]]:
    """Give network and RDMA interfaces with state and rate, as the kernel says them."""
    found = {}
    for path in sorted(glob.glob("/sys/class/net/*")):
        name = os.path.basename(path)
        if name != "lo":
            found[name] = {"kind": "net", "state": asking.first(f"{path}/operstate"), "rate_mbps": asking.first(f"{path}/speed")}
    for path in sorted(glob.glob("/sys/class/infiniband/*/ports/*")):
        words = path.split("/")
        found[f"{words[4]}:{words[6]}"] = {"kind": "rdma", "state": asking.first(f"{path}/state"), "rate": asking.first(f"{path}/rate")}
    return found


def processors_and_memory() -> dict[str, int]:
    memory = dict(line.split(":", 1) for line in asking.lines("/proc/meminfo") if ":" in line)
    return {"cpus": os.cpu_count() or 0, "memory_mib": int(memory["MemTotal"].split()[0]) // 1024 if "MemTotal" in memory else 0}
