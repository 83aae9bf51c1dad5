"""Collectives are judged by values, transport, affinity and rate: 35 silent failures are each found on the right node, and healthy runs pass."""

import dataclasses
import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.playbooks import clusters

nccl_tests = importlib.import_module("acceptance.nccl_tests")
judge = importlib.import_module("acceptance.judge_collectives")
isolation = importlib.import_module("acceptance.isolation")
expectation = importlib.import_module("acceptance.expectation")
gate = importlib.import_module("acceptance.gate")
document = importlib.import_module("acceptance.document")

GIB = 1 << 30
H100 = "NVIDIA H100 80GB HBM3"


def collective(kind: str, size: int, nodes: int, typical: float | None, warn: float | None, floor: float, *, provisional: bool = False, note: str = "") -> Any:
    return expectation.Collective(kind, size, nodes, typical, warn, floor, provisional, "published", note)


def fabric(title: str, nics: int, line: str, *, direct: bool = True, **environment: str) -> Any:
    return expectation.Fabric(title, nics, line, ("NET/Socket", "Using network Socket"), direct, environment)


P5 = (
    fabric("Elastic Fabric Adapter", 32, "Selected provider is efa", FI_EFA_USE_HUGE_PAGE="0"),
    (
        collective("all_reduce", 8 * GIB, 1, 479, 455, 430),
        collective("all_reduce", 16 * GIB, 2, 487, 463, 438),
        collective("all_gather", 16 * GIB, 8, 330, 313, 297),
    ),
)
P4D = (
    fabric("Elastic Fabric Adapter", 4, "Selected provider is efa"),
    (collective("all_reduce", 2 * GIB, 2, 77.9, 74, 70, note="near a quarter: one of four adapters"),),
)
A3_HIGH = (fabric("GPUDirect-TCPX", 4, "NET/GPUDirectTCPX", direct=False), (collective("all_reduce", 2 * GIB, 2, 65.7, 62, 59),))
A3_MEGA = (fabric("GPUDirect-TCPXO", 8, "NET/FasTrak", direct=False), (collective("all_reduce", 16 * GIB, 2, 337, 320, 303),))
A3_ULTRA = (fabric("gIB", 8, "NET/gIB", direct=False), (collective("all_gather", 8 * GIB, 2, 326, 310, 293),))
NDR = (
    fabric("InfiniBand NDR", 8, "NET/IB"),
    (
        collective("all_reduce", 8 * GIB, 1, 479, 455, 430),
        collective("all_reduce", 8 * GIB, 2, 467, 444, 420),
        collective("all_reduce", 8 * GIB, 8, 387, 367, 348),
    ),
)
UNMEASURED = (fabric("RoCE", 8, "NET/IB"), (collective("all_gather", 8 * GIB, 2, None, None, 320, provisional=True),))

EFA_LOG = ("NET/OFI Selected provider is efa, fabric is efa-direct (found {nics} nics)", "Using network AWS Libfabric")
EFA_WITH_FOUR = tuple(line.replace("{nics}", "4") for line in EFA_LOG)
TCPX_LOG = ("NET/GPUDirectTCPX : Using [0]enp6s0:10.0.0.2<0>", "Using network GPUDirectTCPX_v7")
FASTRAK_LOG = ("NET/FasTrak plugin initialized", "Using network FasTrak")
GIB_LOG = ("NET/gIB : Initialised", "Using network gIB")
SOCKET_LOG = ("NET/Socket : Using [0]eth0:10.0.0.1<0>", "Using network Socket")


def ib_log(nics: int) -> tuple[str, ...]:
    used = " ".join(f"[{number}]mlx5_{number}:1/IB" for number in range(nics))
    return (f"NET/IB : Using {used} [RO]; OOB eth0:10.0.0.1<0>", "Using network IB")


