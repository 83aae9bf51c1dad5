"""`python3 -m acceptance <spec.json`: check the cluster, print the document. The exit status says nothing about the cluster."""

import concurrent.futures
import dataclasses
import json
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence

from . import (
    allocation,
    collectives,
    document,
    expectation,
    gate,
    judge,
    judge_collectives,
    judge_diagnostics,
    judge_environment,
    judge_rails,
    judge_storage,
    slurm,
)
from .document import Check, Verdict

POLL_S = 0.25
NODES_DEADLINE_S = 60.0
NODES_DEADLINE_PER_NODE_S = 0.5
BOOT_DEADLINE_S = 600.0
"""A node that the controller is starting is waited for longer: an instance with eight GPUs takes minutes to come up."""
ACCOUNTING_DEADLINE_S = 15.0
MANY_NODE_SETS = 4
MANY_CONNECTIONS = 32
CONNECT_DEADLINE_S = 3.0
SLURMD_PORT = 6818  # slurm.conf(5), SlurmdPort
ATTEMPTS = 3
"""So often a job is tried when nodes become busy between the look and the job."""


def main() -> None:
    begin = time.monotonic()
    # An ending engine ends this program with SIGTERM or SIGHUP: both must still cancel the jobs.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        checks = accept(expectation.expect(json.load(sys.stdin)))
    except slurm.Unanswered as silence:
        checks = [_silent(str(silence))]
    except Exception as error:  # whatever a broken host does to it, the document is printed
        checks = [_broken(error)]
    print(document.render(checks, seconds=time.monotonic() - begin))


