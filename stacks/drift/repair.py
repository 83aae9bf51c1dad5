"""Carry out what `fix` planned about drift: run the steps on the hosts, finish hosts again, and check what became of each finding."""

import dataclasses
import fnmatch
import shlex
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, HostSubject, Subject, Unit
from blueprints.spec import ClusterSpec
from components.bmc import boards
from components.bmc.model import Action
from components.finish import group
from components.inspection import in_place
from components.inspection.codes import Code
from components.inspection.finding import layer_of
from components.inspection.hosts import ssh_keys
from components.inspection.layer import Layer
from components.inspection.recorded_cluster import Known, KnownHost
from components.provider.kind import Work
from components.repair import shipping

from ..acceptance import repaired_hosts
from ..bmcs import asking, order, safeguards
from ..errors import BadIgnoreFile, Problem
from . import boots, detect, filters, fix, ignore
from .fix.step import Cluster, Switch
from .report import Ignored, Report, fingerprint

JOBS = ("squeue", "--noheader", "--all", "--states=RUNNING,COMPLETING,CONFIGURING,SUSPENDED,STOPPED,SIGNALING", "--format=%N")
ASIDE = "/var/lib/clusterwright/set-aside"
"""Folder on each host, readable by root alone, for files that somebody added or changed."""
ROUNDS = 3
"""How often it is looked and repaired again: a controller that answers again says which nodes have jobs, and a folder that is back shows what was in it."""
FINISH_WITHIN_S = 3600
DATABASE = "mariadb.service"
"""Its tables outlive the controller's disk. Where they are damaged, it doesn't start."""
KUBERNETES = "kubernetes"
"""Role of the hosts of a control plane of Kubernetes."""
SERVES_WITHIN_S = 900
"""A server that was switched on; machines with eight GPUs take minutes to boot."""


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """What a person allows to be repaired."""

    kinds: frozenset[fix.Kind] | None = None
    """None: all but those that have to be named."""
    only: tuple[tuple[str, str], ...] = ()
    """Patterns of code and place of single findings; empty: all."""

    def covers(self, finding: Finding) -> bool:
        return not self.only or any(fnmatch.fnmatchcase(finding.code, code) and fnmatch.fnmatchcase(finding.place, place) for code, place in self.only)


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """A plan that somebody may agree to."""

    stack: str
    layers: tuple[Layer, ...]
    selection: Selection
    checked: detect.Checked
    known: Known
    plan: fix.Plan
    drift: tuple[Finding, ...]
    """What differs, is selected and isn't ignored."""
    ignored: tuple[Ignored, ...]
    entries: tuple[ignore.Entry, ...]
    despite_jobs: bool = False
    """Somebody agreed to what running jobs may notice."""
    becoming: ClusterSpec | None = None
    """The cluster as it should become; None: as it is recorded."""

    @property
    def unreachable(self) -> frozenset[str]:
        return unreachable(self.checked)

    @property
    def guarded(self) -> set[str]:
        """Hosts on which a job that came meanwhile makes a step wait."""
        return set() if self.despite_jobs else {host.name for host in self.known.hosts if host.role == "compute"}


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How repairs ended."""

    report: Report
    """What a check finds afterwards."""
    stayed: tuple[tuple[Finding, str], ...]
    """Findings that a step should have ended and that are still there, with what the step said."""
    plan: fix.Plan
    """What could be repaired of the rest, and what could not."""
    checked: detect.Checked
    """The last check, of all layers that it needed."""
    repaired: frozenset[str] = frozenset()
    """Hosts on which something was done that a job could notice: what acceptance found there is older."""


def prepare(stack: str, *, layers: tuple[Layer, ...], selection: Selection, ignore_file: Path) -> Repair:
    """Check the stack and plan what to do about its drift.

    Raises:
        Problem: the ignore file is unusable, or a layer could not be checked.
    """
    try:
        entries = ignore.read(ignore_file)
    except BadIgnoreFile as error:
        raise Problem("nothing is fixed, because the ignore file is unusable", why=str(error), remedy="correct the ignore file") from error
    # Only the scheduler knows which nodes have jobs, whatever is fixed.
    return planned(stack, detect.detect(stack, layers={*layers, Layer.SCHEDULER}), layers=layers, selection=selection, entries=entries)


def planned(
    stack: str,
    checked: detect.Checked,
    *,
    layers: tuple[Layer, ...],
    selection: Selection,
    entries: Sequence[ignore.Entry],
    despite_jobs: bool = False,
    becoming: ClusterSpec | None = None,
) -> Repair:
    """Plan what to do about the drift that a check found.

    Args:
        becoming: the cluster as it should become: what its hosts restart for is left to a roll. None: as it is recorded.
    Raises:
        Problem: a layer could not be checked.
    """
    if checked.known is None or checked.report.failures:
        why = "\n".join(dict.fromkeys(result.failure for result in checked.report.failures))
        raise Problem("nothing is fixed, because not every layer could be checked", why=why, remedy="correct that first")
    found = [finding for finding in checked.report.findings if layer_of(finding) in layers and selection.covers(finding)]
    wanted, ignored = ignore.apply(found, entries, checked.report.moment.date())
    kinds = frozenset(fix.Kind) if selection.only and selection.kinds is None else selection.kinds
    known = checked.known
    cluster = cluster_of(
        known,
        facts=checked.seen.facts if checked.seen else {},
        controller=checked.controller,
        unreachable=unreachable(checked),
        aside=f"{ASIDE}/{checked.report.moment:%Y%m%dT%H%M%SZ}",
        servers=_servers(known, checked),
        becoming=becoming or known.cluster,
    )
    made = fix.plan(wanted, kinds=kinds, cluster=cluster, busy=frozenset() if despite_jobs else fix.busy_nodes(checked.answers))
    return Repair(stack, layers, selection, checked, known, made, tuple(wanted), tuple(ignored), tuple(entries), despite_jobs, becoming)


def replanned(found: Repair, *, despite_jobs: bool) -> Repair:
    """Plan again with what was seen.

    Args:
        despite_jobs: somebody agreed to what running jobs may notice.
    """
    return _again(found, found.checked, despite_jobs=despite_jobs)


def _again(found: Repair, checked: detect.Checked, *, despite_jobs: bool) -> Repair:
    return planned(
        found.stack,
        checked,
        layers=found.layers,
        selection=found.selection,
        entries=found.entries,
        despite_jobs=despite_jobs,
        becoming=found.becoming,
    )


def unreachable(checked: detect.Checked) -> frozenset[str]:
    """Give the hosts that don't answer."""
    return frozenset(one.subject.host for one in checked.report.findings if one.code == Code.UNREACHABLE and isinstance(one.subject, HostSubject))


