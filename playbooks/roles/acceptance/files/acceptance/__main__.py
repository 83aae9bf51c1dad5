"""`python3 -m acceptance <spec.json`: check the cluster, print the document. The exit status says nothing about the cluster."""

import concurrent.futures
import contextlib
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from blueprints import hostlist

from . import document, expectation, judge, slurm
from .applicant import Applicant
from .document import Check, Verdict

JOB_NAME = "clusterwright-acceptance"
POLL_S = 0.25
NODES_DEADLINE_S = 60.0
NODES_DEADLINE_PER_NODE_S = 0.5
BOOT_DEADLINE_S = 600.0
"""A node that the controller is starting is waited for longer: an instance with eight GPUs takes minutes to come up."""
ALLOCATION_DEADLINE_S = 15
ACCOUNTING_DEADLINE_S = 15.0
JOB_LIMIT_MIN = 10
"""The job ends by itself even if this program and its host go away."""
MANY_NODE_SETS = 4
MANY_CONNECTIONS = 32
CONNECT_DEADLINE_S = 3.0
SLURMD_PORT = 6818  # slurm.conf(5), SlurmdPort
STDERR_LINES = 4


def main() -> None:
    begin = time.monotonic()
    # An ending engine ends this program with SIGTERM or SIGHUP: both must still cancel the jobs.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    wanted = expectation.expect(json.load(sys.stdin))
    try:
        checks = accept(wanted)
    except slurm.Unanswered as silence:
        here = socket.gethostname()
        unknown_here = "authentication" in str(silence).lower()
        checks = [
            Check(
                name="Slurm answers",
                node=here,
                expected="an answer",
                measured="none",
                verdict=Verdict.ERROR,
                detail=str(silence),
                look_at=f"on {here} (its MUNGE key or clock differs): `cmp /etc/munge/munge.key /etc/clusterwright/secrets/munge.key`, `date`, `journalctl -u munge`"
                if unknown_here
                else "on the controller: `systemctl status slurmctld slurmdbd munge`",
            )
        ]
    print(document.render(checks, seconds=time.monotonic() - begin))


