"""Decide which findings to repair, with which steps, and which to leave to a person. Pure."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping

from blueprints import hostlist
from blueprints.finding import Finding
from blueprints.finding.subject import (
    ClusterObject,
    Daemon,
    Gpu,
    HostAdministrator,
    HostFile,
    HostPart,
    HostSubject,
    HostUser,
    KernelModule,
    Membership,
    Mount,
    Package,
    Parameter,
    RootKey,
    SchedulerObject,
    Sysctl,
    Unit,
    UserKey,
)
from blueprints.finding.values import Values
from components.inspection import in_place, servers
from components.inspection.codes import Code

from . import devices, exposure, files, kernel, packages, people, scheduler, units
from .step import BY_NAME_ONLY, KIND_OF, Boot, Cluster, Command, Finish, Kind, Left, Order, Step, Switch

FINISHED = (Code.PENDING, Code.INTERFACE_CHANGED)
"""What configuring a host again ends: its roles set what differs."""
RENEW = ("systemctl", "start", "clusterwright-kube-certificates.service")
"""Renews certificates that expire soon or have expired, and no others (role `kube_certificates`)."""
API_SERVER = "API server"
WRITE_MARK = ("python3", "-IS", files.ADOPTION_PROGRAM, "mark")
RECORDED_VERSION = (Code.PACKAGE_GONE, Code.PACKAGE_VERSION)
"""What a roll repairs: it installs the recorded versions of kernel, drivers and libraries. It removes nothing, and installs nothing again."""
ROLLED = "run `clusterwright up` and agree to its roll, which installs the package on hosts that it has emptied"


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]
    """In the order in which they run."""
    left: tuple[Left, ...]

    def commands(self, *, last: bool) -> tuple[Step, ...]:
        """Give the steps that are commands: those before hosts are finished again, or those after."""
        return tuple(step for step in self.steps if isinstance(step.action, Command) and (step.order is Order.SCHEDULER) is last)

    @property
    def finishes(self) -> Mapping[str, tuple[str, ...]]:
        """Group → its hosts that are finished again."""
        found: dict[str, list[str]] = {}
        for step in self.steps:
            if isinstance(step.action, Finish):
                found.setdefault(step.action.group, []).append(step.host)
        return {group: tuple(sorted(hosts)) for group, hosts in found.items()}

    @property
    def noticed(self) -> frozenset[str]:
        """Give the hosts on which a step runs that a job could notice."""
        return frozenset(step.host for step in self.steps if not step.is_quiet or isinstance(step.action, Switch))

    @property
    def switches(self) -> tuple[Step, ...]:
        """Give the steps that switch servers."""
        return tuple(step for step in self.steps if isinstance(step.action, Switch))

    @property
    def boots(self) -> tuple[Step, ...]:
        """Give the steps that reboot nodes."""
        return tuple(step for step in self.steps if isinstance(step.action, Boot))

    @property
    def waiting(self) -> tuple[Left, ...]:
        return tuple(one for one in self.left if one.waits and not one.needs_kind)


def plan(findings: Iterable[Finding], *, kinds: Collection[Kind] | None = None, cluster: Cluster, busy: Collection[str] | None) -> Plan:
    """Decide what to do.

    Args:
        kinds: what may be repaired; None: all but what an administrator probably set on purpose.
        busy: nodes with jobs; None when Slurm couldn't be asked, which counts as all of them.
    """
    chosen = set(Kind) - BY_NAME_ONLY if kinds is None else set(kinds)
    found: list[Step] = []
    left: list[Left] = []
    for finding in findings:
        kind = KIND_OF.get(finding.code)
        steps = steps_of(finding, cluster)
        waits = [step.host for step in steps if not step.is_quiet and step.host in cluster.compute and (busy is None or step.host in busy)]
        dark = sorted({step.host for step in steps if not isinstance(step.action, Switch)} & cluster.unreachable)
        if dark:
            left.append(
                Left(
                    finding,
                    f"{', '.join(dark)} does not answer",
                )
            )
        elif _is_of_roll(finding, cluster):
            left.append(Left(finding, ROLLED))
        elif kind is None or not steps:
            left.append(Left(finding, finding.remedy))
        elif kind not in chosen:
            left.append(Left(finding, f"add --kind {kind} to repair it", waits=bool(waits), needs_kind=True))
        elif waits:
            why = "no controller says whether jobs run there" if busy is None else "jobs run there"
            left.append(Left(finding, why, waits=True))
        else:
            found += steps
    return Plan(merged(found), tuple(left))


def _is_of_roll(finding: Finding, cluster: Cluster) -> bool:
    """Say whether the roll that is due for a host brings the package back.

    On a host that serves, a job could start in between, and find one library of each version.
    """
    match finding.subject:
        case Package(host=host, name=name):
            return finding.code in RECORDED_VERSION and host in cluster.due and in_place.is_package(name)
        case _:
            return False


def merged(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Put steps in order, and equal ones that end several findings into one."""
    by_action: dict[tuple[Order, str, Command | Finish | Switch | Boot], Step] = {}
    for step in steps:
        key = (step.order, step.host, step.action)
        known = by_action.get(key)
        by_action[key] = step if known is None else dataclasses.replace(known, findings=tuple(dict.fromkeys((*known.findings, *step.findings))))
    return tuple(sorted(by_action.values(), key=lambda step: step.order))