def _servers(known: Known, checked: detect.Checked) -> Mapping[str, Action]:
    """Say what lets each node run again whose BMC answers; controllers and login hosts are switched only by somebody who names them."""
    of_codes: dict[str, set[str]] = {}
    for one in checked.report.findings:
        if isinstance(one.subject, HostSubject):
            of_codes.setdefault(one.code, set()).add(one.subject.host)
    off, silent = of_codes.get(Code.POWER_OFF, set()), of_codes.get(Code.BMC_SILENT, set())
    nodes = {host.name for host in known.hosts if host.role == safeguards.COMPUTE}
    boarded = [board.host for board in boards.boards(known.cluster.site, nodes)]
    return {host: Action.ON if host in off else Action.CYCLE for host in boarded if host not in silent}


def cluster_of(
    known: Known,
    *,
    facts: Mapping[KnownHost, Mapping[str, Any]],
    controller: str,
    unreachable: Collection[str],
    aside: str,
    servers: Mapping[str, Action],
    becoming: ClusterSpec,
) -> Cluster:
    """Gather what a plan has to know of the cluster.

    Args:
        facts: what was seen of its hosts.
        becoming: the cluster as it should become.
    """
    of_slurm = {node_set.hosts.name for node_set in (known.cluster.slurm.node_sets if known.cluster.slurm else ())}
    return Cluster(
        controller=controller,
        name=known.cluster.name,
        groups={host.name: host.group for host in known.hosts},
        finishing=frozenset(recorded_groups(known)),
        control=tuple(host.name for host in known.hosts if host.role == "control"),
        compute=frozenset(host.name for host in known.hosts if host.role == "compute"),
        slurm_nodes=frozenset(host.name for host in known.hosts if host.group in of_slurm),
        api_servers=tuple(host.name for host in known.hosts if host.role == KUBERNETES),
        root_keys={host.name: ssh_keys.wanted_of_root(of_host, known) for host, of_host in facts.items()},
        unreachable=frozenset(unreachable),
        aside=aside,
        servers=servers,
        due=frozenset(host.name for host, of_host in facts.items() if in_place.lacks(becoming, host.group, of_host)),
    )


