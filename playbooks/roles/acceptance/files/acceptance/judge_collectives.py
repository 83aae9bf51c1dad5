"""Judge what a collective over a pool delivered: values, transport, rate (pure).

A collective that gives right values over the wrong network is the failure that nobody notices: the transport is judged by NCCL's own log, whatever the rate.
"""

import dataclasses
from collections.abc import Sequence

from blueprints import hostlist

from .document import Check, Verdict
from .expectation import Collective, Fabric, NodeSet
from .isolation import Found
from .nccl_tests import HostLog, Output

SOCKET = ("NET/Socket", "Using network Socket")
LEAST_SHARE = 2
"""Processors of each GPU, below which ranks have to share them anyway."""
GIB = 1 << 30
MIB = 1 << 20
OVERRIDES = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_TIMESTAMP_FORMAT", "NCCL_TESTS_SPLIT")
"""Variables of acceptance itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One collective over some nodes."""

    nodes: tuple[str, ...]
    wanted: Collective
    output: Output
    error: str
    """Why the program failed; empty when it came to its end."""


def wanted(node_set: NodeSet, nodes: int) -> Collective | None:
    """Choose the figure for a number of nodes: its own, or that of the next larger number, which is never higher; None: nothing is known."""
    fitting = [one for one in node_set.collectives if one.nodes == nodes] or sorted(
        (one for one in node_set.collectives if one.nodes > nodes > 1), key=lambda one: one.nodes
    )
    return fitting[0] if fitting else None


def is_short(node_set: NodeSet, run: Run) -> bool:
    """Say whether a run failed for the nodes that it ran over, so that smaller groups are worth a look."""
    return any(check.verdict in (Verdict.FAIL, Verdict.ERROR) for check in judge(node_set, run))


def judge(node_set: NodeSet, run: Run) -> list[Check]:
    """Give the checks of one run: values, affinity, transport, rate."""
    if not run.output.rows:
        return [_check("collective busbw", run, _figure(run.wanted), "no result", Verdict.FAIL, run.error or "the program printed no rate", _look_at(run))]
    checks = [_values(run), *_ranks(node_set, run)]
    checks += _affinity(node_set, run)
    if len(run.nodes) > 1 and node_set.fabric is not None:
        checks += _transport(node_set.fabric, run)
    return [*checks, _rate(run)]


def isolated(run: Run, found: Found) -> list[Check]:
    """Say what the search for the slow part came to."""
    expected = "every part of the pool as fast as the whole should be"
    jobs = f"found with {found.jobs} further runs"
    if found.suspects:
        where = hostlist.compress(found.suspects)
        others = "; slow as well, not divided further: " + ", ".join(hostlist.compress(one) for one in found.others) if found.others else ""
        look_at = f"on {found.suspects[0]}: `nvidia-smi -q -d PERFORMANCE,ECC`, `nvidia-smi topo -m`, `ibstat` or `ethtool -S`; `dmesg | grep -i -e xid -e mlx -e efa`"
        return [
            dataclasses.replace(
                _check("slow part of a pool", run, expected, f"slow wherever {where} takes part", Verdict.FAIL, jobs + others, look_at), node=where
            )
        ]
    if found.between:
        one, other = (hostlist.compress(part) for part in found.between)
        look_at = "the switches and links between both: port speeds, error counters, and whether the uplinks carry all ports at full rate"
        return [_check("slow part of a pool", run, expected, f"{one} and {other} are fast each and slow together", Verdict.FAIL, jobs, look_at)]
    return []


def unjudged(node_set: NodeSet, tested: Sequence[str], why: str) -> Check:
    """A figure is expected and the nodes have no program that measures it."""
    figure = wanted(node_set, len(tested))
    expected = _figure(figure) if figure else ""
    return Check(name="collective busbw", node=hostlist.compress(tested), expected=expected, measured="not measured", verdict=Verdict.WARN, detail=why)


def _values(run: Run) -> Check:
    """What a node computes wrong by itself is no line with what the nodes compute wrong together: the first names the node."""
    expected = f"0 wrong values {'inside a node' if len(run.nodes) == 1 else 'over all nodes'}"
    wrong = sum(row.wrong or 0 for row in run.output.rows) or run.output.out_of_bounds or 0
    if run.output.out_of_bounds is None:
        return _check("collective values", run, expected, "the program did not come to its end", Verdict.FAIL, run.error, _look_at(run))
    look_at = "" if not wrong else "ECC and Xid of the GPUs (`nvidia-smi -q -d ECC`, `dmesg | grep -i xid`); the same NCCL and plugin on all nodes"
    return _check("collective values", run, expected, f"{wrong} wrong values", Verdict.FAIL if wrong else Verdict.PASS, "", look_at)


