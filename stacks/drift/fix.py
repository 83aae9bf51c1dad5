"""Decide which findings to fix, with which command on which host, and which to leave to a person. Pure.

A command is built from a finding's typed subject and values, never from text that was written for people. The commands remove nothing, restart no daemon that runs, and touch no data; hosts with jobs are
left alone. A name that is not in the form of its kind is left to a person: systemctl, apt-mark and scontrol would read some such names as patterns or lists.
"""

import base64
import dataclasses
import enum
import fnmatch
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from blueprints import hostlist
from blueprints.finding import Finding
from blueprints.finding.subject import HostFile, HostSubject, ObjectKind, Package, SchedulerObject, Sysctl, Unit
from blueprints.finding.values import FileState, PackageState, Setting, UnitState, Values
from components.inspection.codes import Code
from components.inspection.hosts import files

_UNIT_NAME = re.compile(r"(?=.{1,255}\Z)[A-Za-z0-9:_.\\@-]+\.(?:service|socket|device|mount|automount|swap|target|path|timer|slice|scope)")
"""systemd.unit(5)."""
_SYSCTL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:-]*")
_SYSCTL_VALUE = re.compile(r"[\x20-\x7e]*")
_PACKAGE_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+(?::[a-z0-9-]+)?")
"""deb-src-control(5), Package; dpkg(1) for the architecture."""
_ACCOUNT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\$?")
"""A user or group by name or number (useradd(8))."""
_MODE = re.compile(r"[0-7]{4}")
_OBJECT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A node or partition. scontrol expands brackets and commas."""
_FIELD = re.compile(r"[A-Za-z]+")
_FIELD_VALUE = re.compile(r"[\x21-\x7e]+")
_NODE_FIELDS = {"Feature": "availablefeatures", "Weight": "weight"}
"""What scontrol calls a field of slurm.conf that it can change."""
_HOLDING_DATA = ("mariadb.service", "mysql.service", "*.mount", "*.automount", "*.swap")
"""Units with data in or behind them: a person decides whether they may start again."""
_OWNER_AND_MODE = 'chown -h -- "$1" "$3" && chmod -- "$2" "$3"'
"""One command for both: the mode follows the owner, as chown(2) clears bits of it."""

Argv = tuple[str, ...]


class Kind(enum.StrEnum):
    """What a person allows to be fixed; each is asked for by name."""

    UNITS = "units"
    ENABLEMENT = "enablement"
    SETTINGS = "settings"
    HOLDS = "holds"
    ATTRIBUTES = "attributes"
    PARTITIONS = "partitions"
    NODES = "nodes"


KIND_OF: Mapping[str, Kind] = {
    Code.UNIT_STOPPED: Kind.UNITS,
    Code.UNIT_FAILED: Kind.UNITS,
    Code.UNIT_ENABLEMENT: Kind.ENABLEMENT,
    Code.SYSCTL: Kind.SETTINGS,
    Code.PACKAGE_HOLD: Kind.HOLDS,
    Code.FILE_ATTRIBUTES: Kind.ATTRIBUTES,
    Code.PARTITION_CHANGED: Kind.PARTITIONS,
    Code.NODE_CHANGED: Kind.NODES,
}
"""Codes that can be fixed; all others are left to a person."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One command on one host."""

    host: str
    argv: Argv
    finding: Finding


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """A finding that is left to a person."""

    finding: Finding
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]
    left: tuple[Left, ...]


def plan(findings: Iterable[Finding], *, kinds: Collection[Kind], controller: str, busy: Collection[str] | None, compute: Collection[str]) -> Plan:
    """Decide what to do.

    Args:
        controller: the host that runs scontrol; empty: no controller answers.
        busy: nodes with jobs; None when nobody could say, which counts as all of them.
        compute: hosts that run jobs.
    """
    steps: list[Step] = []
    left: list[Left] = []
    for finding in findings:
        kind = KIND_OF.get(finding.code)
        step = _step(finding, controller) if kind in kinds else None
        if kind is None:
            left.append(Left(finding, finding.remedy))
        elif kind not in kinds:
            left.append(Left(finding, f"add --kind {kind} to fix it"))
        elif step is None:
            left.append(Left(finding, finding.remedy))
        elif step.host in compute and (busy is None or step.host in busy):
            left.append(Left(finding, "no controller says whether jobs run there" if busy is None else "jobs run there"))
        else:
            steps.append(step)
    return Plan(tuple(steps), tuple(left))


