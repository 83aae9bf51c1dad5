"""Acceptance judges what it measured: each kind of shortfall gives a check that names node, expected and measured."""

import dataclasses
import importlib
from typing import Any

import pytest

from blueprints import spec
from tests.playbooks import clusters

judge = importlib.import_module("acceptance.judge")
slurm = importlib.import_module("acceptance.slurm")
document = importlib.import_module("acceptance.document")
expectation = importlib.import_module("acceptance.expectation")
explain = importlib.import_module("acceptance.explain")
allocation = importlib.import_module("acceptance.allocation")

NODES = ("train-0", "train-1")
Verdict = document.Verdict


def node_set(**changes: Any) -> Any:
    on = clusters.machine(**changes)
    return expectation.expect(clusters.cluster(clusters.node_set(on=on))).node_sets[0]


def node(name: str, state: str = "idle", gres: str = "gpu:h100:8(S:0)", reason: str = "") -> Any:
    return slurm.Node(name=name, state=state, gres=gres, reason=reason)


def seen(*nodes: Any, silent: tuple[str, ...] = (), holders: dict[str, str] | None = None) -> Any:
    return judge.Seen(nodes={one.name: one for one in nodes}, silent=frozenset(silent), holders=holders or {}, waited_s=1.0)


def step(error: str = "", **changes: dict[str, Any]) -> dict[str, Any]:
    """Give what a step over both nodes printed; `train_1={...}` changes one node's line."""
    everyone: dict[str, Any] = {
        "visible_gpus": [str(gpu) for gpu in range(8)],
        "step_gpus": ["0"],
        "devices": {str(gpu): "ENXIO" if gpu == 0 else "EPERM" for gpu in range(8)},
        "models": [],
        "reachable_cpus": [0],
        "unresolved": [],
        "met": list(NODES),
        "meeting": "",
    }
    lines = [{**everyone, **changes.get(name.replace("-", "_"), {}), "node": name} for name in NODES if changes.get(name.replace("-", "_")) != {}]
    return {"lines": lines, "error": error}


WHOLE = {"devices": {str(gpu): "ENXIO" for gpu in range(8)}}


def rows(checks: Any) -> list[tuple[str, str, str]]:
    return [(check.node, check.measured, check.verdict.value) for check in checks]


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ("idle", "pass"),
        ("mixed", "reported"),
        ("allocated", "reported"),
        ("idle+drain", "fail"),
        ("down", "fail"),
        ("idle*", "fail"),
        ("down+not_responding", "fail"),
        ("unknown", "fail"),
        ("idle+drain+invalid_reg", "fail"),
    ],
)
def test_only_serving_nodes_pass_and_busy_ones_are_reported(state: str, verdict: str) -> None:
    checks = judge.node_states(node_set(), seen(node("train-0", state), node("train-1"), holders={"train-0": "7 (ada)"}))
    assert {check.node: check.verdict.value for check in checks if "train-0" in check.node or check.node == "train-[0-1]"}.popitem()[1] == verdict


@pytest.mark.parametrize("state", ["idle+drain", "down", "down+drain+not_responding"])
def test_a_node_that_is_left_to_a_roll_is_reported_with_its_reason(state: str) -> None:
    found = dataclasses.replace(seen(node("train-0", state, reason="clusterwright: roll"), node("train-1")), left_to_roll=frozenset({"train-0", "train-1"}))
    (left, passed) = judge.node_states(node_set(), found)
    assert (left.name, left.node, left.measured, left.verdict, left.detail) == (
        "node left to the roll",
        "train-0",
        state,
        Verdict.REPORTED,
        "clusterwright: roll",
    )
    assert (passed.name, passed.node, passed.verdict) == ("node state", "train-1", Verdict.PASS), "it serves"


def test_a_failed_node_says_reason_and_where_to_look() -> None:
    (failed, passed) = judge.node_states(node_set(), seen(node("train-0", "down", reason="Not responding"), node("train-1")))
    assert (failed.node, failed.expected, failed.measured, failed.detail) == ("train-0", "idle", "down", "Not responding; waited 1 s")
    assert "train-0" in failed.look_at
    assert (passed.node, passed.verdict) == ("train-1", Verdict.PASS)


