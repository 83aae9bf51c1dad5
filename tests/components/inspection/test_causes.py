"""One cause gives one finding, which names its consequences; what has a cause of its own stays."""

import pytest

from blueprints.finding import Finding
from blueprints.finding.subject import Daemon, HostAdministrator, HostFile, HostPart, HostUser, ObjectKind, SchedulerObject, Unit, UserKey
from blueprints.finding.values import UnitLink, UnitState
from components.inspection import causes
from components.inspection.codes import Code
from components.inspection.finding import drift

HOSTS = ("login-0", "control-0", "train-0")
REQUIRES = {
    ("control-0", "slurmctld.service"): frozenset({"munge.service", "sysinit.target"}),
    ("control-0", "slurmdbd.service"): frozenset({"munge.service"}),
    ("train-0", "slurmd.service"): frozenset({"munge.service"}),
}


def stopped(host: str, name: str) -> Finding:
    return drift(Code.UNIT_STOPPED, Unit(host, name), "the unit does not run", remedy="", actual="inactive (dead)")


def link(host: str, name: str, state: UnitState) -> Finding:
    return drift(Code.UNIT_ENABLEMENT, Unit(host, name), f"the unit was {state}", remedy="", actual=UnitLink(state, f"/etc/systemd/system/{name}", None))


def file(code: Code, host: str, path: str, recorded: str | None = None) -> Finding:
    return drift(code, HostFile(host, path), "", remedy="", recorded=recorded)


def user(code: Code, host: str, name: str = "eve", line: str = "eve:x:1") -> Finding:
    return drift(code, HostUser(host, name), "the user", remedy="", actual=line)


def node_down(name: str) -> Finding:
    return drift(Code.NODE_DOWN, SchedulerObject(ObjectKind.NODE, name, "down"), "the node is down", remedy="")


SILENT = drift(Code.SCHEDULER_SILENT, Daemon("slurmctld"), "slurmctld does not answer", remedy="")
DISABLED = link("control-0", "munge.service", UnitState.DISABLED)
UNREACHABLE = drift(Code.UNREACHABLE, HostPart("train-0", "SSH"), "the host does not answer", remedy="")

CASES = {
    "a disabled unit of the controller": (
        [
            SILENT,
            stopped("control-0", "slurmctld.service"),
            stopped("control-0", "slurmdbd.service"),
            DISABLED,
            *(file(Code.FILE_GONE, "control-0", f"/etc/rc{number}.d/S01munge") for number in (2, 3, 4, 5)),
            *(file(Code.FILE_ADDED, "control-0", f"/etc/rc{number}.d/K01munge") for number in (2, 3, 4, 5)),
        ],
        ["control-0: unit munge.service"],
    ),
    "a masked unit of a node": ([link("train-0", "munge.service", UnitState.MASKED), stopped("train-0", "slurmd.service"), node_down("train-0")], ["train-0: unit munge.service"]),
    "an alias of a disabled unit": (
        [link("train-0", "chrony.service", UnitState.DISABLED), file(Code.FILE_GONE, "train-0", "/etc/systemd/system/chronyd.service", "link to /usr/lib/systemd/system/chrony.service")],
        ["train-0: unit chrony.service"],
    ),
    "a dead host": ([UNREACHABLE, node_down("train-0")], ["train-0: SSH"]),
    "a dead controller": ([drift(Code.UNREACHABLE, HostPart("control-0", "SSH"), "the host does not answer", remedy=""), SILENT], ["control-0: SSH"]),
    "a table that all hosts share": ([user(Code.USER_ADDED, host) for host in HOSTS], ["control-0: user eve"]),
    "a table on some hosts": ([user(Code.USER_ADDED, host) for host in HOSTS[:2]], ["login-0: user eve", "control-0: user eve"]),
    "a user that is unlike on each host": ([user(Code.USER_CHANGED, host, line=host) for host in HOSTS], [f"{host}: user eve" for host in HOSTS]),
    "a user that is gone": (
        [
            *(user(Code.USER_MISSING, host) for host in HOSTS),
            *(drift(Code.ADMINS, HostAdministrator(host, "eve"), "may not become root", remedy="") for host in HOSTS),
            drift(Code.USER_KEY, UserKey("eve", "AAAA"), "the key is gone", remedy=""),
        ],
        ["control-0: user eve"],
    ),
    "a key that went with its folder": (
        [file(Code.FILE_GONE, "train-0", "/etc/munge"), drift(Code.MUNGE_KEY, HostPart("train-0", "MUNGE key"), "", remedy="", actual="no key")],
        ["train-0: /etc/munge"],
    ),
    # What looks alike and has a cause of its own.
    "units of different hosts": ([link("login-0", "munge.service", UnitState.DISABLED), stopped("train-0", "slurmd.service")], ["login-0: unit munge.service", "train-0: unit slurmd.service"]),
    "a unit that was enabled": ([link("train-0", "munge.service", UnitState.ENABLED), stopped("train-0", "slurmd.service")], ["train-0: unit munge.service", "train-0: unit slurmd.service"]),
    "a node that is down by itself": ([node_down("train-0"), stopped("train-1", "slurmd.service")], ["node train-0: down", "train-1: unit slurmd.service"]),
    "another key": (
        [file(Code.FILE_GONE, "train-0", "/etc/munge"), drift(Code.MUNGE_KEY, HostPart("train-0", "MUNGE key"), "", remedy="", actual="another key")],
        ["train-0: /etc/munge", "train-0: MUNGE key"],
    ),
    "a controller that does not answer while its units run": ([SILENT], ["slurmctld"]),
}  # fmt: skip


@pytest.mark.parametrize(("findings", "expected"), CASES.values(), ids=CASES.keys())
def test_consequences_are_no_findings_of_their_own(findings: list[Finding], expected: list[str]) -> None:
    kept = causes.fold(findings, hosts=HOSTS, controllers=("control-0",), requires=REQUIRES)
    assert [one.place for one in kept] == expected


def test_a_cause_names_its_consequences_and_has_their_level() -> None:
    note = file(Code.FILE_ADDED, "control-0", "/etc/rc2.d/K01munge")
    [kept] = causes.fold([SILENT, stopped("control-0", "slurmctld.service"), DISABLED, note], hosts=HOSTS, controllers=("control-0",), requires=REQUIRES)
    assert kept.what == "the unit was disabled; because of it: slurmctld, control-0: unit slurmctld.service, control-0: /etc/rc2.d/K01munge"
    assert (DISABLED.level, kept.level) == (Code.UNIT_ENABLEMENT.level, Code.SCHEDULER_SILENT.level)


def test_of_two_controllers_one_that_runs_leaves_the_silence_without_a_cause() -> None:
    kept = causes.fold([SILENT, DISABLED], hosts=HOSTS, controllers=("control-0", "control-1"), requires={})
    assert kept == [SILENT, DISABLED]


def test_units_that_need_each_other_stay() -> None:
    both = [stopped("train-0", "a.service"), stopped("train-0", "b.service")]
    needed = {("train-0", "a.service"): frozenset({"b.service"}), ("train-0", "b.service"): frozenset({"a.service"})}
    assert causes.fold(both, hosts=HOSTS, controllers=("control-0",), requires=needed) != []