def busy_nodes(answers: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """Read which nodes have jobs; None when the scheduler did not answer."""
    text = answers.get("jobs", {}).get("text")
    return None if text is None else frozenset(name for line in text.splitlines() if line.strip() for name in hostlist.expand(line.strip()))


def encode(commands: Iterable[Sequence[str]]) -> str:
    """Write commands as the playbook takes them: Ansible would expand braces in a file's name as a template, on this machine."""
    return base64.b64encode(json.dumps([list(command) for command in commands]).encode()).decode()


def _step(finding: Finding, controller: str) -> Step | None:
    """Give the command that fixes a finding; None when there is none."""
    argv = _argv(finding)
    host = finding.subject.host if isinstance(finding.subject, HostSubject) else controller
    return Step(host, argv, finding) if argv and host else None


def _argv(finding: Finding) -> Argv | None:
    values = finding.values or Values()
    match finding.subject, values.recorded:
        case Unit() as unit, recorded if _UNIT_NAME.fullmatch(unit.name):
            return _of_unit(finding.code, unit, recorded, values.actual)
        case Sysctl(name=name), Setting(value) if _SYSCTL_NAME.fullmatch(name) and _SYSCTL_VALUE.fullmatch(value):
            return ("sysctl", "-w", "--", f"{name}={value}")
        case Package(name=name), PackageState(is_held=is_held) if _PACKAGE_NAME.fullmatch(name):
            return ("apt-mark", "hold" if is_held else "unhold", "--", name)
        case HostFile(path=path), FileState() as state:
            return _owner_and_mode(path, state)
        case SchedulerObject() as subject, Setting(value) if _FIELD_VALUE.fullmatch(value):
            return _scontrol(subject, value)
        case _:
            return None


def _of_unit(code: str, unit: Unit, recorded: object, actual: object) -> Argv | None:
    if code == Code.UNIT_ENABLEMENT and isinstance(recorded, UnitState) and isinstance(actual, UnitState):
        return files.systemctl(unit, recorded, actual)
    if unit.is_of_users or any(fnmatch.fnmatchcase(unit.name, pattern) for pattern in _HOLDING_DATA):
        return None
    verbs = {Code.UNIT_STOPPED: "start", Code.UNIT_FAILED: "restart"}
    verb = next((verb for one, verb in verbs.items() if one == code), None)
    return ("systemctl", verb, "--", unit.name) if verb else None


def _owner_and_mode(path: str, state: FileState) -> Argv | None:
    is_named = path.startswith("/") and "\0" not in path and not _has_surrogates(path)
    if not (is_named and _MODE.fullmatch(state.mode) and _ACCOUNT_NAME.fullmatch(state.owner) and _ACCOUNT_NAME.fullmatch(state.group)):
        return None
    return ("sh", "-c", _OWNER_AND_MODE, "sh", f"{state.owner}:{state.group}", state.mode, path)


def _has_surrogates(text: str) -> bool:
    """Say whether a name holds bytes that are not UTF-8: they would not reach the host as they are."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _scontrol(subject: SchedulerObject, value: str) -> Argv | None:
    if not (_OBJECT_NAME.fullmatch(subject.name) and _FIELD.fullmatch(subject.field)):
        return None
    if subject.kind is ObjectKind.PARTITION:
        return ("scontrol", "update", f"partitionname={subject.name}", f"{subject.field}={value}")
    if subject.kind is ObjectKind.NODE and subject.field in _NODE_FIELDS:
        return ("scontrol", "update", f"nodename={subject.name}", f"{_NODE_FIELDS[subject.field]}={value}")
    return None
