"""Turn what was measured into checks (pure)."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blueprints import hostlist

from .allocation import ACCOUNT, USER
from .document import Check, Verdict
from .expectation import Folder, NodeSet
from .slurm import AccountedJob, Node, Reservation, gres_gpus

SERVING = frozenset({"idle", "allocated", "mixed"})
POWER_FLAGS = frozenset({"powered_down", "powering_down", "powering_up", "power_up"})
"""On their way: somebody always starts a node that always runs."""
UNFIT_FLAGS = frozenset({"drain", "fail", "failing", "not_responding", "invalid_reg", "reboot_requested", "reboot_issued"}) | POWER_FLAGS
RESERVED_FLAGS = frozenset({"reserved", "maintenance", "maint"})
"""An administrator keeps the node for some jobs, or for no job."""
WINDOW = "clusterwright-maintenance-"
"""How reservations of the blueprint's maintenance windows begin (blueprints/maintenance_windows.py)."""
UNSETTLED_FLAGS = frozenset({"completing", "not_responding", "reboot_issued"}) | POWER_FLAGS
REFUSED = frozenset({"EPERM", "EACCES"})
LIMIT_WORDS = ("QOS", "Assoc", "policy", "limit")
"""Words with which Slurm refuses a job because of a limit: the administrator wanted it so."""
FEW = 5


def is_fit(node: Node | None) -> bool:
    return node is not None and node.base_state in SERVING and not node.flags & UNFIT_FLAGS


def is_settled(node: Node | None) -> bool:
    """True when waiting would not change the answer: it serves, or somebody took it out of service."""
    if node is None:
        return True
    return not node.flags & UNSETTLED_FLAGS and (node.base_state in SERVING or bool(node.flags & {"drain", "invalid_reg"}))


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """The nodes as they were when the wait for them ended."""

    nodes: Mapping[str, Node]
    silent: frozenset[str]
    """Nodes whose daemon doesn't answer, whatever the controller believes."""
    holders: Mapping[str, str]
    """The job on each busy node."""
    waited_s: float
    reservations: Sequence[Reservation] = ()
    left_to_roll: frozenset[str] = frozenset()
    """Nodes that were out of service before, and with which the roll deals that follows."""

    def is_free(self, name: str) -> bool:
        node = self.nodes.get(name)
        is_idle = node is not None and is_fit(node) and node.base_state == "idle" and name not in self.silent
        return is_idle and (not self.nodes[name].flags & RESERVED_FLAGS or self._is_in_window(name))

    @property
    def window(self) -> str:
        """Name the reservation of a maintenance window that is open, in which Slurm's administrator may run jobs; empty: there is none."""
        return next((one.name for one in self.reservations if one.name.startswith(WINDOW)), "")

    def _is_in_window(self, name: str) -> bool:
        """Say whether nothing but maintenance windows of the blueprint keeps jobs off a node."""
        holding = [one for one in self.reservations if one.holds(name)]
        return bool(holding) and all(one.name.startswith(WINDOW) for one in holding)

    def holder(self, name: str) -> str:
        """Say what keeps a node that serves from the job of the acceptance."""
        node = self.nodes[name]
        if node.flags & RESERVED_FLAGS:
            found = next((one for one in self.reservations if one.holds(name)), None)
            return f"reserved by {found.name} until {found.end}" if found else "reserved"
        return f"busy with job {self.holders.get(name, '?')}"