def steps_of(finding: Finding, cluster: Cluster) -> tuple[Step, ...]:
    """Give the steps that end one finding; none where a person has to."""
    values = finding.values or Values()
    match finding.subject:
        case HostSubject(host=host) if KIND_OF.get(finding.code) is Kind.BOOT:
            # A controller, a login node or a node of Kubernetes is rebooted by somebody who chooses when.
            return (Step(host, Boot(), Order.BOOT, (finding,)),) if host in cluster.slurm_nodes and cluster.controller else ()
        case HostFile() as file:
            return files.steps(finding, file, values, cluster) or exposure.of_file(finding, file, cluster)
        case Package() as package:
            return packages.steps(finding, package, values)
        case Unit() as unit:
            return exposure.of_unit(finding, unit) or units.steps(finding, unit, values)
        case Sysctl() | KernelModule() as setting:
            return kernel.steps(finding, setting, values)
        case Gpu() as gpu:
            return devices.of_gpu(finding, gpu)
        case Mount() as mount:
            return devices.of_mount(finding, mount, values)
        case HostPart(host=host) if finding.code in (Code.POWER_OFF, Code.UNREACHABLE):
            # Its nodes' jobs are the business of the brakes, which know a node that hangs.
            switch = Switch(cluster.servers[host]) if host in cluster.servers else None
            return (Step(host, switch, Order.POWER, (finding,), is_quiet=True),) if switch else ()
        case HostPart(host=host, part=servers.LOST_MARK) if finding.code == Code.MARK_GONE:
            return (
                Step(host, Command(WRITE_MARK, shown="write the stack's mark again, as the server's record has it"), Order.CONTENT, (finding,), is_quiet=True),
            )
        case HostPart(host=host) if finding.code == Code.MIG_LAYOUT:
            return devices.of_layout(finding, host)
        case HostPart(host=host) if finding.code in FINISHED:
            finish = cluster.finish(host)
            return (Step(host, finish, Order.FINISH, (finding,)),) if finish else ()
        case HostPart() as part if finding.code == Code.UNLIKE:
            return kernel.common(finding, part, values)
        case HostPart(host=host) if finding.code == Code.CLOCK:
            return kernel.of_clock(finding, host)
        case HostPart() as part if finding.code == Code.HOSTNAME:
            return exposure.of_part(finding, part)
        case ClusterObject(kind=kind, name=name) if API_SERVER in (kind, name) and finding.code in (Code.API_SILENT, Code.CERTIFICATE):
            # What ended long ago nobody but the host itself can renew: without it, the API server answers nobody.
            return tuple(
                Step(host, Command(RENEW), Order.RUNNING, (finding,), is_quiet=True) for host in cluster.api_servers if host not in cluster.unreachable
            )
        case HostUser() | HostAdministrator() | RootKey() | UserKey() | HostPart():
            return people.steps(finding, cluster)
        case (SchedulerObject() | Membership() | Parameter() | Daemon()) as subject:
            return scheduler.steps(finding, subject, values, cluster)
        case _:
            return ()


def busy_nodes(answers: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """Read which nodes have jobs; None when the scheduler did not answer."""
    text = answers.get("jobs", {}).get("text")
    return None if text is None else frozenset(name for line in text.splitlines() if line.strip() for name in hostlist.expand(line.strip()))