def _ranks(node_set: NodeSet, run: Run) -> list[Check]:
    """Every node takes part with all of its GPUs, and with the same model."""
    counts = {name: sum(rank.host == name for rank in run.output.ranks) for name in run.nodes}
    short = [name for name, count in counts.items() if count != node_set.gpu_count]
    found = []
    if short:
        measured = ", ".join(f"{name} with {counts[name]}" for name in short[:4])
        found.append(_on(run, short, "GPUs in a job", f"{node_set.gpu_count} GPUs of each node", measured, "on {}: `nvidia-smi -L`, `journalctl -u slurmd`"))
    models = {name: tuple(sorted({rank.model for rank in run.output.ranks if rank.host == name})) for name in run.nodes}
    usual = max([*models.values()], key=[*models.values()].count, default=())  # of two that are equally frequent, the first node's
    other = [name for name in run.nodes if models[name] != usual]
    if other:
        found.append(_on(run, other, "GPUs in a job", ", ".join(usual), ", ".join(models[other[0]]) or "none", "on {}: `nvidia-smi -L`"))
    return found


def _affinity(node_set: NodeSet, run: Run) -> list[Check]:
    """Every rank runs on processors near its GPU, and on enough of them: far ones halve what a NIC gets of a GPU's data, and no value is wrong.

    It warns: the rate tells what it costs.
    """
    share = node_set.cpus // max(node_set.gpu_count, 1)
    if share < LEAST_SHARE or not node_set.machines_exist:
        return []
    faults: dict[str, list[str]] = {}
    for name in run.nodes:
        log = run.output.log.get(name, HostLog())
        devices = sorted({rank.device for rank in run.output.ranks if rank.host == name})
        for fault in _affinity_faults(log, devices, share):
            faults.setdefault(fault, []).append(name)
    expected = f"each rank on processors near its GPU, up to {share}"
    if not faults and any(log.near_cpus for log in run.output.log.values()):
        return [_check("affinity of ranks", run, expected, "as it should be", Verdict.PASS, "", "")]
    look_at = "on {}: `nvidia-smi topo -m`, `lscpu | grep NUMA`; `scontrol show config | grep TaskPlugin`; NCCL_IGNORE_CPU_AFFINITY=1 uses all near ones"
    return [dataclasses.replace(_on(run, names, "affinity of ranks", expected, fault, look_at), verdict=Verdict.WARN) for fault, names in faults.items()]


def _affinity_faults(log: HostLog, devices: Sequence[int], share: int) -> list[str]:
    if not log.near_cpus:
        return []
    counts = {device: log.near_cpus.get(str(device), 0) for device in devices}
    known = {device: count for device, count in counts.items() if count is not None}
    far = [str(device) for device, count in known.items() if not count]
    few = {device: count for device, count in known.items() if 0 < count < share / 2}
    found = []
    if far:
        found.append(f"GPU {', '.join(far)}: no processor near it")
    if few:
        found.append("; ".join(f"GPU {device}: {count} of {share} processors" for device, count in few.items()))
    elif known and not far and log.distinct_cpus < len(known) * share / 2:
        found.append(f"{len(known)} ranks share {log.distinct_cpus} processors")
    return found


def _transport(fabric: Fabric, run: Run) -> list[Check]:
    logs = run.output.log
    expected = f"{fabric.title}: {fabric.log_line}" if fabric.log_line else fabric.title
    if not logs:
        detail = "NCCL logged nothing: what carried the data is unknown"
        return [_check("collective transport", run, expected, "unknown", Verdict.FAIL, detail, "NCCL_DEBUG of the job's environment; /etc/nccl.conf")]
    faults: dict[str, list[str]] = {}
    for name in run.nodes:
        for fault in _transport_faults(fabric, logs.get(name, HostLog())):
            faults.setdefault(fault, []).append(name)
    differing = {name for name, log in logs.items() if log.nvls is False} if any(log.nvls for log in logs.values()) else set()
    if differing:
        faults["NVLink SHARP is not available here, and is on other nodes"] = sorted(differing)
    if not faults:
        return [_check("collective transport", run, expected, fabric.log_line or "as it should be", Verdict.PASS, _own_values(fabric, run), "")]
    look_at = "on {}: the fabric's plugin and driver, `ldconfig -p | grep nccl-net`, `ls /sys/class/infiniband`, /etc/nccl.conf"
    return [_on(run, names, "collective transport", expected, fault, look_at, detail=_own_values(fabric, run)) for fault, names in faults.items()]