def node_states(node_set: NodeSet, seen: Seen) -> list[Check]:
    """Every node serves, but for those that wait for a roll. One that a user's job holds is as good as an idle one, but what follows can't be measured there."""
    checks = []
    for name in node_set.nodes:
        node = seen.nodes.get(name)
        if seen.is_free(name):
            continue
        if node is not None and is_fit(node) and name not in seen.silent:
            checks.append(_check("node state", name, "idle", node.state, Verdict.REPORTED, seen.holder(name)))
            continue
        if node is not None and name in seen.left_to_roll:
            checks.append(_check("node left to the roll", name, "not tested", node.state, Verdict.REPORTED, node.reason))
            continue
        state = "unknown to the controller" if node is None else node.state
        measured = f"{state}, but its daemon does not answer" if name in seen.silent else state
        look_at = f"`scontrol show node {name}`; on {name}: `journalctl -u slurmd -u munge`"
        if node is not None and "drain" in node.flags:
            look_at += f"; `scontrol update NodeName={name} State=RESUME` on the controller returns it to service"
        reason = f"{node.reason}; " if node is not None and node.reason else ""
        checks.append(_check("node state", name, "idle", measured, Verdict.FAIL, f"{reason}waited {seen.waited_s:.0f} s", look_at))
    idle = tuple(name for name in node_set.nodes if seen.is_free(name))
    if idle:
        checks.append(_check("node state", hostlist.compress(idle), "idle", "idle", Verdict.PASS, ""))
    return checks


def gres(node_set: NodeSet, nodes: Mapping[str, Node]) -> list[Check]:
    """GPUs, or MIG instances, that the controller counts on each node, by count and type."""
    expected = _kinds(node_set.kinds)

    def measure(name: str) -> tuple[str, Verdict]:
        node = nodes.get(name)
        counts = gres_gpus(node.gres) if node is not None else {}
        return _kinds(counts), Verdict.PASS if counts == node_set.kinds else Verdict.FAIL

    known = [name for name in node_set.nodes if name in nodes]
    return _per_node("GPUs known to Slurm", known, expected, measure, look_at="`scontrol show node {}`, gres.conf on the controller")


def _kinds(kinds: Mapping[str, int]) -> str:
    return ", ".join(_gpus(gpu_type, count) for gpu_type, count in sorted(kinds.items())) or "none"


def _gpus(gpu_type: str, count: int) -> str:
    return f"{count} x {gpu_type or 'untyped'}" if count else "none"


def gpus_in_job(node_set: NodeSet, tested: Sequence[str], whole: Mapping[str, Any]) -> list[Check]:
    """GPUs that a job over all nodes sees on each, and that it may open them."""
    seen = {line["node"]: line for line in whole["lines"]}
    kind = "MIG instance" if node_set.instances else node_set.gpu_type
    expected = _gpus(kind, node_set.gpu_count)

    def measure(name: str) -> tuple[str, Verdict]:
        if name not in seen:
            return f"no answer: {whole['error']}", Verdict.FAIL
        line = seen[name]
        if node_set.instances:
            refused = sorted(one for one, outcome in line["instances"].items() if outcome in REFUSED)
        else:
            refused = [gpu for gpu in line["visible_gpus"] if line["devices"].get(gpu) in REFUSED | {None}]
        models = sorted(set(line["models"]))
        other = [model for model in models if node_set.gpu_type not in model.lower()]
        measured = _gpus(kind, len(line["visible_gpus"]))
        if other and not node_set.simulated:
            return f"{measured}, the driver says {', '.join(other)}", Verdict.FAIL
        if refused:
            return f"{measured}, not to be opened: {', '.join(refused)}", Verdict.FAIL
        return measured, Verdict.PASS if len(line["visible_gpus"]) == node_set.gpu_count else Verdict.FAIL

    return _per_node("GPUs in a job", tested, expected, measure, look_at="on {}: `ls -l /dev/nvidia*`, `journalctl -u slurmd`")


def rendezvous(tested: Sequence[str], whole: Mapping[str, Any]) -> list[Check]:
    seen = {line["node"]: line for line in whole["lines"]}
    everyone = sorted(tested)

    def measure(name: str) -> tuple[str, Verdict]:
        if name not in seen:
            return f"no answer: {whole['error']}", Verdict.FAIL
        line = seen[name]
        if line.get("unresolved"):
            return f"does not resolve {hostlist.compress(line['unresolved'])}", Verdict.FAIL
        if sorted(line.get("met", [])) != everyone:
            return line.get("meeting") or f"met {hostlist.compress(line.get('met', [])) or 'nobody'}", Verdict.FAIL
        return f"met {len(everyone)}", Verdict.PASS

    return _per_node("rendezvous by node name", tested, f"met {len(everyone)}", measure, look_at="on {}: `getent hosts`, `ip address`")