def test_a_node_that_the_controller_does_not_know_fails() -> None:
    checks = judge.node_states(node_set(), seen(node("train-0")))
    assert ("train-1", "unknown to the controller", "fail") in rows(checks)


def test_a_node_whose_daemon_is_silent_fails_though_the_controller_takes_it_for_idle() -> None:
    checks = judge.node_states(node_set(), seen(node("train-0"), node("train-1"), silent=("train-1",)))
    assert ("train-1", "idle, but its daemon does not answer", "fail") in rows(checks)


@pytest.mark.parametrize(
    ("gres", "measured", "verdict"),
    [
        ("gpu:h100:8", "8 x h100", "pass"),
        ("gpu:h100:8(S:0-1)", "8 x h100", "pass"),
        ("gpu:h100:7", "7 x h100", "fail"),
        ("gpu:a100:8", "8 x a100", "fail"),
        ("gpu:8", "8 x untyped", "fail"),
        ("", "none", "fail"),
    ],
)
def test_gpus_known_to_slurm_are_counted_by_type(gres: str, measured: str, verdict: str) -> None:
    checks = judge.gres(node_set(), {"train-0": node("train-0", gres=gres), "train-1": node("train-1", gres=gres)})
    assert rows(checks) == [("train-[0-1]", measured, verdict)]


def test_one_node_with_fewer_gpus_is_named_alone() -> None:
    checks = judge.gres(node_set(), {"train-0": node("train-0"), "train-1": node("train-1", gres="gpu:h100:7")})
    assert rows(checks) == [("train-0", "8 x h100", "pass"), ("train-1", "7 x h100", "fail")]


def test_gpus_in_a_job_pass_when_all_are_there_and_may_be_opened() -> None:
    assert rows(judge.gpus_in_job(node_set(), NODES, step(train_0=WHOLE, train_1=WHOLE))) == [("train-[0-1]", "8 x h100", "pass")]


def test_a_missing_a_forbidden_and_a_wrong_gpu_in_a_job_fail() -> None:
    fewer = {**WHOLE, "visible_gpus": ["0", "1"]}
    assert ("train-1", "2 x h100", "fail") in rows(judge.gpus_in_job(node_set(), NODES, step(train_0=WHOLE, train_1=fewer)))
    forbidden = {"devices": {**WHOLE["devices"], "3": "EPERM"}}
    assert ("train-1", "8 x h100, not to be opened: 3", "fail") in rows(judge.gpus_in_job(node_set(), NODES, step(train_0=WHOLE, train_1=forbidden)))
    real = node_set(simulated=False)
    other = {**WHOLE, "models": ["NVIDIA A100-SXM4-80GB"] * 8}
    assert ("train-1", "8 x h100, the driver says NVIDIA A100-SXM4-80GB", "fail") in rows(
        judge.gpus_in_job(real, NODES, step(train_0={**WHOLE, "models": ["NVIDIA H100 80GB HBM3"]}, train_1=other))
    )


def test_a_node_that_gave_no_answer_fails_with_the_words_of_the_step() -> None:
    checks = judge.gpus_in_job(node_set(), NODES, step(error="srun: error: train-1: task 1: Killed", train_0=WHOLE, train_1={}))
    assert ("train-1", "no answer: srun: error: train-1: task 1: Killed", "fail") in rows(checks)


def test_a_rendezvous_that_misses_somebody_or_a_name_fails() -> None:
    assert rows(judge.rendezvous(NODES, step())) == [("train-[0-1]", "met 2", "pass")]
    assert ("train-1", "met train-1", "fail") in rows(judge.rendezvous(NODES, step(train_1={"met": ["train-1"]})))
    assert ("train-1", "train-0:20001: timed out", "fail") in rows(judge.rendezvous(NODES, step(train_1={"met": [], "meeting": "train-0:20001: timed out"})))
    assert ("train-0", "does not resolve train-1", "fail") in rows(judge.rendezvous(NODES, step(train_0={"unresolved": ["train-1"]})))