def _interrupted(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _silent(said: str) -> Check:
    here = socket.gethostname()
    is_refused_here = any(word in said.lower() for word in ("authentication", "munge"))
    look_at = f"on {here}: `systemctl status munge`, `ls -l /etc/munge/munge.key`, `cmp /etc/munge/munge.key /etc/clusterwright/secrets/munge.key`, `date`"
    return Check(
        name="Slurm answers",
        node=here,
        expected="an answer",
        measured="none",
        verdict=Verdict.ERROR,
        detail=f"MUNGE on {here} does not work, or its key or clock differ from the controller's: {said}" if is_refused_here else said,
        look_at=look_at if is_refused_here else "on the controller: `systemctl status slurmctld slurmdbd munge`",
    )


def _broken(error: Exception) -> Check:
    here = socket.gethostname()
    return Check(
        name="acceptance program",
        node=here,
        expected="a result",
        measured=type(error).__name__,
        verdict=Verdict.ERROR,
        detail=str(error),
        look_at=f"on {here}: `df -h`, `free -m`, `journalctl -p err -b`",
    )


def accept(wanted: expectation.Expectation) -> list[Check]:
    on_demand = [_untried(nodes) for nodes in wanted.on_demand]
    if not wanted.node_sets:
        return on_demand or [Check(name="node state", node="none", expected="0 nodes", measured=_no_nodes(), verdict=Verdict.PASS, detail="no pool has nodes")]
    names = [name for node_set in wanted.node_sets for name in node_set.nodes]
    nodes, silent, waited_s = _settled_nodes([name for name in names if name not in wanted.left_to_roll])
    seen = dataclasses.replace(_seen(names, nodes, silent, waited_s), left_to_roll=wanted.left_to_roll)
    configured = _confinement(slurm.configuration())
    states = slurm.partition_states()
    with concurrent.futures.ThreadPoolExecutor(MANY_NODE_SETS) as pool:
        results = pool.map(lambda one: _node_set(one, wanted, seen, configured, states.get(one.partition, "missing")), wanted.node_sets)
        return gate.apply([check for checks in results for check in checks], wanted.gate) + on_demand


def _seen(names: Sequence[str], nodes: dict[str, slurm.Node], silent: frozenset[str], waited_s: float) -> judge.Seen:
    busy = [name for name in names if judge.is_fit(nodes.get(name)) and nodes[name].base_state != "idle"]
    is_reserved = any(nodes[name].flags & judge.RESERVED_FLAGS for name in names if name in nodes)
    return judge.Seen(
        nodes=nodes,
        silent=silent,
        holders=slurm.jobs_on(busy) if busy else {},
        waited_s=waited_s,
        reservations=slurm.reservations() if is_reserved else (),
    )


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
    node_set: expectation.NodeSet, wanted: expectation.Expectation, seen: judge.Seen, configured: tuple[bool, bool], partition_state: str
) -> list[Check]:
    checks = judge.node_states(node_set, seen)
    checks += judge.gres(node_set, seen.nodes)
    if wanted.users:
        checks.append(judge.submission(node_set, _refusal(node_set)))
    if partition_state != "UP":
        return [*checks, judge.closed(node_set, partition_state)]
    applicant = node_set.applicant
    task = {
        "user": applicant.user if applicant else next(iter(wanted.users), ""),
        "users": dict(wanted.users),
        "folders": [folder.path for folder in wanted.folders],
        "storage": {one.path: one.throughput_mbs is not None for one in wanted.storage if one.tried} if wanted.users else {},
    }
    free = [name for name in node_set.nodes if seen.is_free(name)]
    for _ in range(ATTEMPTS):
        if not free:
            return checks
        tested, reason = free, ""
        try:
            outcomes = allocation.run(node_set, tested, task, reservation=seen.window)
            break
        except slurm.Unanswered as failed:
            return [*checks, judge.unjudged(tested, str(failed))]
        except allocation.NotStarted as waiting:
            if not waiting.is_busy:
                return [*checks, judge.not_started(node_set, tested, str(waiting), is_busy=False)]
            reason = str(waiting)
        again = judge.Seen(nodes=slurm.nodes(), silent=seen.silent, holders={}, waited_s=0, reservations=seen.reservations)
        free = [name for name in tested if again.is_free(name)]
        if free == tested:  # they wait for jobs ahead in the queue
            return [*checks, judge.not_started(node_set, tested, reason, is_busy=True)]
    else:
        return [*checks, judge.not_started(node_set, tested, reason, is_busy=True)]
    checks += judge.part_judged(node_set, tested)
    checks += judge.users(tested, outcomes["whole"], len(wanted.users))
    checks += judge.folders(tested, outcomes["whole"], wanted.folders if wanted.users else ())
    if wanted.users:
        wrote, got = outcomes["storage"]
        checks += judge_storage.storage(tested, wrote, got, wanted.storage)
    checks += judge.gpus_in_job(node_set, tested, outcomes["whole"])
    checks += judge.rendezvous(tested, outcomes["whole"])
    checks += judge.device_confinement(node_set, tested, outcomes["share"], configured=configured[0])
    checks += judge.core_confinement(node_set, tested, outcomes["share"], configured=configured[1])
    checks += judge.all_reduce(tested, outcomes["allreduce"])
    checks += judge_environment.environment(node_set, tested, outcomes["whole"], job=str(outcomes["job"]))
    checks += judge_environment.huge_pages(node_set, tested, outcomes["whole"])
    checks += judge_rails.rails(node_set, tested, outcomes["rails"])
    checks += judge_diagnostics.diagnostics(node_set, tested, outcomes["diagnostics"])
    checks += _collectives(node_set, tested, collectives.from_record(outcomes["collectives"]))
    return [*checks, _accounting(node_set, tested, str(outcomes["job"]))]


def _collectives(node_set: expectation.NodeSet, tested: Sequence[str], measured: collectives.Measured) -> list[Check]:
    if measured.absent:
        return [judge_collectives.unjudged(node_set, tested, "the nodes have no nccl-tests, so that nothing proves the fabric's rate")]
    found = [check for run in measured.runs for check in judge_collectives.judge(node_set, run)]
    return [*document.merged(found), *(judge_collectives.isolated(measured.runs[-1], measured.found) if measured.found else ())]


def _refusal(node_set: expectation.NodeSet) -> str:
    """Ask Slurm, as a user, whether it would accept a job; give what it says against it, empty when it would."""
    applicant = node_set.applicant
    if applicant is None:
        return ""
    qos = [f"--qos={applicant.qos}"] if applicant.qos else []
    command = ["sbatch", "--test-only", f"--account={applicant.account}", *qos, f"--partition={node_set.partition}", "--wrap=true"]
    try:
        slurm.ask(command, user=applicant.user)
    except slurm.Unanswered as refused:
        return str(refused)
    return ""


def _accounting(node_set: expectation.NodeSet, tested: Sequence[str], job: str) -> Check:
    try:
        found, waited_s = _wait(lambda: _ended(slurm.accounted(job)), ACCOUNTING_DEADLINE_S)
    except slurm.Unanswered as silence:
        return judge.accounting_silent(tested, job, str(silence))
    return judge.accounting(node_set, tested, job, found, waited_s=waited_s)


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


if __name__ == "__main__":
    main()