def device_confinement(node_set: NodeSet, tested: Sequence[str], share: Mapping[str, Any], *, configured: bool) -> list[Check]:
    """A step with one GPU must not open another one of its node."""
    if node_set.gpu_count < 2:
        return []
    seen = {line["node"]: line for line in share["lines"]}

    def measure(name: str) -> tuple[str, Verdict]:
        if name not in seen:
            return f"no answer: {share['error']}", Verdict.FAIL
        line = seen[name]
        if node_set.instances:
            foreign, own = line["instances"], 1
        else:
            foreign, own = {gpu: opened for gpu, opened in line["devices"].items() if gpu not in line["step_gpus"]}, 0
        # Slurm counts instances by a number of its own: of those that a step can open, one is its own.
        opened = sorted(gpu for gpu, outcome in foreign.items() if outcome not in REFUSED)[own:]
        if len(foreign) <= own:
            return "no foreign GPU to try", Verdict.ERROR
        if not opened:
            return "refused", Verdict.PASS
        return f"foreign GPUs {', '.join(opened)} may be opened", Verdict.FAIL if configured else Verdict.REPORTED

    return _per_node(
        *("confinement of GPUs", tested, "refused" if configured else "not configured", measure),
        look_at="on {}: `cat /run/slurm/conf/cgroup.conf`, `journalctl -u slurmd`",
    )


def core_confinement(node_set: NodeSet, tested: Sequence[str], share: Mapping[str, Any], *, configured: bool) -> list[Check]:
    """A step with one core must not run on another one, even if it asks."""
    if node_set.cpus < 2:
        return []
    seen = {line["node"]: line for line in share["lines"]}

    def measure(name: str) -> tuple[str, Verdict]:
        if name not in seen:
            return f"no answer: {share['error']}", Verdict.FAIL
        count = len(seen[name]["reachable_cpus"])
        confined = count < node_set.cpus
        if not configured:
            return "not confined" if not confined else f"{count} CPUs", Verdict.REPORTED
        return f"{count} of {node_set.cpus} CPUs", Verdict.PASS if confined else Verdict.FAIL

    return _per_node(
        *("confinement of cores", tested, "its own cores only" if configured else "not configured", measure),
        look_at="on {}: `cat /run/slurm/conf/cgroup.conf`, `journalctl -u slurmd`",
    )


def all_reduce(tested: Sequence[str], outcome: Mapping[str, Any]) -> list[Check]:
    """Values are judged; the rate is reported, as no floor is known for what runs here."""
    where = hostlist.compress(tested)
    expected = f"0 wrong values over {len(tested)} processes"
    look_at = f"as a user: `srun --mpi=pmix -w {where} …`; `srun --mpi=list`"
    if not outcome["lines"]:
        return [_check("MPI all-reduce", where, expected, "no result", Verdict.FAIL, outcome["error"], look_at)]
    line = outcome["lines"][0]
    complete = line["processes"] == len(tested) and line["wrong_values"] == 0
    measured = f"{line['wrong_values']} wrong values over {line['processes']} processes"
    checks = [
        _check(
            *("MPI all-reduce", where, expected, measured, Verdict.PASS if complete else Verdict.FAIL, line["library"]),
            "" if complete else look_at,
        )
    ]
    if complete and len(tested) > 1:
        rate = bus_bandwidth(size_bytes=line["bytes"], seconds=line["seconds"], processes=line["processes"])
        size = f"{line['bytes'] >> 20} MiB, one process a node, over Ethernet"
        checks.append(_check("all-reduce busbw", where, "", f"{rate:.3f}", Verdict.REPORTED, size, unit="GB/s"))
    return checks