def test_a_foreign_gpu_that_opens_fails_where_confinement_is_configured_and_is_reported_elsewhere() -> None:
    refused = judge.device_confinement(node_set(), NODES, step(), configured=True)
    assert rows(refused) == [("train-[0-1]", "refused", "pass")]
    leaking = step(train_1={"devices": {"0": "ENXIO", "1": "ENXIO", "2": "EPERM"}})
    assert ("train-1", "foreign GPUs 1 may be opened", "fail") in rows(judge.device_confinement(node_set(), NODES, leaking, configured=True))
    assert ("train-1", "foreign GPUs 1 may be opened", "reported") in rows(judge.device_confinement(node_set(), NODES, leaking, configured=False))


INSTANCES = [f"gpu{gpu}-1g.10gb-{number}" for gpu in range(2) for number in range(7)]


def divided() -> Any:
    on = clusters.machine(gpus=2)
    gpus = spec.Gpus("h100", 2, simulated=True, mig=(spec.MigSlices("1g.10gb", 7),))
    return expectation.expect(clusters.cluster(clusters.node_set(on=dataclasses.replace(on, gpus=gpus)))).node_sets[0]


def opened(*refused: str) -> dict[str, Any]:
    return {"visible_gpus": [str(number) for number in range(14)], "instances": {one: "EPERM" if one in refused else "ENXIO" for one in INSTANCES}}


@pytest.mark.parametrize(("gres", "verdict"), [("gpu:1g.10gb:14", "pass"), ("gpu:1g.10gb:7", "fail"), ("gpu:h100:2", "fail")])
def test_mig_instances_known_to_slurm_are_counted_by_profile(gres: str, verdict: str) -> None:
    assert [row[2] for row in rows(judge.gres(divided(), {name: node(name, gres=gres) for name in NODES}))] == [verdict]


def test_a_job_over_all_instances_may_open_each_of_them() -> None:
    whole = opened()
    assert rows(judge.gpus_in_job(divided(), NODES, step(train_0=whole, train_1=whole))) == [("train-[0-1]", "14 x MIG instance", "pass")]
    assert ("train-1", "14 x MIG instance, not to be opened: gpu0-1g.10gb-3", "fail") in rows(
        judge.gpus_in_job(divided(), NODES, step(train_0=whole, train_1=opened("gpu0-1g.10gb-3")))
    )


def test_a_step_with_one_instance_may_open_one() -> None:
    alone = opened(*INSTANCES[1:])
    assert rows(judge.device_confinement(divided(), NODES, step(train_0=alone, train_1=alone), configured=True)) == [("train-[0-1]", "refused", "pass")]
    leaking = opened(*INSTANCES[2:])
    assert ("train-1", "foreign GPUs gpu0-1g.10gb-1 may be opened", "fail") in rows(
        judge.device_confinement(divided(), NODES, step(train_0=alone, train_1=leaking), configured=True)
    )


def test_a_single_gpu_leaves_no_foreign_one_to_try() -> None:
    assert judge.device_confinement(node_set(gpus=1), NODES, step(), configured=True) == []


def test_a_step_that_reaches_every_core_fails_where_confinement_is_configured() -> None:
    assert rows(judge.core_confinement(node_set(), NODES, step(), configured=True)) == [("train-[0-1]", "1 of 2 CPUs", "pass")]
    open_step = step(train_1={"reachable_cpus": [0, 1]})
    assert ("train-1", "2 of 2 CPUs", "fail") in rows(judge.core_confinement(node_set(), NODES, open_step, configured=True))
    assert ("train-1", "not confined", "reported") in rows(judge.core_confinement(node_set(), NODES, open_step, configured=False))


def reduction(**changes: Any) -> dict[str, Any]:
    line = {"processes": 2, "wrong_values": 0, "bytes": 8 << 20, "seconds": 0.05, "library": "Open MPI v5", "nodes": list(NODES), **changes}
    return {"lines": [line], "error": ""}


def test_values_of_the_all_reduce_are_judged_and_its_rate_is_reported() -> None:
    values, rate = judge.all_reduce(NODES, reduction())
    assert (values.verdict, rate.verdict) == (Verdict.PASS, Verdict.REPORTED)
    # 8 MiB in 50 ms over two processes: 0.168 GB/s times 2(2-1)/2.
    assert (rate.measured, rate.unit) == ("0.168", "GB/s")