def _transport_faults(fabric: Fabric, log: HostLog) -> list[str]:
    bad = [words for words in fabric.bad_log_lines or SOCKET if log.has(words)]
    if bad:
        return [f"plain TCP ({bad[0]})"]
    if fabric.log_line and not log.has(fabric.log_line):
        return [f"no line «{fabric.log_line}»" + (f"; used {', '.join(log.networks)}" if log.networks else "")]
    found = []
    if log.nics is not None and fabric.nics and log.nics != fabric.nics:
        found.append(f"{log.nics} of {fabric.nics} NICs")
    if log.direct and log.direct < log.channels:
        found.append(f"GPUDirect RDMA on {log.direct} of {log.channels} connections")
    elif log.channels and not log.direct and fabric.direct:
        found.append("without GPUDirect RDMA")
    return found


def _own_values(fabric: Fabric, run: Run) -> str:
    """Name variables that come neither from the fabric nor from acceptance, and those with another value than the fabric's: a user's own value wins."""
    seen = {name: value for log in run.output.log.values() for name, value in log.set_by_environment.items()}
    own = {name: value for name, value in seen.items() if name not in OVERRIDES and fabric.environment.get(name) != value}
    by = f"set by {fabric.environment_script} or by somebody else" if fabric.environment_script else "set by somebody else"
    return f"{by}: " + ", ".join(f"{name}={value}" for name, value in sorted(own.items())) if own else ""


def _rate(run: Run) -> Check:
    row = run.output.row(run.wanted.size_bytes)
    expected = _figure(run.wanted)
    if row is None:
        detail = run.error or f"the largest message was {_size(max(one.size_bytes for one in run.output.rows))}"
        return _check("collective busbw", run, expected, f"nothing at {_size(run.wanted.size_bytes)}", Verdict.FAIL, detail, _look_at(run))
    rate, wanted_one = row.busbw_gbs, run.wanted
    if rate < wanted_one.floor_gbs:
        verdict = Verdict.WARN if wanted_one.provisional else Verdict.FAIL
        return _check("collective busbw", run, expected, f"{rate:g}", verdict, _reason(run, rate), _look_at(run), unit="GB/s")
    if wanted_one.warn_gbs is not None and rate < wanted_one.warn_gbs:
        detail = "; ".join([f"healthy clusters reach {wanted_one.warn_gbs:g}", *_about(run)])
        return _check("collective busbw", run, expected, f"{rate:g}", Verdict.WARN, detail, _look_at(run), unit="GB/s")
    return _check("collective busbw", run, expected, f"{rate:g}", Verdict.PASS, "; ".join(_about(run)), "", unit="GB/s")


def _reason(run: Run, rate: float) -> str:
    typical = run.wanted.typical_gbs or run.wanted.floor_gbs
    parts = [f"{rate / typical:.0%} of {'the usual rate' if run.wanted.typical_gbs else 'the least rate'}"]
    if run.wanted.note:
        parts.append(run.wanted.note)
    if run.wanted.provisional:
        parts.append(f"the figure is provisional ({run.wanted.source}): it warns and does not fail")
    return "; ".join([*parts, *_about(run)])


def _about(run: Run) -> list[str]:
    """Say what a reader must know of the figure and of the measurement."""
    base = run.wanted.measured_nodes
    extrapolated = f"the figure for {run.wanted.nodes} nodes is extrapolated from {base} (docs/collectives.md)" if base else ""
    lowered = f"the blueprint lowered the floor from {run.wanted.lowered_from_gbs:g} GB/s" if run.wanted.lowered_from_gbs is not None else ""
    return [text for text in (lowered, extrapolated, _told(run)) if text]


def _told(run: Run) -> str:
    return "simulated: the program stands in for nccl-tests, and no GPU computed" if run.output.simulated else ""


def _figure(one: Collective) -> str:
    return f"{one.collective} of {_size(one.size_bytes)}: {one.floor_gbs:g} GB/s at least"


def _size(count: int) -> str:
    return f"{count // GIB} GiB" if count >= GIB else f"{count // MIB} MiB"


def _look_at(run: Run) -> str:
    return f"GPUs, NICs and links of {hostlist.compress(run.nodes)}; `clusterwright accept` measures again"


def _on(run: Run, names: Sequence[str], check: str, expected: str, measured: str, look_at: str, *, detail: str = "") -> Check:
    found = _check(check, run, expected, measured, Verdict.FAIL, detail, look_at.format(names[0]))
    return dataclasses.replace(found, node=hostlist.compress(names))


def _check(name: str, run: Run, expected: str, measured: str, verdict: Verdict, detail: str, look_at: str, *, unit: str = "") -> Check:
    return Check(name=name, node=hostlist.compress(run.nodes), expected=expected, measured=measured, verdict=verdict, detail=detail, look_at=look_at, unit=unit)