def recorded_groups(known: Known) -> Mapping[str, Mapping[str, Any]]:
    """Give the inputs with which the stack last finished each group."""
    return {str(one["outputs"].get("group")): one["outputs"] for one in known.resources if one["type"] == group.Group.token}


def carry_out(repair: Repair, *, is_open: bool = False, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Run the plan's steps, and look again; go on with what the same person agreed to and could not be done before.

    A step that fails stops no other one. Whether a finding is gone is decided by looking, not by what the steps said.

    Args:
        is_open: repair also what only shows then: a controller that answers again tells more than one that was silent. What no record names is not looked for.
    """
    agreed = {fingerprint(finding) for step in repair.plan.steps for finding in step.findings}
    agreed |= {fingerprint(one.finding) for one in repair.plan.waiting}
    said: dict[str, str] = {}
    touched: frozenset[str] = frozenset()
    current, repaired = repair, [finding for step in repair.plan.steps for finding in step.findings]
    said |= _switch(repair, say=say)
    for _ in range(ROUNDS):
        touched |= current.plan.noticed
        repaired_hosts.add(repair.stack, current.plan.noticed)  # before the steps: a run that is killed has repaired, too
        said |= _steps(current.known, current.plan.commands(last=False), repair.guarded, say=say)
        said |= _finish(current.known, current.plan, stack=repair.stack, say=say)
        said |= _steps(current.known, current.plan.commands(last=True), repair.guarded, say=say)
        said |= _boot(current.known, current.plan.boots, say=say)
        say("checking again")
        checked = detect.detect(repair.stack, layers={*repair.layers, Layer.SCHEDULER}, is_deep=not is_open)
        try:
            again = _again(repair, checked, despite_jobs=repair.despite_jobs)
        except Problem:
            break
        open_steps = [step for step in again.plan.steps if any(_may_follow(one, agreed, said, repaired, is_open=is_open) for one in step.findings)]
        current = dataclasses.replace(again, plan=dataclasses.replace(again.plan, steps=tuple(open_steps)))
        if not open_steps:
            break
    report = filters.choose(checked.report, filters.Choice(repair.entries), None).report
    of_layers = dataclasses.replace(report, results=tuple(result for result in report.results if result.layer in repair.layers))
    stayed = tuple((finding, said[fingerprint(finding)]) for finding in of_layers.findings if fingerprint(finding) in said)
    return Outcome(of_layers, stayed, again.plan if not checked.report.failures else fix.Plan((), ()), checked, touched)


def _switch(repair: Repair, *, say: Callable[[str], None]) -> dict[str, str]:
    """Switch servers within the brakes of `clusterwright power`; give what was said about each finding: fingerprint → text."""
    said: dict[str, str] = {}
    steps = repair.plan.switches
    bmcs = asking.Bmcs(repair.stack, repair.known.cluster.site) if steps else None
    for action in (Action.ON, Action.CYCLE):
        alike = {step.host: step for step in steps if isinstance(step.action, Switch) and step.action.action is action}
        if not alike or bmcs is None:
            continue
        cluster, known = repair.known.cluster, repair.known
        try:
            wanted = order.prepare(repair.stack, [*alike], action, cluster=cluster, known=known, allowed=safeguards.Allowed())
            failed = order.carry_out(wanted, bmcs, wait_s=SERVES_WITHIN_S, say=say)
        except Problem as refused:
            failed = dict.fromkeys(alike, refused.why)
        for host, step in alike.items():
            _note(said, step, failed.get(host, ""))
    return said


def _boot(known: Known, steps: Sequence[fix.Step], *, say: Callable[[str], None]) -> dict[str, str]:
    """Reboot nodes; give what was said about each finding: fingerprint → text."""
    said: dict[str, str] = {}
    failed = boots.carry_out(known, sorted({step.host for step in steps}), say=say) if steps else {}
    for step in steps:
        _note(said, step, failed.get(step.host, ""))
    return said


def _may_follow(finding: Finding, agreed: Collection[str], said: Mapping[str, str], repaired: Iterable[Finding], *, is_open: bool) -> bool:
    """Say whether a finding was agreed to and not tried yet; whoever agrees to a repair agrees to what follows from it."""
    mark = fingerprint(finding)
    return mark not in said and (is_open or mark in agreed or any(_follows(finding.subject, one.subject) for one in repaired))


def _follows(subject: Subject | None, repaired: Subject | None) -> bool:
    """Say whether a finding shows only after another one was repaired: what was in a folder that is back, and a unit that may start again."""
    match subject, repaired:
        case HostFile(host=host, path=path), HostFile(host=other, path=folder):
            return host == other and path.startswith(f"{folder}/")
        case Unit(host=host, name=name), Unit(host=other, name=again):
            return (host, name) == (other, again)
        case _:
            return False


def _steps(known: Known, steps: Sequence[fix.Step], guarded: Collection[str], *, say: Callable[[str], None]) -> dict[str, str]:
    """Run commands on their hosts; give what was said about each finding: fingerprint → text."""
    if not steps:
        return {}
    # Between the decision and now a job may have come.
    asked = any(step.host in guarded and not step.is_quiet for step in steps)
    busy = busy_now(known) if asked else frozenset()
    waiting = [step for step in steps if not step.is_quiet and step.host in guarded and (busy is None or step.host in busy)]
    by_host = {host: [step for step in steps if step.host == host.name and step not in waiting] for host in known.hosts}
    orders = {
        host: [shipping.Order(step.action.argv, step.action.stdin) for step in own if isinstance(step.action, fix.Command)]
        for host, own in by_host.items()
        if own
    }
    say(f"repairing {', '.join(sorted(host.name for host in orders))}")
    outcomes = shipping.run(orders, private_key=known.private_key)
    said: dict[str, str] = {}
    for host, of_host in outcomes.items():
        for step, one in zip(by_host[host], of_host, strict=True):
            _note(said, step, "" if one.is_done else f"`{step.action}` failed: {_reason(one.said)}")
    for step in waiting:
        _note(said, step, "a job came to its host meanwhile")
    return said


def _reason(said: str) -> str:
    """Choose the line with the reason: apt marks it, other programs end with it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("E: ")), lines[-1] if lines else "it printed nothing")