@pytest.mark.parametrize(
    ("changes", "measured"), [({"wrong_values": 3}, "3 wrong values over 2 processes"), ({"processes": 1}, "0 wrong values over 1 processes")]
)
def test_a_wrong_sum_or_a_missing_process_fails(changes: dict[str, Any], measured: str) -> None:
    assert rows(judge.all_reduce(NODES, reduction(**changes))) == [("train-[0-1]", measured, "fail")]


def test_an_all_reduce_without_a_result_fails_with_its_error() -> None:
    (check,) = judge.all_reduce(NODES, {"lines": [], "error": "srun: error: Invalid MPI type 'pmix'"})
    assert (check.verdict, check.measured, check.detail) == (Verdict.FAIL, "no result", "srun: error: Invalid MPI type 'pmix'")


@pytest.mark.parametrize(("processes", "factor"), [(1, 0.0), (2, 1.0), (4, 1.5), (8, 1.75)])
def test_bus_bandwidth_follows_the_rule_of_nccl_tests(processes: int, factor: float) -> None:
    assert judge.bus_bandwidth(size_bytes=10**9, seconds=1.0, processes=processes) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ("COMPLETED|root|clusterwright-acceptance|2|billing=4,cpu=4,gres/gpu:h100=16,gres/gpu=16,node=2", "pass"),
        ("FAILED|root|clusterwright-acceptance|2|cpu=4,gres/gpu=16", "fail"),
        ("COMPLETED|ada|research|2|cpu=4,gres/gpu=16", "fail"),
        ("COMPLETED|root|clusterwright-acceptance|1|cpu=4,gres/gpu=8", "fail"),
        ("COMPLETED|root|clusterwright-acceptance|2|cpu=4", "fail"),
        ("", "fail"),
    ],
)
def test_accounting_must_show_the_very_job(row: str, verdict: str) -> None:
    (only,) = expectation.expect(clusters.cluster()).node_sets
    check = judge.accounting(only, NODES, "7", slurm.parse_accounted(row), waited_s=1.0)
    assert check.verdict.value == verdict


def test_a_document_is_fine_only_if_something_was_checked_and_nothing_failed() -> None:
    passed = document.Check(name="a", node="n", expected="1", measured="1", verdict=Verdict.PASS)
    error = document.Check(name="a", node="n", expected="1", measured="?", verdict=Verdict.ERROR)
    assert document.is_ok([passed])
    assert not document.is_ok([])
    assert not document.is_ok([passed, error])


def test_a_refused_message_explains_the_node_that_sent_it() -> None:
    checks = [
        {"name": "node state", "node": name, "verdict": verdict, "detail": "waited 60 s", "look_at": ""}
        for name, verdict in zip(NODES, ("fail", "fail"), strict=True)
    ]
    log = "slurmctld: error: slurm_unpack_received_msg: [[train-1]:11934] auth_g_verify: REQUEST_CONFIG has authentication error: Unspecified error"
    explained = explain.explain({"ok": False, "checks": checks}, log)["checks"]
    assert explained[0] == checks[0]
    assert "MUNGE key" in explained[1]["detail"]
    assert "munge.key" in explained[1]["look_at"]


# Jobs that do not start


def test_a_reserved_node_is_left_out_and_the_reservation_is_named() -> None:
    kept = slurm.Reservation("maint", "train-[0-3]", "2026-01-02T00:00:00")
    both = judge.Seen(
        nodes={name: node(name, state) for name, state in (("train-0", "idle+reserved"), ("train-1", "idle"))},
        silent=frozenset(),
        holders={},
        waited_s=0.0,
        reservations=[kept],
    )
    (reserved, free) = judge.node_states(node_set(), both)
    assert (reserved.node, reserved.verdict, reserved.detail) == ("train-0", Verdict.REPORTED, "reserved by maint until 2026-01-02T00:00:00")
    assert (free.node, free.verdict) == ("train-1", Verdict.PASS)


WINDOW = slurm.Reservation("clusterwright-maintenance-20261201T0200-4h", "train-[0-3]", "2026-12-01T06:00:00")


