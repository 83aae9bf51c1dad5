"""Compare what was seen of hosts and scheduler with what is recorded. `clusterwright drift`, `drift fix` and `up` compare with the same functions. Pure."""

import datetime as dt
from collections.abc import Iterator

from blueprints.finding import Finding
from blueprints.finding.subject import Daemon, HostSubject

from . import causes, collect, common_settings, hosts, servers, slurm
from .codes import Code
from .finding import Unchecked, drift, in_order
from .hosts import exposure
from .layer import Layer
from .recorded_cluster import Known, KnownHost
from .slurm import daemons


def controllers(known: Known) -> tuple[str, ...]:
    """Name the hosts of the control group."""
    return tuple(host.name for host in known.hosts if host.role == "control")


def of_hosts(seen: collect.Seen, known: Known) -> dict[KnownHost, tuple[Finding, ...]]:
    """Compare the hosts that answered, each with the record and with the others."""
    shared = exposure.common(seen.facts)
    unlike: dict[str, list[Finding]] = {}
    for one in (*common_settings.findings(servers.without_own(known.cluster, seen.facts)), *servers.findings(known, seen.facts)):
        if isinstance(one.subject, HostSubject):
            unlike.setdefault(one.subject.host, []).append(one)
    return {
        host: in_order([*hosts.findings(host, facts, known, moment_s=_moment_s(host, seen), shared=shared), *unlike.get(host.name, ())])
        for host, facts in seen.facts.items()
    }


def _moment_s(host: KnownHost, seen: collect.Seen) -> float:
    """Give the moment at which a host read its clock, by ours: while it was asked, it may have been any moment."""
    begun_s, ended_s = seen.asked_s.get(host, (seen.moment_s, seen.moment_s))
    return min(max(float(seen.facts[host]["epoch_s"]), begun_s), ended_s)


def requires(seen: collect.Seen) -> causes.Requires:
    """Give what units need that do not run."""
    fields = ("Requires", "BindsTo", "Requisite")
    return {
        (host.name, name): frozenset(word for field in fields for word in unit.get(field, "").split())
        for host, facts in seen.facts.items()
        for name, unit in facts["units"].items()
    }


def not_compared(seen: collect.Seen) -> tuple[Unchecked, ...]:
    """Name what of the hosts could not be compared."""
    general = (Unchecked(Layer.HOSTS, where, why) for where, why in hosts.NOT_COMPARED)
    return (*silent(Layer.HOSTS, seen), *general, *(one for host, facts in seen.facts.items() for one in hosts.unchecked(host, facts)))


def silent(layer: Layer, seen: collect.Seen) -> Iterator[Unchecked]:
    """Name the hosts that gave no facts."""
    for host in seen.unreachable:
        yield Unchecked(layer, host.name, "the host does not answer")
    for host, reason in seen.failed.items():
        yield Unchecked(layer, host.name, f"it could not be inspected: {reason}")


def scheduler(known: Known, seen: collect.Seen) -> tuple[tuple[Finding, ...], tuple[Unchecked, ...]]:
    """Compare Slurm."""
    if not daemons.controllers(known.cluster):
        return (), (Unchecked(Layer.SCHEDULER, "Slurm", "the cloud runs it; its resources are the cloud layer's"),)
    if seen.scheduler is None:
        names = ", ".join(daemons.controllers(known.cluster))
        nobody = drift(
            Code.SCHEDULER_SILENT,
            Daemon("slurmctld"),
            "no controller's host could be asked",
            remedy=f"bring {names} back first, or run `clusterwright up`",
            desired="answers",
            recorded="answers",
        )
        return (nobody,), (Unchecked(Layer.SCHEDULER, "everything", f"{names} could not be asked"),)
    findings, unchecked = slurm.findings(seen.scheduler["answers"], seen.scheduler["configuration"], known.cluster)
    findings += slurm.windows(seen.scheduler["answers"], known.cluster, dt.datetime.fromtimestamp(seen.moment_s, dt.UTC))
    return tuple(findings), (*unchecked, *daemons.taken_over(known.cluster, seen.serving))
