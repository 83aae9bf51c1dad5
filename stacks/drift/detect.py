"""One check of a stack: query the engine and the hosts at the same time, compare layer by layer, and report each layer whatever happens to the others."""

import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from blueprints.finding import Finding
from components import discovery, errors, registry
from components.inspection import capability, causes, collect, compare, elastic, hosts, record, servers, versions
from components.inspection.finding import Unchecked, in_order, layer_of
from components.inspection.layer import LAYERS, Layer
from components.inspection.recorded_cluster import Known, KnownHost

from ..acceptance import history
from ..engine import commands, preview
from ..errors import EngineFailed
from . import acceptance as judged_acceptance
from . import attached, bmcs, cloud, hints, unrecorded
from .report import Report, Result

ON_HOSTS = frozenset({Layer.HOSTS, Layer.SCHEDULER, Layer.VERSIONS, Layer.CAPABILITY})


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """A report, and what `drift fix` needs beside it."""

    report: Report
    known: Known | None
    """With the elastic hosts that were inspected. None: the stack's record could not be read."""
    answers: Mapping[str, Mapping[str, str]]
    """The scheduler's answers; empty when it was not asked or did not answer."""
    controller: str = ""
    """The host that got the answers, on which scontrol works; empty when no host got any."""
    seen: collect.Seen | None = None
    """What was seen of the hosts; None: they were not inspected."""
    exported: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """The stack's record, decrypted; empty: it could not be read."""

    def by_cause(self) -> Report:
        """Give the report with one finding for each cause. Repairs need all of them."""
        of_layers: dict[Layer, list[Finding]] = {}
        for one in self.folded(self.report.findings):
            of_layers.setdefault(layer_of(one), []).append(one)
        results = (dataclasses.replace(result, findings=in_order(of_layers.get(result.layer, ()))) for result in self.report.results)
        return dataclasses.replace(self.report, results=tuple(results))

    def folded(self, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Keep one finding for each cause, which names what follows from it."""
        if self.seen is None or self.known is None:
            return findings
        answered, needed = [host.name for host in self.seen.facts], compare.requires(self.seen)
        return causes.fold(findings, hosts=answered, controllers=compare.controllers(self.known), requires=needed)


class OnHosts(NamedTuple):
    """What the layers gave that look at hosts."""

    results: list[Result]
    hosts: tuple[KnownHost, ...]
    """Those that were inspected."""
    seen: collect.Seen | None = None


def detect(
    stack_name: str,
    *,
    layers: Collection[Layer] = LAYERS,
    acceptance: bool = False,
    is_deep: bool = True,
    folder: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Check the layers of a stack. Holds no lock and changes nothing.

    Args:
        acceptance: judge the last acceptance's figures, too.
        is_deep: look also for what no record names and no repair restores, which takes longer.
        folder: the Pulumi project's; this project's when it isn't given.
        say: called with each step, for a terminal.
    """
    begun, moment = time.monotonic(), dt.datetime.now(dt.UTC).replace(microsecond=0)
    say("reading the stack's record")
    try:
        exported = commands.record(stack_name, folder=folder, show_secrets=True)
        known = history.newest(stack_name, record.read(exported))
    except (EngineFailed, errors.NotUp) as error:
        why = error.why if isinstance(error, EngineFailed) else error
        failure = hints.with_advice(f"the record of stack {stack_name} could not be read: {why}")
        results = tuple(Result(layer, failure=failure) for layer in LAYERS if layer in layers)
        return Checked(Report(stack_name, "", "", moment, time.monotonic() - begun, results), None, {})
    say("inspecting resources and hosts")
    with ThreadPoolExecutor(2) as pool:
        from_cloud = pool.submit(_cloud, stack_name, known, folder) if Layer.CLOUD in layers else None
        from_hosts = pool.submit(_hosts, stack_name, known, layers, acceptance, is_deep) if ON_HOSTS & set(layers) else None
        on_hosts = from_hosts.result() if from_hosts else OnHosts([], known.hosts)
        found = [*(from_cloud.result() if from_cloud else []), *on_hosts.results]
    results = tuple(result for layer in LAYERS for result in found if result.layer is layer)
    report = Report(stack_name, known.cluster.name, known.cluster.target, moment, time.monotonic() - begun, results)
    seen = on_hosts.seen
    answers = (seen.scheduler or {}).get("answers", {}) if seen else {}
    return Checked(report, dataclasses.replace(known, hosts=on_hosts.hosts), answers, seen.teller if seen else "", seen, exported)


def _cloud(stack_name: str, known: Known, folder: Path | None) -> list[Result]:
    begun = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        world, program = pool.submit(preview.of_resources, stack_name, folder), pool.submit(preview.of_program, stack_name, folder)
        target, described = registry.discovery(known.cluster.target), elastic.discovered(stack_name, known)
        instances = pool.submit(target.instances, described) if target else None
        beside = pool.submit(target.attachments, described) if target else None
    findings: list[Finding] = []
    unchecked: list[Unchecked] = []
    failures: list[str] = []
    try:
        asked = program.result().steps
    except EngineFailed as error:
        # A broken program is no reason to hide what the world shows.
        unchecked.append(Unchecked(Layer.CLOUD, "changes of the program and the blueprint", f"the preview failed: {error.why}"))
        asked = None
    try:
        seen = world.result()
    except EngineFailed as error:
        failures.append(f"the resources could not be inspected: {error.why}")
        seen = preview.Preview(())
    if seen.error:
        few = "1 resource" if len(seen.unread) == 1 else f"{len(seen.unread) or 'some'} resources"
        failures.append(f"{few} could not be inspected: {seen.error}")
    findings += cloud.findings(seen.steps, asked, pending=known.pending, recorded=known.resources)
    unchecked += [*cloud.left_out(seen.steps), *cloud.unread(seen.unread)]
    try:
        differing, not_compared = unrecorded.findings(instances.result() if instances else discovery.Instances())
        findings += differing
        unchecked += not_compared
        is_answered = True
    except errors.TargetUnanswered as error:
        failures.append(f"the instances under the stack's name could not be listed: {error}")
        is_answered = False
    others = beside.result() if beside else None
    if others is not None:
        findings += attached.findings(others)
        if others.refused and (is_answered or others.answered):  # else one failure about the whole account is enough
            unchecked += attached.unchecked(others)
            failures.append(
                f"what is attached to the stack's resources could not be listed ({', '.join(others.refused)}): {next(iter(others.refused.values()))}"
            )
    return [Result(Layer.CLOUD, in_order(findings), tuple(unchecked), hints.with_advice("\n".join(failures)), time.monotonic() - begun)]


def _hosts(stack_name: str, known: Known, layers: Collection[Layer], acceptance: bool, is_deep: bool) -> OnHosts:
    begun, begun_s = time.monotonic(), time.time()
    chosen = [layer for layer in LAYERS if layer in ON_HOSTS and layer in layers]
    up = elastic.look(stack_name, known)
    everybody = dataclasses.replace(known, hosts=(*known.hosts, *up.hosts))
    asked = bmcs.begin(stack_name, known) if is_deep and Layer.HOSTS in layers else None
    seen = collect.collect(everybody, is_deep=is_deep and Layer.HOSTS in layers) if everybody.hosts else collect.Seen({}, None, {}, {}, time.time())
    answers = (seen.scheduler or {}).get("answers", {})
    after = elastic.look(stack_name, known) if up.hosts else up
    arriving = elastic.on_their_way(up, up if after.failure else after, answers, moment_s=begun_s)
    seen = collect.without(seen, arriving)
    seconds = time.monotonic() - begun
    if seen.error:
        return OnHosts([Result(layer, failure=f"the hosts could not be inspected: {seen.error}", seconds=seconds) for layer in chosen], known.hosts)
    coming = tuple(elastic.unchecked(known, up, arriving))
    judges: dict[Layer, Callable[[], Result]] = {
        Layer.HOSTS: lambda: _hosts_layer(everybody, seen, asked.result() if asked else bmcs.NONE),
        Layer.SCHEDULER: lambda: _scheduler_layer(known, seen),
        Layer.VERSIONS: lambda: _versions_layer(everybody, seen),
        Layer.CAPABILITY: lambda: _capability_layer(everybody, seen, acceptance=acceptance),
    }
    judged = [_judged(layer, judges[layer], seconds) for layer in chosen]
    if failure := up.failure or after.failure:  # hosts that could not be listed may have drifted
        judged = [one if one.layer is Layer.SCHEDULER else dataclasses.replace(one, failure=_both(one.failure, failure)) for one in judged]
    results = [dataclasses.replace(one, unchecked=(*one.unchecked, *(more for more in coming if more.layer is one.layer))) for one in judged]
    if known.cluster.site:
        results = [dataclasses.replace(one, findings=tuple(map(servers.with_own_remedy, one.findings))) for one in results]
    return OnHosts(results, tuple(host for host in everybody.hosts if host not in arriving), seen)


def _both(failure: str, more: str) -> str:
    return hints.with_advice("\n".join(one for one in (failure, more) if one))


def _judged(layer: Layer, judge: Callable[[], Result], seconds: float) -> Result:
    try:
        result = judge()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        # Facts of an unexpected form fail this layer and no other.
        return Result(layer, failure=f"the hosts' facts have an unexpected form ({type(error).__name__}: {error})", seconds=seconds)
    return Result(layer, in_order(result.findings), result.unchecked, result.failure, seconds)


def _hosts_layer(known: Known, seen: collect.Seen, of_bmcs: bmcs.Seen) -> Result:
    findings = [hosts.unreachable(host, message) for host, message in seen.unreachable.items()]
    findings += [hosts.not_inspected(host, message) for host, message in seen.failed.items()]
    for of_host in compare.of_hosts(seen, known).values():
        findings += of_host
    return Result(Layer.HOSTS, (*findings, *of_bmcs.findings), (*compare.not_compared(seen), *of_bmcs.unchecked), of_bmcs.failure)


def _scheduler_layer(known: Known, seen: collect.Seen) -> Result:
    findings, unchecked = compare.scheduler(known, seen) if known.cluster.slurm else ((), ())
    if known.cluster.kubernetes:
        from components.inspection import kubernetes  # its libraries take as long to load as all else of a check

        inside = kubernetes.look(known)
        findings = (*findings, *kubernetes.findings(inside, known, now=dt.datetime.now(dt.UTC)))
        unchecked = (*unchecked, *inside.unchecked)
    return Result(Layer.SCHEDULER, findings, unchecked)


def _versions_layer(known: Known, seen: collect.Seen) -> Result:
    unchecked = [*compare.silent(Layer.VERSIONS, seen), *versions.unchecked(known, seen.facts)]
    return Result(Layer.VERSIONS, tuple(versions.findings(known, seen.facts)), tuple(unchecked))


def _capability_layer(known: Known, seen: collect.Seen, *, acceptance: bool) -> Result:
    judged = judged_acceptance.findings(known) if acceptance else ()
    unchecked = [*compare.silent(Layer.CAPABILITY, seen), *capability.unchecked(known)]
    return Result(Layer.CAPABILITY, (*capability.findings(known, seen.facts), *judged), tuple(unchecked))