def _interrupted(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def accept(wanted: expectation.Expectation) -> list[Check]:
    on_demand = [_untried(nodes) for nodes in wanted.on_demand]
    if not wanted.node_sets:
        return on_demand or [Check(name="node state", node="none", expected="0 nodes", measured=_no_nodes(), verdict=Verdict.PASS, detail="no pool has nodes")]
    names = [name for node_set in wanted.node_sets for name in node_set.nodes]
    nodes, silent, waited_s = _settled_nodes(names)
    busy = [name for name in names if judge.is_fit(nodes.get(name)) and nodes[name].base_state != "idle"]
    holders = slurm.jobs_on(busy) if busy else {}
    seen = judge.Seen(nodes=nodes, silent=silent, holders=holders, waited_s=waited_s)
    configured = _confinement(slurm.configuration())
    # Where somebody's limits could keep one job from starting beside another, they run one after the other.
    is_limited = any(one.applicant is not None and one.applicant.is_limited for one in wanted.node_sets)
    with concurrent.futures.ThreadPoolExecutor(1 if is_limited else MANY_NODE_SETS) as pool:
        results = pool.map(lambda one: _node_set(one, seen, configured), wanted.node_sets)
        return [check for checks in results for check in checks] + on_demand


def _untried(nodes: str) -> Check:
    slurm.nodes()
    return Check(
        name="nodes on demand",
        node=nodes,
        expected="start when a job wants them",
        measured="not tried",
        verdict=Verdict.REPORTED,
        detail="none of them always runs, and a trial would cost what a job costs",
    )


def _no_nodes() -> str:
    slurm.nodes()
    return "0 nodes"


def _settled_nodes(names: list[str]) -> tuple[dict[str, slurm.Node], frozenset[str], float]:
    """Wait until every node serves or is out of service for good; give the nodes, those whose daemon is silent, and how long it took.

    For a while the controller takes a node for idle whose host has just died or restarted: only the node itself knows.
    """
    deadline_s = NODES_DEADLINE_S + NODES_DEADLINE_PER_NODE_S * len(names)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(MANY_CONNECTIONS) as pool:
        while True:
            nodes = slurm.nodes()
            fit = [name for name in names if judge.is_fit(nodes.get(name))]
            silent = frozenset(name for name, answers in zip(fit, pool.map(_answers, fit), strict=True) if not answers)
            waited_s = time.monotonic() - begin
            is_starting = any(nodes[name].flags & judge.POWER_FLAGS for name in names if name in nodes)
            is_late = waited_s > (BOOT_DEADLINE_S if is_starting else deadline_s)
            if (not silent and all(judge.is_settled(nodes.get(name)) for name in names)) or is_late:
                return nodes, silent, waited_s
            time.sleep(POLL_S)


def _answers(name: str) -> bool:
    try:
        socket.create_connection((name, SLURMD_PORT), timeout=CONNECT_DEADLINE_S).close()
    except OSError:
        return False
    return True


def _confinement(configuration: dict[str, str]) -> tuple[bool, bool]:
    """Say whether Slurm is told to confine devices, and cores."""
    return configuration.get("ConstrainDevices") == "yes", configuration.get("ConstrainCores") == "yes"


def _node_set(
    node_set: expectation.NodeSet,
    seen: judge.Seen,
    configured: tuple[bool, bool],
) -> list[Check]:
    checks = judge.node_states(node_set, seen)
    checks += judge.gres(node_set, seen.nodes)
    tested = [name for name in node_set.nodes if seen.is_free(name)]
    applicant = node_set.applicant
    if not tested:
        return checks
    if applicant is None:
        return [*checks, _not_run(tested, "not tried", Verdict.REPORTED, "no user may have all of these nodes in one job: the blueprint's limits say so")]
    try:
        outcomes = _allocation(applicant, node_set, tested)
    except slurm.Unanswered as refused:
        others = seen.holders and applicant.is_limited
        why = f"{refused}; jobs run, and the limits of {applicant.account} may leave no more" if others else str(refused)
        return [*checks, _not_run(tested, "did not run", Verdict.REPORTED if others else Verdict.FAIL, why)]
    checks += judge.gpus_in_job(node_set, tested, outcomes["whole"])
    checks += judge.rendezvous(tested, outcomes["whole"])
    checks += judge.device_confinement(node_set, tested, outcomes["share"], configured=configured[0])
    checks += judge.core_confinement(node_set, tested, outcomes["share"], configured=configured[1])
    checks += judge.all_reduce(tested, outcomes["allreduce"])
    found, waited_s = _wait(lambda: _ended(slurm.accounted(outcomes["job"])), ACCOUNTING_DEADLINE_S)
    checks.append(judge.accounting(applicant, node_set, tested, outcomes["job"], found, waited_s=waited_s))
    return checks


def _not_run(tested: list[str], measured: str, verdict: Verdict, detail: str) -> Check:
    return Check(
        name="job over all nodes",
        node=hostlist.compress(tested),
        expected="runs",
        measured=measured,
        verdict=verdict,
        detail=detail,
        look_at="`squeue`, `sinfo -R`; on the controller: `journalctl -u slurmctld`" if verdict is Verdict.FAIL else "",
    )


def _ended(job: slurm.AccountedJob | None) -> slurm.AccountedJob | None:
    return None if job is None or job.state in ("PENDING", "RUNNING") else job


def _wait(look: Callable[[], slurm.AccountedJob | None], deadline_s: float) -> tuple[slurm.AccountedJob | None, float]:
    begin = time.monotonic()
    while True:
        found = look()
        waited_s = time.monotonic() - begin
        if found is not None or waited_s > deadline_s:
            return found, waited_s
        time.sleep(POLL_S)


def _allocation(applicant: Applicant, node_set: expectation.NodeSet, tested: list[str]) -> dict[str, Any]:
    """Run the steps on the tested nodes in one job of the user.

    Raises:
        Unanswered: the job did not start, or ended without a result.
    """
    gpus = [f"--gpus-per-node={node_set.gpu_count}"] if node_set.gpu_count else []
    qos = [f"--qos={applicant.qos}"] if applicant.qos else []
    command = [
        *("salloc", "--quiet", f"--job-name={JOB_NAME}", f"--account={applicant.account}", *qos, f"--partition={node_set.partition}", "--exclusive"),
        *(f"--nodes={len(tested)}", f"--nodelist={','.join(tested)}", *gpus, f"--time={JOB_LIMIT_MIN}"),
        f"--immediate={ALLOCATION_DEADLINE_S}",
        *(sys.executable, "-m", "acceptance.steps", json.dumps(tested), str(node_set.gpu_count)),
    ]
    home = pwd.getpwnam(applicant.user)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        user=home.pw_uid,
        group=home.pw_gid,
        extra_groups=[],
        cwd=home.pw_dir,
        env=_environment(home),
        start_new_session=True,
    )
    try:
        printed, words = process.communicate(timeout=60 * JOB_LIMIT_MIN)
    except subprocess.TimeoutExpired:
        raise slurm.Unanswered(f"the job was not over after {JOB_LIMIT_MIN} min") from None
    finally:
        if process.poll() is None:
            # Ends the job as well: salloc gives the allocation back on SIGTERM.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
    for line in reversed(printed.splitlines()):
        with contextlib.suppress(ValueError):
            return dict(json.loads(line))
    lines = [line for line in words.splitlines() if line.strip()][-STDERR_LINES:]
    raise slurm.Unanswered("; ".join(lines) or f"salloc ended with status {process.returncode} and said nothing")


def _environment(home: pwd.struct_passwd) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": home.pw_dir,
        "USER": home.pw_name,
        "LOGNAME": home.pw_name,
        "SHELL": home.pw_shell,
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


if __name__ == "__main__":
    main()
