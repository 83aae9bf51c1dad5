"""What was measured on, and the processor time that a command takes of it."""

import dataclasses
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from components import this_machine
from components.local.machine import cgroup

GROUP = "clusterwright-bench"
PEAK_EVERY_S = 0.002
MICROSECONDS_PER_S = 1e6
NANOSECONDS_PER_S = 1e9


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """One run of a command."""

    argv: Sequence[str]
    wall_s: float
    cpu_s: float
    """Processor time of the command and all that it started, but for hosts, which live in groups of their own."""
    output: str

    @property
    def lines(self) -> int:
        return len(self.output.splitlines())


def described() -> dict[str, Any]:
    """Describe this machine without naming it."""
    facts = this_machine.facts()
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "unknown")
    system = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return {
        "processor": model,
        "cpus": facts.cpus,
        "memory_mib": facts.memory_mib,
        "system": system["PRETTY_NAME"].strip('"'),
        "kernel": platform.release().partition("-")[0],
        "cgroup": "version 1" if cgroup.is_version_1() else "version 2",
        "systemd": cgroup.has_systemd(),
        "load_before": os.getloadavg()[0],
    }


def measured(argv: Sequence[str], *, environment: Mapping[str, str], cwd: Path, within_s: float = 1800, statuses: Collection[int] = (0,)) -> Measured:
    """Run a command to its end in a control group of its own.

    Args:
        statuses: exit statuses of a success.
    Raises:
        RuntimeError: it failed; the text is the end of what it said.
    """
    files = cgroup.make(GROUP)
    join = "".join(f"echo $$ > {file} && " for file in files)
    before, started = group_cpu_s(GROUP), time.monotonic()
    done = subprocess.run(
        ["/bin/sh", "-c", f'{join}exec "$@"', "sh", *argv], env=dict(environment), cwd=cwd, capture_output=True, text=True, timeout=within_s, check=False
    )
    wall_s, cpu_s = time.monotonic() - started, group_cpu_s(GROUP) - before
    cgroup.remove(GROUP)
    if done.returncode not in statuses:
        raise RuntimeError(f"{' '.join(argv)} ended with status {done.returncode}: {(done.stdout + done.stderr)[-3000:]}")
    return Measured(argv=argv, wall_s=round(wall_s, 2), cpu_s=round(cpu_s, 2), output=done.stdout)


def cold_process(argv: Sequence[str], *, environment: Mapping[str, str], cwd: Path, runs: int = 5) -> tuple[float, float]:
    """Run a command several times, each a process of its own, and give the median of its seconds and of its peak memory in MiB.

    The kernel keeps a program's peak (VmHWM, proc(5)) as long as the process is there, so it is read again and again until the end.

    Raises:
        RuntimeError: it failed; the text is the end of what it said.
    """
    seconds, peaks = [], []
    for _ in range(runs):
        started = time.monotonic()
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(argv, env=dict(environment), cwd=cwd, stdout=said, stderr=subprocess.STDOUT)
            peak_kib = 0
            while process.poll() is None:
                peak_kib = max(peak_kib, _peak_kib(process.pid))
                time.sleep(PEAK_EVERY_S)
            seconds.append(time.monotonic() - started)
            said.seek(0)
            if process.returncode:
                raise RuntimeError(f"{' '.join(argv)} ended with status {process.returncode}: {said.read()[-3000:]}")
        peaks.append(peak_kib / 1024)
    return round(statistics.median(seconds), 2), round(statistics.median(peaks), 1)


def _peak_kib(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def group_cpu_s(group: str) -> float:
    """Give the processor time that a control group has taken so far; 0 where there is none."""
    files = cgroup.CGROUP_ROOT / ("cpuacct" if cgroup.is_version_1() else "") / group
    if not files.is_dir():
        return 0.0
    if cgroup.is_version_1():
        return int((files / "cpuacct.usage").read_text()) / NANOSECONDS_PER_S
    usage = dict(line.split() for line in (files / "cpu.stat").read_text().splitlines())
    return int(usage["usage_usec"]) / MICROSECONDS_PER_S


def proportional_memory_mib(pids: Sequence[int]) -> float:
    """Add up the processes' proportional set sizes (proc(5), smaps_rollup), in MiB."""
    total_kib = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total_kib += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return round(total_kib / 1024, 1)
