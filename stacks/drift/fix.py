"""Put right what can be put right safely: which commands on which hosts, and what is left to a person. Pure.

Nothing that is decided here removes anything, restarts a daemon that runs, or touches data. Hosts with jobs on them are left alone.
"""

import dataclasses
import enum
import fnmatch
import re
from collections.abc import Collection, Iterable, Mapping

from blueprints import hostlist

from .codes import Code
from .report import Drift, Layer

_DESCRIBED = re.compile(r"(?:file|folder), (?P<mode>[0-7]{4}) (?P<owner>[^:]+):(?P<group>.+)")
_ENABLEMENT = {("enabled", "disabled"): "enable", ("disabled", "enabled"): "disable", ("plain", "masked"): "unmask", ("masked", "plain"): "mask"}
_NODE_FIELDS = {"Feature": "availablefeatures", "Weight": "weight"}
_HOLDING_DATA = ("mariadb.service", "mysql.service", "*.mount", "*.automount", "*.swap")
"""Units that data is in or behind: whether it is well is for a person to see before they start again."""


class Kind(enum.StrEnum):
    """What a person lets be put right; each is asked for by name."""

    UNITS = "units"
    ENABLEMENT = "enablement"
    SETTINGS = "settings"
    HOLDS = "holds"
    ATTRIBUTES = "attributes"
    PARTITIONS = "partitions"
    NODES = "nodes"


KIND_OF = {
    Code.UNIT_STOPPED: Kind.UNITS,
    Code.UNIT_FAILED: Kind.UNITS,
    Code.UNIT_ENABLEMENT: Kind.ENABLEMENT,
    Code.SYSCTL: Kind.SETTINGS,
    Code.PACKAGE_HOLD: Kind.HOLDS,
    Code.FILE_ATTRIBUTES: Kind.ATTRIBUTES,
    Code.PARTITION_CHANGED: Kind.PARTITIONS,
    Code.NODE_CHANGED: Kind.NODES,
}
"""Codes that something can be done about; all others are left to a person."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One command on one host."""

    host: str
    argv: tuple[str, ...]
    finding: Drift


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """A finding that is left to a person."""

    finding: Drift
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]
    left: tuple[Left, ...]


def plan(findings: Iterable[Drift], *, kinds: Collection[Kind], controller: str, busy: Collection[str] | None, compute: Collection[str]) -> Plan:
    """Decide what to do.

    Args:
        controller: the host on which the scheduler is told; empty: there is none that it answers.
        busy: nodes with jobs on them; None when nobody could say, which counts as all of them.
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
            left.append(Left(finding, f"add --kind {kind} to put it right"))
        elif step is None:
            left.append(Left(finding, finding.remedy))
        elif step.host in compute and (busy is None or step.host in busy):
            left.append(Left(finding, "nobody can say whether jobs run there" if busy is None else "jobs run there"))
        else:
            steps.append(step)
    return Plan(tuple(steps), tuple(left))


def busy_nodes(answers: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """Read which nodes have jobs; None when the scheduler didn't say."""
    text = answers.get("jobs", {}).get("text")
    return None if text is None else frozenset(name for line in text.splitlines() if line.strip() for name in hostlist.expand(line.strip()))


def _step(finding: Drift, controller: str) -> Step | None:
    """Give the command that puts a finding right; None when there is none."""
    argv = _scheduler(finding) if finding.layer is Layer.SCHEDULER else _host(finding)
    host = controller if finding.layer is Layer.SCHEDULER else finding.where.partition(": ")[0]
    return Step(host, argv, finding) if argv and host else None


def _host(finding: Drift) -> tuple[str, ...] | None:
    place = finding.where.partition(": ")[2]
    name = place.rpartition(" ")[2]
    match finding.code:
        case Code.UNIT_STOPPED | Code.UNIT_FAILED if any(fnmatch.fnmatchcase(name, unit) for unit in _HOLDING_DATA):
            return None
        case Code.UNIT_STOPPED:
            return ("systemctl", "start", name)
        case Code.UNIT_FAILED:
            return ("systemctl", "restart", name)
        case Code.UNIT_ENABLEMENT:
            return ("systemctl", _ENABLEMENT[finding.recorded or "", finding.actual or ""], name)
        case Code.SYSCTL if finding.desired is not None:
            return ("sysctl", "-w", f"{name}={finding.desired}")
        case Code.PACKAGE_HOLD:
            return ("apt-mark", "hold" if (finding.recorded or "").endswith("held") else "unhold", name)
        case Code.FILE_ATTRIBUTES if matched := _DESCRIBED.fullmatch(finding.recorded or ""):
            # One command for both: the mode follows the owner, as chown(2) clears bits of it.
            owner = f"{matched['owner']}:{matched['group']}"
            return ("sh", "-c", 'chown -h -- "$1" "$3" && chmod -- "$2" "$3"', "sh", owner, matched["mode"], place)
        case _:
            return None


def _scheduler(finding: Drift) -> tuple[str, ...] | None:
    subject, _, field = finding.where.partition(": ")
    name = subject.partition(" ")[2]
    if finding.code is Code.PARTITION_CHANGED and finding.desired is not None:
        return ("scontrol", "update", f"partitionname={name}", f"{field}={finding.desired}")
    if finding.code is Code.NODE_CHANGED and field in _NODE_FIELDS and finding.desired is not None:
        return ("scontrol", "update", f"nodename={name}", f"{_NODE_FIELDS[field]}={finding.desired}")
    return None