def near(*cpus: str) -> list[str]:
    """Give NCCL's lines (2.27) on the processors of eight ranks, of which `cpus` replaces the first ones'."""
    usual = [f"{24 * gpu}-{24 * gpu + 23}" for gpu in range(8)]
    used = [*cpus, *usual[len(cpus) :]]
    of_gpu = ["0-95", "96-191"]
    return [
        f"ncclTopoGetCpuAffinity: Affinity for GPU {gpu} is {one}. (GPU affinity = {of_gpu[gpu // 4]} ; CPU affinity = 0-191)." for gpu, one in enumerate(used)
    ]


def near_by_mask(gpus: Sequence[int] = range(8)) -> list[str]:
    """Give the lines of NCCL before 2.26: a mask of hexadecimal words, and none for a rank that has no processor near its GPU."""
    masks = ["ffffff" + "0" * (6 * (gpu % 4)) for gpu in range(8)]
    words = [(mask.zfill(24) + "0" * (24 * (gpu // 4))).zfill(48) for gpu, mask in enumerate(masks)]
    split = [",".join(word[start : start + 8] for start in range(0, 48, 8)) for word in words]
    return [f"Setting affinity for GPU {gpu} to {split[gpu]}" for gpu in gpus]


def node_set(of: tuple[Any, Any], nodes: int, gpus: int = 8) -> Any:
    one = expectation.expect(clusters.cluster(clusters.node_set())).node_sets[0]
    return dataclasses.replace(one, nodes=tuple(f"train-{number}" for number in range(nodes)), cpus=192, gpu_count=gpus, fabric=of[0], collectives=of[1])


def printed(  # what nccl-tests and NCCL print together, in the form of version 2.13
    hosts: Sequence[str],
    wanted: Any,
    rate: float,
    *,
    log: Mapping[str, Sequence[str]],
    wrong: int = 0,
    gpus: dict[str, int] | None = None,
    models: dict[str, str] | None = None,
    ended: bool = True,
    size: int | None = None,
    checked: bool = True,
) -> str:
    lines = [
        *(f"{host}:4242:4300 [{number % 8}] NCCL INFO {line}" for host in hosts for number, line in enumerate(log.get(host, ()))),
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 17179869184 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    rank = 0
    for host in hosts:
        for device in range((gpus or {}).get(host, 8)):
            lines.append(f"#  Rank {rank:2d} Group  0 Pid  {4000 + rank} on {host:>10} device {device:2d} [0x{device + 83:x}] {(models or {}).get(host, H100)}")
            rank += 1
    lines += [
        "#                                                              out-of-place                       in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
    ]
    of_size = wanted.size_bytes if size is None else size
    value = str(wrong) if checked else "N/A"
    for bytes_, share in ((of_size // 16, 0.6), (of_size, 1.0)) if of_size else ():
        busbw = rate * share
        lines.append(
            f"{bytes_:12d}  {bytes_ // 4:12d}     float     sum      -1   66103.7  {busbw / 1.9:6.2f}  {busbw:6.2f} {value:>6}   66081.5  {busbw / 1.9:6.2f}  {busbw:6.2f} {value:>6}"
        )
    if ended:
        lines += [f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}", "# Avg bus bandwidth    : 156.7 ", "#"]
    return "\n".join(lines)


def logs(
    hosts: Sequence[str], lines: Sequence[str], *, nics: int = 0, direct: int = 4, connections: int = 4, nvls: bool | None = True, **other: Sequence[str]
) -> dict[str, list[str]]:
    """Give each host's log; `train_1=lines` replaces one host's."""
    of_all = [line.replace("{nics}", str(nics)) for line in lines]
    channels = [f"Channel 0{number}/0 : 0[0] -> 8[0] [send] via NET/X/{number}{'/GDRDMA' if number < direct else ''}" for number in range(connections)]
    multicast = [] if nvls is None else [f"NVLS multicast support is {'' if nvls else 'not '}available on dev 0"]
    return {host: [*other.get(host.replace("-", "_"), [*of_all, *channels]), *multicast] for host in hosts}


def judged(
    of: tuple[Any, Any],
    rate: float,
    log: Sequence[str],
    *,
    nodes: int = 2,
    error: str = "",
    gpus_of_set: int = 8,
    printing: dict[str, Any] | None = None,
    **logging: Any,
) -> list[Any]:
    alike = node_set(of, nodes, gpus_of_set)
    wanted = judge.wanted(alike, nodes)
    text = printed(alike.nodes, wanted, rate, log=logs(alike.nodes, log, **logging), **(printing or {}))
    found: list[Any] = judge.judge(alike, judge.Run(alike.nodes, wanted, nccl_tests.parse(text), error))
    return found


def faults(checks: Sequence[Any]) -> set[tuple[str, str, str]]:
    return {(check.name, check.node, check.verdict.value) for check in checks if check.verdict is not document.Verdict.PASS}


FAR = "empty, ignoring"
NOWHERE = [f"ncclTopoGetCpuAffinity: Affinity for GPU {gpu} is {FAR}. (GPU affinity =  ; CPU affinity = 0-111)." for gpu in range(8)]

HEALTHY: dict[str, tuple[tuple[Any, Any], float, Sequence[str], dict[str, Any]]] = {
    "p5, two nodes, 16 GiB": (P5, 487, EFA_LOG, {"nics": 32}),
    "p4d, 4 EFA": (P4D, 77.9, EFA_LOG, {"nics": 4}),
    "p4de": (P4D, 78.3, EFA_LOG, {"nics": 4}),
    "a3-high, TCPX": (A3_HIGH, 65.7, TCPX_LOG, {"direct": 0}),
    "a3-mega, TCPXO": (A3_MEGA, 337.1, FASTRAK_LOG, {"direct": 0}),
    "a3-ultra, gIB": (A3_ULTRA, 325.7, GIB_LOG, {"direct": 0}),
    "H100, NDR, one provider": (NDR, 467.4, ib_log(8), {}),
    "H100, NDR, another provider": (NDR, 467.8, ib_log(8), {}),
    "H200, NDR": (NDR, 481.4, ib_log(8), {}),
    "H100, NDR, eight nodes with SHARP": (NDR, 386.6, ib_log(8), {"nodes": 8}),
    "one node with NVLink SHARP": (NDR, 478.9, (), {"nodes": 1}),
    "not checked for wrong values": (P5, 487, EFA_LOG, {"nics": 32, "printing": {"checked": False}}),
    "ranks on their share of processors": (P4D, 77.9, [*EFA_LOG, *near()], {"nics": 4}),
    "ranks on all processors of their GPU's socket": (P4D, 77.9, [*EFA_LOG, *near(*["0-95"] * 4, *["96-191"] * 4)], {"nics": 4}),
    "ranks on their share of processors, an older NCCL": (P4D, 77.9, [*EFA_LOG, *near_by_mask()], {"nics": 4}),
    "a machine that doesn't say which processors are near": (P4D, 77.9, [*EFA_LOG, *NOWHERE], {"nics": 4}),
    "a fabric that nobody measured, above its share": (UNMEASURED, 360, ib_log(8), {}),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_runs_pass(name: str) -> None:
    of, rate, log, changes = HEALTHY[name]
    assert faults(judged(of, rate, log, **changes)) == set()


RATE, TRANSPORT, VALUES, GPUS = "collective busbw", "collective transport", "collective values", "GPUs in a job"
AFFINITY = "affinity of ranks"
BOTH, FIRST, SECOND = "train-[0-1]", "train-0", "train-1"
SLOW = (RATE, BOTH, "fail")
SOCKET = {"train_1": SOCKET_LOG}
FAULTY: dict[str, tuple[tuple[Any, Any], float, Sequence[str], dict[str, Any], set[tuple[str, str, str]]]] = {
    "p4d with one EFA of four": (P4D, 20.3, EFA_LOG, {"nics": 1}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "p4d on plain TCP": (P4D, 8.2, SOCKET_LOG, {"direct": 0}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "p4d, EFA missing altogether": (P4D, 4.13, SOCKET_LOG, {"direct": 0}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "p4d with an old NCCL": (P4D, 45.7, EFA_LOG, {"nics": 4}, {SLOW}),
    "p5, 31 of 32 EFA on one node, fast enough": (
        P5,
        480,
        EFA_LOG,
        {"nics": 32, "train_1": [line.replace("{nics}", "31") for line in EFA_LOG]},
        {(TRANSPORT, SECOND, "fail")},
    ),
    "p5, one node on plain TCP": (P5, 5.1, EFA_LOG, {"nics": 32, **SOCKET}, {SLOW, (TRANSPORT, SECOND, "fail")}),
    "p5, fast enough over the wrong network": (P5, 487, ("Using network Other",), {}, {(TRANSPORT, BOTH, "fail")}),
    "p5 a little slow": (P5, 450, EFA_LOG, {"nics": 32}, {(RATE, BOTH, "warn")}),
    "p5, GPUDirect RDMA off": (P5, 240, EFA_LOG, {"nics": 32, "direct": 0}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "p5, GPUDirect RDMA on some connections": (P5, 400, EFA_LOG, {"nics": 32, "direct": 2}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "a3-high without TCPX": (A3_HIGH, 19.4, SOCKET_LOG, {"direct": 0}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "a3-mega with one NIC": (A3_MEGA, 4, SOCKET_LOG, {"direct": 0}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "a3-mega on RDMA of another fabric": (A3_MEGA, 310, ib_log(8), {"direct": 0}, {(RATE, BOTH, "warn"), (TRANSPORT, BOTH, "fail")}),
    "a3-ultra below Google's gate": (A3_ULTRA, 240, GIB_LOG, {"direct": 0}, {SLOW}),
    "no InfiniBand": (NDR, 3.76, SOCKET_LOG, {"direct": 0}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "seven of eight HCAs": (NDR, 408, ib_log(7), {}, {SLOW, (TRANSPORT, BOTH, "fail")}),
    "seven of eight HCAs on one node": (NDR, 430, ib_log(8), {"train_0": ib_log(7)}, {(RATE, BOTH, "warn"), (TRANSPORT, FIRST, "fail")}),
    "a slow rail": (NDR, 233, ib_log(8), {}, {SLOW}),
    "NVLink SHARP off in one node": (NDR, 370, (), {"nodes": 1, "nvls": False}, {(RATE, "train-0", "fail")}),
    "a throttled GPU in one node": (NDR, 310, (), {"nodes": 1}, {(RATE, "train-0", "fail")}),
    "a missing GPU": (P5, 470, EFA_LOG, {"nics": 32, "printing": {"gpus": {"train-1": 7}}}, {(GPUS, SECOND, "fail")}),
    "another GPU on one host": (P5, 470, EFA_LOG, {"nics": 32, "printing": {"models": {"train-1": "NVIDIA H100 PCIe"}}}, {(GPUS, SECOND, "fail")}),
    "wrong values": (P5, 487, EFA_LOG, {"nics": 32, "printing": {"wrong": 12}}, {(VALUES, BOTH, "fail")}),
    "killed before its end": (P5, 487, EFA_LOG, {"nics": 32, "printing": {"ended": False}, "error": "task 3: Killed"}, {(VALUES, BOTH, "fail")}),
    "ended before the large message": (P5, 289, EFA_LOG, {"nics": 32, "printing": {"size": 128 << 20}}, {(RATE, BOTH, "fail")}),
    "printed no rate: a driver too old for NCCL": (
        *(P5, 0, EFA_LOG, {"nics": 32, "printing": {"size": 0, "ended": False}, "error": "Test NCCL failure common.cu:958 'unhandled cuda error'"}),
        {(RATE, BOTH, "fail")},
    ),
    "NCCL logged nothing": (P5, 487, (), {"connections": 0, "nvls": None}, {(TRANSPORT, BOTH, "fail")}),
    "one host logged nothing": (P5, 487, EFA_LOG, {"nics": 32, "nvls": None, "train_1": ()}, {(TRANSPORT, SECOND, "fail")}),
    "eight nodes on two nodes' rate, without SHARP": (NDR, 330, ib_log(8), {"nodes": 8}, {(RATE, "train-[0-7]", "fail")}),
    "ranks far from their GPUs": (
        *(P4D, 50, [*EFA_LOG, *near(*[FAR] * 8)], {"nics": 4}),
        {SLOW, (AFFINITY, BOTH, "warn")},
    ),
    "two ranks of one node far from their GPUs, fast enough": (
        *(P4D, 77, [*EFA_LOG, *near()], {"nics": 4, "train_1": [*EFA_WITH_FOUR, *near("0-23", FAR, FAR)]}),
        {(AFFINITY, SECOND, "warn")},
    ),
    "ranks of one node far from their GPUs, an older NCCL": (
        *(P4D, 77, [*EFA_LOG, *near_by_mask()], {"nics": 4, "train_1": [*EFA_WITH_FOUR, *near_by_mask(range(4))]}),
        {(AFFINITY, SECOND, "warn")},
    ),
    "each rank of one node bound to one processor": (
        *(P4D, 60, [*EFA_LOG, *near()], {"nics": 4, "train_0": [*EFA_WITH_FOUR, *near(*(str(24 * gpu) for gpu in range(8)))]}),
        {SLOW, (AFFINITY, FIRST, "warn")},
    ),
    "all ranks of a socket on the same processors": (
        *(P4D, 60, [*EFA_LOG, *near()], {"nics": 4, "train_0": [*EFA_WITH_FOUR, *near(*["0-23"] * 4, *["96-119"] * 4)]}),
        {SLOW, (AFFINITY, FIRST, "warn")},
    ),
    "nobody measured it, and it is slow": (UNMEASURED, 120, ib_log(8), {}, {(RATE, BOTH, "warn")}),
}


@pytest.mark.parametrize("name", FAULTY)
def test_each_silent_failure_is_found_on_the_right_node(name: str) -> None:
    of, rate, log, changes, found = FAULTY[name]
    assert faults(judged(of, rate, log, **changes)) == found


@pytest.mark.parametrize(("rate", "verdict"), [(460, "pass"), (390, "warn"), (340, "fail")])
def test_a_floor_that_the_blueprint_lowered_is_named_in_every_verdict(rate: float, verdict: str) -> None:
    lowered = dataclasses.replace(P5[1][1], warn_gbs=450, floor_gbs=350.4, lowered_from_gbs=438)
    [check] = [one for one in judged((P5[0], (lowered,)), rate, EFA_LOG, nics=32) if one.name == RATE]
    assert (check.verdict.value, "350.4 GB/s at least" in check.expected) == (verdict, True)
    assert "the blueprint lowered the floor from 438 GB/s" in check.detail


def test_a_variable_of_somebody_else_is_named_and_its_value_wins() -> None:
    log = [*EFA_LOG, "NCCL_DEBUG set by environment to INFO.", "NCCL_ALGO set by environment to Ring.", "FI_EFA_USE_HUGE_PAGE set by environment to 0."]
    details = {check.detail for check in judged(P5, 487, log, nics=32) if check.name == TRANSPORT}
    assert details == {"set by somebody else: NCCL_ALGO=Ring"}


@pytest.mark.parametrize(
    ("lines", "measured"),
    [
        (near("0-23", FAR, FAR), "GPU 1, 2: no processor near it"),
        (near("0", "24-26"), "GPU 0: 1 of 24 processors; GPU 1: 3 of 24 processors"),
        (near(*["0-23"] * 4, *["96-119"] * 4), "8 ranks share 48 processors"),
        (near_by_mask(range(4)), "GPU 4, 5, 6, 7: no processor near it"),
    ],
)
def test_a_wrong_affinity_is_told_with_its_gpus(lines: list[str], measured: str) -> None:
    log = [*EFA_WITH_FOUR, *lines]
    assert [check.measured for check in judged(P4D, 77, log) if check.name == AFFINITY] == [measured]


def test_processors_that_ranks_have_to_share_are_not_judged() -> None:
    few = dataclasses.replace(node_set(P4D, 2), cpus=8)
    wanted = judge.wanted(few, 2)
    run = judge.Run(few.nodes, wanted, nccl_tests.parse(printed(few.nodes, wanted, 77, log=logs(few.nodes, [*EFA_WITH_FOUR, *near(*[FAR] * 8)]))), "")
    assert AFFINITY not in {check.name for check in judge.judge(few, run)}


@pytest.mark.parametrize(
    ("text", "old", "cpus"),
    [
        ("24-26,30", False, {24, 25, 26, 30}),
        ("144", False, {144}),
        (FAR, False, set()),
        ("ff", True, {*range(8)}),
        ("ff,00000000", True, {*range(32, 40)}),
        ("0-1,32-33", True, {0, 1, 32, 33}),
    ],
)
def test_processors_are_read_in_every_form(text: str, old: bool, cpus: set[int]) -> None:
    assert nccl_tests.read_cpus(text, may_be_mask=old) == cpus


def test_a_figure_of_more_nodes_holds_for_fewer_and_none_of_fewer_for_more() -> None:
    eight = node_set(NDR, 8)
    assert [getattr(judge.wanted(eight, count), "nodes", None) for count in (1, 2, 3, 8, 9)] == [1, 2, 8, 8, None]


@pytest.mark.parametrize("count", [3, 4, 5, 7, 8, 16, 33, 64])
def test_the_slow_node_is_found_within_two_jobs_a_level(count: int) -> None:
    nodes = [f"train-{number}" for number in range(count)]
    for bad in nodes:
        found = isolation.search(nodes, lambda part, bad=bad: bad in part)
        assert found.suspects == (bad,)
        assert found.jobs <= 2 * math.ceil(math.log2(count))


def test_a_slow_path_between_fast_halves_is_no_nodes_fault() -> None:
    nodes = [f"train-{number}" for number in range(8)]
    found = isolation.search(nodes, lambda part: len(part) > 4)
    assert (found.suspects, found.between, found.jobs) == ((), (tuple(nodes[:4]), tuple(nodes[4:])), 2)


def test_two_slow_nodes_in_different_halves_are_both_named() -> None:
    nodes = [f"train-{number}" for number in range(8)]
    found = isolation.search(nodes, lambda part: bool({"train-1", "train-6"} & {*part}))
    assert set(found.suspects) == {"train-1"} or set(found.suspects) == {"train-0", "train-1"}
    assert found.others == (("train-4", "train-5", "train-6", "train-7"),)


def test_what_is_not_gated_warns() -> None:
    slow = judged(P4D, 20.3, EFA_LOG, nics=1)
    assert not document.is_ok(slow)
    assert document.is_ok(gate.apply(slow, ("nodes", "gpus", "jobs")))
    assert not document.is_ok(gate.apply(slow, ("collectives",)))


def test_every_check_that_a_gate_names_is_one_of_acceptance() -> None:
    from components.finish import checks  # the table of codes names them all

    assert {name for names in gate.KINDS.values() for name in names} <= {*checks.NAMES}


def test_nodes_with_one_result_are_one_line() -> None:
    alone = [run for host in ("train-0", "train-1") for run in judge.judge(node_set(NDR, 2), _alone(host, 479))]
    assert {(check.name, check.node) for check in document.merged(alone)} == {(VALUES, BOTH), (RATE, BOTH)}


def test_a_node_that_computes_wrong_values_is_named_beside_the_job_that_it_spoils() -> None:
    alike = node_set(NDR, 2)
    together = judge.wanted(alike, 2)
    whole = judge.Run(alike.nodes, together, nccl_tests.parse(printed(alike.nodes, together, 467, log=logs(alike.nodes, ib_log(8)), wrong=3)), "")
    found = [check for run in (_alone("train-0", 479), _alone("train-1", 479, wrong=3), whole) for check in judge.judge(alike, run)]
    assert {one for one in faults(document.merged(found)) if one[0] == VALUES} == {(VALUES, SECOND, "fail"), (VALUES, BOTH, "fail")}


def _alone(host: str, rate: float, **more: Any) -> Any:
    wanted = judge.wanted(node_set(NDR, 2), 1)
    return judge.Run((host,), wanted, nccl_tests.parse(printed([host], wanted, rate, log={}, **more)), "")
