"""The job of the acceptance: submitted by Slurm's administrator with a quality of service of its own, so that no user's limit holds it and it takes no user's place."""

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, BinaryIO

from . import judge_diagnostics, slurm
from .expectation import NodeSet

JOB_NAME = "clusterwright-acceptance"
ACCOUNT = QOS = "clusterwright-acceptance"
"""Created by the role `accounting`. The QOS has no priority and preempts nothing; partitions that allow some accounts allow this one, too."""
USER = "root"
"""Slurm's own administrator, which every cluster has (sacctmgr(1))."""
GRANT_DEADLINE_S = 20.0
JOB_LIMIT_MIN = 10
"""The job ends by itself even if this program and its host go away. What a diagnostic may take comes on top."""
ENDING_S = 5.0
POLL_S = 0.25
STDERR_LINES = 4
INVALID_QOS = "Invalid qos"
UNABLE_TO_ACCEPT = "temporarily unable to accept"
"""What salloc says while the queue is full (slurm.conf(5), MaxJobCount), and tries again."""
BUSY_REASONS = ("None", "Priority", "Resources", "ReqNodeNotAvail", "Reserv", "BeginTime", "Cleaning", "NodeDown", "QueueFull")
"""Slurm's reasons (squeue(1), JOB REASON CODES) that pass by themselves: other jobs and reservations."""


class NotStarted(Exception):
    """Slurm did not start the job; the text is Slurm's reason."""

    @property
    def is_busy(self) -> bool:
        """Whether the reason passes by itself."""
        return str(self).startswith(BUSY_REASONS)


def run(node_set: NodeSet, nodes: Sequence[str], task: dict[str, Any], *, reservation: str = "") -> dict[str, Any]:
    """Run the steps on the nodes in one job.

    Args:
        task: what the steps are asked, beside the nodes.
        reservation: of the maintenance window in which the job runs; empty: no window is open.
    Raises:
        NotStarted: Slurm refused the job, or did not start it in time.
        Unanswered: the job ended without a result.
    """
    inside = [f"--reservation={reservation}"] if reservation else []
    try:
        return _run(node_set, nodes, task, options=[f"--qos={QOS}", *inside])
    except NotStarted as refused:
        if INVALID_QOS not in str(refused):
            raise
        return _run(node_set, nodes, task, options=inside)  # somebody deleted it; the role creates it again


def _run(node_set: NodeSet, nodes: Sequence[str], task: dict[str, Any], *, options: Sequence[str]) -> dict[str, Any]:
    gpus = [f"--gpus-per-node={node_set.gpu_count}"] if node_set.gpu_count else []
    minutes = limit_min(node_set)
    command = [
        *("salloc", f"--job-name={JOB_NAME}", f"--account={ACCOUNT}", *options, f"--partition={node_set.partition}", "--exclusive"),
        *(f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}", *gpus, f"--time={minutes}"),
        *(sys.executable, "-m", "acceptance.steps", json.dumps({**task, "nodes": [*nodes], "gpus": node_set.gpu_count})),
    ]
    # Files in memory: nothing blocks on a full pipe, and a full disk of this host changes nothing.
    with _memory("given") as given, _memory("printed") as printed, _memory("said") as said:
        # Beside the command, whose arguments the kernel limits (execve(2), MAX_ARG_STRLEN).
        given.write(json.dumps({"rails": rails_of(node_set, nodes), "node_set": dataclasses.asdict(node_set)}).encode())
        given.seek(0)
        process = subprocess.Popen(
            command, stdin=given, stdout=printed, stderr=said, cwd="/", env=_environment(), start_new_session=True
        )  # fmt: skip
        try:
            _wait_for_grant(process, said)
            process.wait(timeout=60 * minutes)
        except subprocess.TimeoutExpired:
            raise slurm.Unanswered(f"the job was not over after {minutes} min") from None
        finally:
            _end(process)
        for line in reversed(_text(printed).splitlines()):
            with contextlib.suppress(ValueError):
                return dict(json.loads(line))
        words = _last_words(said)
        if not _job(said):
            raise NotStarted(words or f"salloc ended with status {process.returncode} and said nothing")
        raise slurm.Unanswered(words or f"salloc ended with status {process.returncode} and said nothing")


def limit_min(node_set: NodeSet) -> int:
    """Give the minutes after which the job of a node set ends by itself."""
    return JOB_LIMIT_MIN + judge_diagnostics.LIMIT_S.get(node_set.diagnostics, 0) // 60


def rails_of(node_set: NodeSet, nodes: Sequence[str]) -> dict[str, Any]:
    """Give each node its rails, and the node whose rails it tries to reach: the next one in a ring, so that each rail of each node sends and answers once."""
    ring = [name for name in nodes if name in node_set.rails]
    following = dict(zip(ring, [*ring[1:], *ring[:1]], strict=True)) if len(ring) > 1 else {}
    return {name: {"rails": [dataclasses.asdict(rail) for rail in node_set.rails[name]], "next": following.get(name, "")} for name in ring}


def _wait_for_grant(process: subprocess.Popen[bytes], said: BinaryIO) -> None:
    """Wait until the job starts.

    Raises:
        NotStarted: it waits for longer than GRANT_DEADLINE_S; with the queue's reason.
    """
    deadline = time.monotonic() + GRANT_DEADLINE_S
    while process.poll() is None and "Granted job allocation" not in _text(said):
        if time.monotonic() > deadline:
            job = _job(said)
            raise NotStarted(slurm.pending_reason(job) if job else _unqueued(said))
        time.sleep(POLL_S)


def _unqueued(said: BinaryIO) -> str:
    words = _last_words(said)
    return f"QueueFull: {words}" if UNABLE_TO_ACCEPT in words else words or "salloc got no answer"


def _job(said: BinaryIO) -> str:
    """Give the job's number once salloc knows it."""
    found = re.search(r"job allocation (\d+)", _text(said))
    return found.group(1) if found else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the job too: salloc gives the allocation back on SIGTERM."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=ENDING_S)


def _memory(name: str) -> BinaryIO:
    return os.fdopen(os.memfd_create(name), "r+b")


def _text(memory: BinaryIO) -> str:
    # The other process writes through the same open file: reading must not move its place.
    return os.pread(memory.fileno(), os.fstat(memory.fileno()).st_size, 0).decode(errors="replace")


def _last_words(said: BinaryIO) -> str:
    lines = [line.removeprefix("salloc: ").removeprefix("error: ") for line in _text(said).splitlines() if line.strip()]
    return "; ".join(lines[-STDERR_LINES:])


def _environment() -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/root",
        "USER": USER,
        "LOGNAME": USER,
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
