"""One cause, one finding: consequences of a finding are named in it and are no findings of their own. Pure."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from blueprints.finding import Finding
from blueprints.finding.subject import Daemon, HostAdministrator, HostFile, HostPart, HostSubject, HostUser, ObjectKind, SchedulerObject, Unit, UserKey
from blueprints.finding.values import UnitLink, UnitState, Values

from .codes import Code

Requires = Mapping[tuple[str, str], frozenset[str]]
"""(Host, unit) → units without which it does not run (systemd.unit(5), Requires=, BindsTo=, Requisite=)."""

SYSTEM_V_LINK = re.compile(r"/etc/rc[0-6S]\.d/[SK]\d\d(?P<name>.+)", re.DOTALL)
"""Links that `systemctl enable` and `disable` also change for a service with a script in /etc/init.d."""
NODE_NEEDS = ("slurmd.service", "munge.service")
DAEMON_NEEDS = {"slurmctld": ("slurmctld.service", "munge.service"), "slurmdbd": ("slurmdbd.service", "munge.service", "mariadb.service")}
"""Daemon of the scheduler → units on a controller without which it does not answer."""
OF_UNITS = frozenset({Code.UNIT_STOPPED, Code.UNIT_FAILED, Code.UNIT_ENABLEMENT})
OF_THE_USERS_TABLE = frozenset({Code.USER_MISSING, Code.USER_ADDED, Code.USER_CHANGED, Code.ADMINS})
"""All hosts mount the table of users from the controllers."""
SHOWN = 4


def fold(findings: Sequence[Finding], *, hosts: Sequence[str], controllers: Sequence[str], requires: Requires) -> list[Finding]:
    """Keep the causes, each with its consequences in its words.

    Args:
        hosts: those that answered.
        controllers: hosts with the scheduler's controllers and the table of users, the first one first.
    """
    causes: dict[Finding, Finding] = {}
    for finding in findings:
        if (cause := next(_causes(finding, findings, controllers, requires), None)) and cause != finding:
            causes[finding] = cause
    causes |= _same_everywhere(findings, hosts, controllers)
    consequences: dict[Finding, list[Finding]] = {}
    for finding in causes:
        consequences.setdefault(_root(finding, causes), []).append(finding)
    return [_with(finding, consequences.get(finding, [])) for finding in findings if finding not in causes or finding in consequences]


def _root(finding: Finding, causes: Mapping[Finding, Finding]) -> Finding:
    """Follow causes to the first; findings that cause each other stay with the one that was reached twice."""
    seen = {finding}
    while (cause := causes.get(finding)) and cause not in seen:
        seen.add(finding := cause)
    return finding


def _with(finding: Finding, consequences: Sequence[Finding]) -> Finding:
    if not consequences:
        return finding
    named = [one.place for one in consequences[:SHOWN]]
    more = f" and {len(consequences) - SHOWN} more" if len(consequences) > SHOWN else ""
    level = min((one.level for one in (finding, *consequences)), key=list(type(finding.level)).index)
    return dataclasses.replace(finding, what=f"{finding.what}; because of it: {', '.join(named)}{more}", level=level)


def _causes(finding: Finding, findings: Iterable[Finding], controllers: Sequence[str], requires: Requires) -> Iterator[Finding]:
    """Give what could be the cause of a finding, the likeliest first."""
    broken = _broken_units(findings)
    match finding.subject:
        case Unit(host=host, name=name) if finding.code in (Code.UNIT_STOPPED, Code.UNIT_FAILED):
            yield from (broken[host, needed] for needed in sorted(requires.get((host, name), ())) if (host, needed) in broken)
        case HostFile(host=host, path=path) if matched := SYSTEM_V_LINK.fullmatch(path):
            yield from (broken[key] for key in [(host, f"{matched['name']}.service")] if key in broken)
        case HostFile(host=host, path=path) if finding.code == Code.FILE_GONE and path.startswith("/etc/systemd/system/"):
            link = str((finding.values or Values()).recorded or "")
            yield from (broken[key] for key in [(host, link.rpartition("/")[2])] if key in broken)
        case HostPart(host=host) if finding.code == Code.MUNGE_KEY and _actual(finding) == "no key":
            gone = (one for one in findings if one.code == Code.FILE_GONE and isinstance(one.subject, HostFile) and one.subject.host == host)
            yield from (one for one in gone if isinstance(one.subject, HostFile) and one.subject.path == "/etc/munge")
        case HostPart(host=host) if finding.code == Code.UNREACHABLE:
            yield from (one for one in findings if one.code == Code.POWER_OFF and isinstance(one.subject, HostSubject) and one.subject.host == host)
        case SchedulerObject(kind=ObjectKind.NODE, name=name) if finding.code == Code.NODE_DOWN:
            yield from (one for one in findings if one.code == Code.UNREACHABLE and isinstance(one.subject, HostSubject) and one.subject.host == name)
            yield from (broken[name, unit] for unit in NODE_NEEDS if (name, unit) in broken)
        case Daemon(name=name) if finding.code == Code.SCHEDULER_SILENT and name in DAEMON_NEEDS:
            silent = {one.subject.host: one for one in findings if one.code == Code.UNREACHABLE and isinstance(one.subject, HostSubject)}
            of_hosts = [
                [silent[host]] if host in silent else [broken[host, unit] for unit in DAEMON_NEEDS[name] if (host, unit) in broken] for host in controllers
            ]
            if of_hosts and all(of_hosts):  # with one controller that should answer, the reason is another one
                yield of_hosts[0][0]
        case HostAdministrator(host=host, name=name):
            yield from _user_is_gone(findings, name, host)
        case UserKey(user=name):
            yield from _user_is_gone(findings, name)
        case _:
            return


def _broken_units(findings: Iterable[Finding]) -> dict[tuple[str, str], Finding]:
    """Give the units that do not run, or will not after a restart: (host, name) → finding."""
    found: dict[tuple[str, str], Finding] = {}
    for one in findings:
        if isinstance(one.subject, Unit) and one.code in OF_UNITS and not _is_on(one):
            found.setdefault((one.subject.host, one.subject.name), one)
    return found


def _is_on(finding: Finding) -> bool:
    actual = (finding.values or Values()).actual
    return isinstance(actual, UnitLink) and actual.state in (UnitState.ENABLED, UnitState.PLAIN)


def _user_is_gone(findings: Iterable[Finding], name: str, host: str = "") -> Iterator[Finding]:
    for one in findings:
        if one.code == Code.USER_MISSING and isinstance(one.subject, HostUser) and one.subject.name == name and host in ("", one.subject.host):
            yield one


def _same_everywhere(findings: Sequence[Finding], hosts: Sequence[str], controllers: Sequence[str]) -> dict[Finding, Finding]:
    """Give what all hosts say alike of the table that they share, as a consequence of what its own host says."""
    alike: dict[tuple[object, ...], dict[str, Finding]] = {}
    for one in findings:
        if one.code in OF_THE_USERS_TABLE and isinstance(one.subject, HostUser | HostAdministrator):
            alike.setdefault((one.code, one.subject.name, one.values), {})[one.subject.host] = one
    causes: dict[Finding, Finding] = {}
    for of_hosts in alike.values():
        first = next((host for host in controllers if host in of_hosts), None)
        if first and len(of_hosts) == len(hosts) > 1:
            causes |= {one: of_hosts[first] for host, one in of_hosts.items() if host != first}
    return causes


def _actual(finding: Finding) -> object:
    return (finding.values or Values()).actual