def bus_bandwidth(*, size_bytes: int, seconds: float, processes: int) -> float:
    """Give GB/s by the rule of nccl-tests: size over time, times 2(n-1)/n for an all-reduce (doc/PERFORMANCE.md there)."""
    return size_bytes / seconds / 1e9 * 2 * (processes - 1) / processes


def accounting(node_set: NodeSet, tested: Sequence[str], job: str, found: AccountedJob | None, *, waited_s: float) -> Check:
    gpus = node_set.gpu_count * len(tested)
    expected = f"COMPLETED, {USER} of {ACCOUNT}, {len(tested)} nodes, {gpus} GPUs"
    look_at = f"`sacct -j {job}`; on the controller: `journalctl -u slurmdbd -u slurmctld`"
    where = hostlist.compress(tested)
    if found is None:
        return _check("accounting", where, expected, f"job {job} is not there", Verdict.FAIL, f"waited {waited_s:.0f} s", look_at)
    measured = f"{found.state}, {found.user} of {found.account}, {found.node_count} nodes, {found.gpu_count} GPUs"
    passed = measured == expected
    return _check(
        *("accounting", where, expected, measured, Verdict.PASS if passed else Verdict.FAIL, f"job {job}"),
        "" if passed else look_at,
    )


def accounting_silent(tested: Sequence[str], job: str, said: str) -> Check:
    look_at = "on the controller: `systemctl status slurmdbd mariadb`, `journalctl -u slurmdbd`"
    return _check("accounting", hostlist.compress(tested), f"job {job}", "no answer", Verdict.ERROR, said, look_at)


def users(tested: Sequence[str], whole: Mapping[str, Any], count: int) -> list[Check]:
    """Every node knows the cluster's users, each by the same number."""
    if not count:
        return []
    seen = {line["node"]: line for line in whole["lines"]}
    expected = f"{count} known"

    def measure(name: str) -> tuple[str, Verdict]:
        if name not in seen:
            return f"no answer: {whole['error']}", Verdict.FAIL
        unknown = seen[name].get("unknown_users") or []
        return (f"unknown: {_few(unknown)}", Verdict.FAIL) if unknown else (expected, Verdict.PASS)

    return _per_node("users", tested, expected, measure, look_at="on {}: `getent passwd`, `mount | grep /var/lib/clusterwright`")


def folders(tested: Sequence[str], whole: Mapping[str, Any], wanted: Sequence[Folder]) -> list[Check]:
    """A user may write where the blueprint says that users may."""
    seen = {line["node"]: line for line in whole["lines"] if line["node"] in tested}
    checks = []
    for folder in wanted:
        if folder.writers not in ("users", ""):
            continue
        refused = sorted(name for name, line in seen.items() if line.get("writable", {}).get(folder.path) is False)
        able = sorted(name for name, line in seen.items() if line.get("writable", {}).get(folder.path))
        if refused:
            look_at = f"on the controller: `stat {folder.path}`; `chown root: {folder.path} && chmod 1777 {folder.path}` lets users write"
            detail = "it holds files, and the blueprint has no `writable_by` for it: it stays as it is"
            found = (Verdict.FAIL, "", look_at) if folder.writers else (Verdict.REPORTED, detail, "")
            checks.append(_check("shared storage", hostlist.compress(refused), f"users write in {folder.path}", "refused", *found))
        if able:
            checks.append(_check("shared storage", hostlist.compress(able), f"users write in {folder.path}", "allowed", Verdict.PASS, ""))
    return checks