def _note(said: dict[str, str], step: fix.Step, text: str) -> None:
    for finding in step.findings:
        mark = fingerprint(finding)
        said[mark] = "\n".join(part for part in (said.get(mark, ""), text) if part)


def busy_now(known: Known) -> frozenset[str] | None:
    """Ask every controller which nodes have jobs, since any may be lost; a node is busy if one of them says so. None: no controller answers."""
    controllers = {host: [shipping.Order(JOBS, lists=True)] for host in known.hosts if host.role == "control"}
    answers = [one.said for of_host in shipping.run(controllers, private_key=known.private_key).values() for one in of_host if one.is_done]
    return None if not answers else frozenset(name for text in answers for name in fix.busy_nodes({"jobs": {"text": text}}) or ())


def _finish(known: Known, plan: fix.Plan, *, stack: str, say: Callable[[str], None]) -> dict[str, str]:
    """Finish hosts again with the inputs that the stack records, controllers first."""
    said: dict[str, str] = {}
    recorded = recorded_groups(known)
    roles = {host.group: host.role for host in known.hosts}
    for name, hosts in sorted(plan.finishes.items(), key=lambda one: (roles.get(one[0]) != "control", one[0])):
        say(f"configuring {', '.join(hosts)} again")
        work = Work(show=lambda _text, _kept: None, stopping=threading.Event(), timeout_s=FINISH_WITHIN_S, stack=stack, purpose="drift fix")
        outcome = group.finish_again(recorded[name], hosts, work)
        failures = {failure.host: str(failure) for failure in outcome.failures}
        for step in plan.steps:
            if isinstance(step.action, fix.Finish) and step.action.group == name:
                _note(said, step, failures.get(step.host) or next(iter(failures.values()), "") or outcome.error)
    return said


def command_for(finding: Finding, *, stack: str, plan: fix.Plan, tried: bool, known: Known | None) -> str:
    """Name what ends a finding that is still there.

    Args:
        plan: what was decided about it.
        tried: a repair did not end it.
    """
    if tried:
        if isinstance(finding.subject, Unit) and finding.subject.name == DATABASE:  # a rebuilt host gets the same tables again
            return f"clusterwright restore --stack {stack} {finding.subject.host}/latest"
        is_servers = known is not None and known.cluster.site is not None
        if isinstance(finding.subject, HostSubject) and not is_servers:  # a server's owner alone can install it again
            return f"clusterwright rebuild --stack {stack} {finding.subject.host}"
        return finding.remedy
    left = next((one for one in plan.left if one.finding == finding), None)
    if left is not None and not left.waits and not left.needs_kind:
        return left.why
    only = f"clusterwright drift fix --stack {stack} --only {shlex.quote(f'{finding.code}:{finding.place}')}"
    return f"{only}, when no job runs there" if left is not None and left.waits else only
