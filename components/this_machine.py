"""What resolving a blueprint needs to know of this machine, on which the hosts of a rehearsal run."""

from pathlib import Path

from blueprints.facts import Facts

from . import registry

PROCESSORS = Path("/sys/devices/system/cpu")


def facts(stack: str = "", *, processors: Path = PROCESSORS) -> Facts:
    """Read the processor layout and memory of this machine.

    Args:
        stack: for which a blueprint is resolved; empty: for none that exists.
        processors: where the kernel describes them.
    Source: Documentation/admin-guide/cputopology.rst, proc_meminfo(5).
    """
    threads = [
        (_number(topology / "physical_package_id"), _number(topology / "core_id"))
        for topology in sorted(processors.glob("cpu[0-9]*/topology"))
        if (topology / "core_id").exists()
    ]
    sockets, cores = {socket for socket, _ in threads}, set(threads)
    memory_mib = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) // 1024
    declares_by_count = bool(stack) and registry.declares_by_count(stack)
    if not threads or len(cores) % len(sockets) or len(threads) % len(cores):
        # Cores of several kinds, or no topology at all: slurm.conf describes equal ones only.
        return Facts(sockets=1, cores_per_socket=max(len(threads), 1), threads_per_core=1, memory_mib=memory_mib, declares_by_count=declares_by_count)
    return Facts(
        sockets=len(sockets),
        cores_per_socket=len(cores) // len(sockets),
        threads_per_core=len(threads) // len(cores),
        memory_mib=memory_mib,
        declares_by_count=declares_by_count,
    )


def _number(file: Path) -> int:
    return int(file.read_text())