def submission(node_set: NodeSet, refused: str) -> Check:
    """A user may submit a job to the partition.

    Args:
        refused: what Slurm said against it; empty when it accepts the job.
    """
    applicant = node_set.applicant
    if applicant is None:
        detail = "no user's account and quality of service is allowed there"
        return _check("job of a user", node_set.hostlist, "accepted", "not tried", Verdict.REPORTED, detail)
    expected = f"{applicant.user} of {applicant.account} may submit to {node_set.partition}"
    if not refused:
        return _check("job of a user", node_set.hostlist, expected, "accepted", Verdict.PASS, "")
    verdict = Verdict.REPORTED if any(word in refused for word in LIMIT_WORDS) else Verdict.FAIL
    look_at = f"`id {applicant.user}`, `sacctmgr show associations where user={applicant.user}`, `scontrol show partition {node_set.partition}`"
    return _check("job of a user", node_set.hostlist, expected, "refused", verdict, refused, look_at if verdict is Verdict.FAIL else "")


def not_started(node_set: NodeSet, tested: Sequence[str], reason: str, *, is_busy: bool) -> Check:
    """The job waits, with the queue's reason: other jobs are no fault of the cluster, all else is."""
    where = hostlist.compress(tested)
    if is_busy:
        detail = f"Slurm's reason: {reason}; 0 of {len(node_set.nodes)} nodes were judged by a job"
        return _check("job over all nodes", where, "runs", "waits behind other jobs", Verdict.REPORTED, detail)
    return _check("job over all nodes", where, "runs", "does not start", Verdict.FAIL, f"Slurm's reason: {reason}", _way_out(reason, node_set))


def closed(node_set: NodeSet, state: str) -> Check:
    """The partition takes or starts no jobs."""
    look_at = f"`scontrol update PartitionName={node_set.partition} State=UP` on the controller opens it"
    detail = f"the partition {node_set.partition} is {state}"
    return _check("job over all nodes", node_set.hostlist, "runs", "does not start", Verdict.FAIL, detail, look_at)


def part_judged(node_set: NodeSet, tested: Sequence[str]) -> list[Check]:
    """Say on how many nodes the job ran where others are busy or out of service."""
    if len(tested) == len(node_set.nodes):
        return []
    left = [name for name in node_set.nodes if name not in tested]
    detail = f"left out: {hostlist.compress(left)}"
    measured = f"ran on {len(tested)} of {len(node_set.nodes)} nodes"
    return [_check("job over all nodes", hostlist.compress(tested), f"runs on {len(node_set.nodes)} nodes", measured, Verdict.REPORTED, detail)]


def unjudged(tested: Sequence[str], said: str) -> Check:
    """The job started and ended without a result."""
    look_at = "`squeue`, `sinfo -R`; on the controller: `journalctl -u slurmctld`"
    return _check("job over all nodes", hostlist.compress(tested), "runs", "did not run", Verdict.FAIL, said, look_at)


def _way_out(reason: str, node_set: NodeSet) -> str:
    if reason.startswith("Partition"):
        return f"`scontrol show partition {node_set.partition}`: its state, AllowAccounts, AllowQos and limits; `scontrol reconfigure` on the controller restores the blueprint's"
    if reason.startswith(("Assoc", "QOS")) or "policy" in reason:
        return f"`sacctmgr show associations where account={ACCOUNT}` and `sacctmgr show qos`: a limit on the whole cluster keeps the job from starting"
    return "`squeue`, `sinfo -R`; on the controller: `journalctl -u slurmctld`"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def _per_node(name: str, nodes: Sequence[str], expected: str, measure: Callable[[str], tuple[str, Verdict]], *, look_at: str) -> list[Check]:
    """One check for all nodes with the same result, so that a thousand nodes with one fault are one line."""
    alike: dict[tuple[str, Verdict], list[str]] = {}
    for node in nodes:
        alike.setdefault(measure(node), []).append(node)
    return [
        _check(name, hostlist.compress(same), expected, measured, verdict, "", look_at.format(same[0]) if verdict in (Verdict.FAIL, Verdict.ERROR) else "")
        for (measured, verdict), same in alike.items()
    ]


def _check(name: str, node: str, expected: str, measured: str, verdict: Verdict, detail: str, look_at: str = "", *, unit: str = "") -> Check:
    return Check(name=name, node=node, expected=expected, measured=measured, verdict=verdict, detail=detail, look_at=look_at, unit=unit)