def test_in_a_maintenance_window_nodes_are_tested_unless_somebody_else_keeps_them() -> None:
    def in_window(*reservations: Any) -> Any:
        of_two = {name: node(name, "idle+maintenance") for name in NODES}
        return judge.Seen(nodes=of_two, silent=frozenset(), holders={}, waited_s=0.0, reservations=reservations)

    assert [in_window(WINDOW).is_free(name) for name in NODES] == [True, True]
    assert in_window(WINDOW).window == WINDOW.name
    other = slurm.Reservation("fans", "train-1", "2026-12-03T00:00:00")
    assert [in_window(WINDOW, other).is_free(name) for name in NODES] == [True, False]
    assert (in_window().is_free("train-0"), in_window().window) == (False, "")


@pytest.mark.parametrize(
    ("reason", "verdict", "remedy"),
    [
        ("Priority", "reported", ""),
        ("Resources", "reported", ""),
        ("ReqNodeNotAvail, Reserved for maintenance", "reported", ""),
        ("QueueFull: Slurm temporarily unable to accept job, sleeping and retrying", "reported", ""),
        ("PartitionConfig", "fail", "scontrol show partition train"),
        ("AssocGrpJobsLimit", "fail", "sacctmgr show associations where account=clusterwright-acceptance"),
        ("QOSGrpNodeLimit", "fail", "sacctmgr show qos"),
        ("Job submit/allocate failed: Invalid account or account/partition combination specified", "fail", "squeue"),
    ],
)
def test_a_job_that_waits_says_the_queue_s_reason_and_only_other_jobs_excuse_it(reason: str, verdict: str, remedy: str) -> None:
    waiting = allocation.NotStarted(reason)
    check = judge.not_started(node_set(), NODES, reason, is_busy=waiting.is_busy)
    assert (check.verdict.value, reason in check.detail, remedy in check.look_at) == (verdict, True, True)
    assert bool(check.look_at) == (verdict == "fail")


def test_nodes_that_were_left_out_are_counted() -> None:
    assert judge.part_judged(node_set(), NODES) == []
    (check,) = judge.part_judged(node_set(), NODES[:1])
    assert (check.measured, check.detail, check.verdict) == ("ran on 1 of 2 nodes", "left out: train-1", Verdict.REPORTED)


@pytest.mark.parametrize(
    ("refused", "verdict"),
    [
        ("", "pass"),
        ("`sbatch` failed: AssocMaxSubmitJobLimit; Job violates accounting/QOS policy", "reported"),  # the administrator wanted it so
        ("`sbatch` failed: Invalid account or account/partition combination specified", "fail"),
        ("this host does not know the user ada", "fail"),
    ],
)
def test_a_user_may_submit_and_a_limit_is_no_fault(refused: str, verdict: str) -> None:
    assert judge.submission(node_set(), refused).verdict.value == verdict


@pytest.mark.parametrize(
    ("line", "users", "folder"),
    [
        ({"unknown_users": [], "writable": {"/shared": True}}, "pass", "pass"),
        ({"unknown_users": ["ada"], "writable": {"/shared": True}}, "fail", "pass"),
        ({"unknown_users": [], "writable": {"/shared": False}}, "pass", "fail"),
    ],
)
def test_nodes_know_the_users_who_write_in_shared_storage(line: dict[str, Any], users: str, folder: str) -> None:
    usual = {"unknown_users": [], "writable": {"/shared": True}}
    whole = step(train_0=usual, train_1=line)
    assert {check.node: check.verdict.value for check in judge.users(NODES, whole, 1)}[NODES[1] if users == "fail" else "train-[0-1]"] == users
    found = {check.node: check.verdict.value for check in judge.folders(NODES, whole, [expectation.Folder("/shared", "users")])}
    assert found[NODES[1] if folder == "fail" else "train-[0-1]"] == folder


def test_accounting_that_is_silent_is_a_check_and_no_end() -> None:
    check = judge.accounting_silent(NODES, "7", "`sacct` failed: Unable to connect to database")
    assert (check.verdict, check.detail) == (Verdict.ERROR, "`sacct` failed: Unable to connect to database")


@pytest.mark.parametrize("row", ["garbage", "COMPLETED|root|clusterwright-acceptance|many|cpu=4"])
def test_what_accounting_prints_besides_jobs_is_no_answer(row: str) -> None:
    with pytest.raises(slurm.Unanswered):
        slurm.parse_accounted(row)
