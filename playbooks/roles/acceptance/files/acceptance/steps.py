"""Runs inside one allocation: start the job steps and print what came out of each as one JSON line."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import collectives, expectation, judge_diagnostics

STEP_BASE_S = 60.0
STEP_PER_NODE_S = 1.0
SPARE_S = 90.0
"""So much longer may the steps of one job take all together: slurmstepd that can't tell slurmctld that a step is over (a busy or restarting controller)
tries again after 60 s, and srun asks at most every 29 s whether the next step may start (seen with Slurm 22.05: "step creation temporarily disabled")."""
ENDING_S = 5.0
FIRST_PORT = 20000
PORTS = 20000
ALL_REDUCE_BYTES = 8 << 20
ALL_REDUCE_ITERATIONS = 5
STORAGE_BYTES = 64 << 20
"""Each node writes so much to a file system whose rate is judged, or as much as it can in the time."""
STORAGE_TOTAL, STORAGE_LEAST = 16 << 30, 4 << 20
"""All nodes together write no more, but each node so much at least, which is enough to compare."""
STORAGE_FILES = 100
STORAGE_LIMIT_S = 10.0
SIMULATED_DCGMI = "simulated_dcgmi.py"


def main() -> None:
    task: dict[str, Any] = json.loads(sys.argv[1])
    given: dict[str, Any] = json.load(sys.stdin)
    rails: dict[str, Any] = given["rails"]
    nodes: list[str] = task["nodes"]
    gpus = int(task["gpus"])
    view = {name: task.get(name) for name in ("user", "users", "folders")}
    job = os.environ["SLURM_JOB_ID"]
    deadline_s = STEP_BASE_S + STEP_PER_NODE_S * len(nodes)
    per_node = ["--ntasks-per-node=1", f"--nodes={len(nodes)}"]
    meeting = {
        **view,
        "meet": True,
        "nodes": nodes,
        # Two jobs of one host must not meet at the same door.
        "port": FIRST_PORT + int(job) % PORTS,
        "deadline_s": deadline_s / 2,
    }
    outcomes: dict[str, Any] = {"job": job}
    steps = Steps()
    all_gpus = [f"--gpus-per-node={gpus}"] if gpus else []
    node_set = expectation.from_record(given["node_set"])
    asked = {**meeting, "environment": [*node_set.environment]}
    outcomes["whole"] = steps.run([*per_node, *all_gpus, "--distribution=block"], "probe.py", asked, deadline_s)
    share = ["--gpus-per-node=1"] if gpus else []
    outcomes["share"] = steps.run([*per_node, *share, "--exact", "--cpus-per-task=1"], "probe.py", {"user": view["user"]}, deadline_s)
    reduction = {"bytes": ALL_REDUCE_BYTES, "iterations": ALL_REDUCE_ITERATIONS}
    outcomes["allreduce"] = steps.run([*per_node, "--mpi=pmix"], "allreduce.py", reduction, deadline_s)
    outcomes["rails"] = steps.run([*per_node, "--input=all"], "rails.py", {}, deadline_s, given=json.dumps(rails)) if rails else {"lines": [], "error": ""}
    outcomes["storage"] = _storage(steps, per_node, {**view, "job": job, "nodes": nodes}, task.get("storage") or {}, deadline_s)
    outcomes["diagnostics"] = _diagnostics(steps, per_node, node_set, deadline_s)
    outcomes["collectives"] = collectives.as_record(collectives.measure(node_set, nodes) if node_set.collectives else collectives.Measured())
    print(json.dumps(outcomes), flush=True)


def _storage(steps: "Steps", options: Sequence[str], task: dict[str, Any], places: Mapping[str, bool], deadline_s: float) -> list[dict[str, Any]]:
    """Let every node write, then read what the next one wrote; give the outcomes of both steps.

    Args:
        places: mount point → whether its rate is judged.
    """
    if not places:
        return [{"lines": [], "error": ""}] * 2
    judged = max(STORAGE_LEAST, min(STORAGE_BYTES, STORAGE_TOTAL // len(task["nodes"])))
    limits = {"files": STORAGE_FILES, "limit_s": STORAGE_LIMIT_S, "homes": expectation.HOMES}
    asked = {
        **{name: task[name] for name in ("user", "job", "nodes")},
        **limits,
        "places": {place: judged if is_judged else STORAGE_LEAST for place, is_judged in places.items()},
    }
    # Each phase of each file system has a limit of its own; a server that hangs is left to the step's.
    step_s = deadline_s + 2 * STORAGE_LIMIT_S * len(places)
    try:
        return [steps.run(options, "storage_probe.py", {**asked, "phase": phase}, step_s) for phase in ("write", "read")]
    finally:
        steps.run(options, "storage_probe.py", {**asked, "phase": "clear"}, deadline_s)


def _diagnostics(steps: "Steps", options: Sequence[str], node_set: expectation.NodeSet, deadline_s: float) -> dict[str, Any]:
    """Let DCGM test the GPUs of every node, which nothing else uses meanwhile."""
    if not node_set.diagnostics:
        return {"lines": [], "error": ""}
    limit_s = judge_diagnostics.LIMIT_S[node_set.diagnostics]
    simulated = (pathlib.Path(__file__).parent / SIMULATED_DCGMI).read_text(encoding="utf-8") if node_set.simulated else ""
    return steps.run(options, "dcgm.py", {"level": node_set.diagnostics, "limit_s": limit_s, "simulated": simulated}, deadline_s + limit_s)


@dataclass
class Steps:
    """The steps of one job, one after another.

    Attributes:
        spare_s: how much longer than their own limits they may still take, seconds.
    """

    spare_s: float = SPARE_S

    def run(self, options: Sequence[str], program: str, task: dict[str, Any], deadline_s: float, *, given: str = "") -> dict[str, Any]:
        """Run one step; give the JSON lines its processes printed and why there may be fewer than processes.

        Args:
            given: what every process reads on its standard input.
        """
        text = (pathlib.Path(__file__).parent / program).read_text(encoding="utf-8")
        limit_s = deadline_s + self.spare_s
        # A node that lost its daemon would hold the step for minutes. Slurm counts the limits of steps in whole minutes, so that this process ends most of them.
        command = ["srun", "--kill-on-bad-exit=0", f"--time=0:{int(limit_s)}", *options, "python3", "-c", text, json.dumps(task)]
        begin = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            printed, said = process.communicate(given, timeout=limit_s)
            error = "" if process.returncode == 0 else _last_words(said) or f"exit status {process.returncode}"
            self.spare_s = min(self.spare_s, max(limit_s - (time.monotonic() - begin), 0.0))
        except subprocess.TimeoutExpired:
            printed, said = _end(process)
            error = "; ".join(filter(None, [f"the step was not over after {int(limit_s)} s", _last_words(said)]))
            self.spare_s = 0.0
        return {"lines": json_lines(printed), "error": error}


def _end(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """End srun, which takes its step with it; give what it printed and said."""
    process.terminate()
    try:
        return process.communicate(timeout=ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def json_lines(text: str) -> list[Any]:
    """Read the documents in the lines of all tasks; one that came in pieces (`@RANK NUMBER OF TEXT`) is put together, one with a piece missing is left out."""
    whole: list[str] = []
    parts: dict[str, dict[int, str]] = {}
    for line in text.splitlines():
        piece = re.fullmatch(r"@(\d+) (\d+) (\d+) (.*)", line)
        if piece is None:
            whole.append(line)
            continue
        rank, number, count, content = piece.groups()
        known = parts.setdefault(rank, {})
        known[int(number)] = content
        if len(known) == int(count):
            whole.append("".join(known[place] for place in sorted(known)))
    found = []
    for document in whole:
        try:
            found.append(json.loads(document))
        except ValueError:
            continue
    return found


def _last_words(stderr: str) -> str:
    return "; ".join([line.removeprefix("srun: ") for line in stderr.splitlines() if line.strip()][-4:])


if __name__ == "__main__":
    main()
