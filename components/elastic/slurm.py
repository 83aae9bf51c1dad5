"""Ask Slurm, and tell it. Its commands' text is the same in all versions that are served; their JSON is not, and reading it takes ten times as long with thousands of nodes."""

import dataclasses
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from blueprints import hostlist

from .model import Job, Node, Reservation, Slurm

ANSWER_WITHIN_S = 60
AT_ONCE = 1000  # nodes in one command: an argument has at most 128 KiB (execve(2)), and slurmctld holds its lock for each
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""slurmctld starts its programs without a PATH."""
JOB_STATES = "RUNNING,CONFIGURING,COMPLETING,SUSPENDED,STOPPED"
KEPT_STATES = frozenset({"DOWN", "DRAIN"})
OUR_RESERVATIONS = "clusterwright-lease-"
WINDOWS = "clusterwright-maintenance-"
"""How reservations of the blueprint's maintenance windows begin (blueprints/maintenance_windows.py)."""
MAINTENANCE = frozenset({"maint", "maintenance"})
_REASON = re.compile(r" Reason=(.*?)(?: \[([^\[\]@]*)@[^\[\]@]*\]|$)")


class Unanswered(Exception):
    """Slurm did not do or answer something; the text says what, and what it said."""


Run = Callable[[Sequence[str]], str]


def run(command: Sequence[str]) -> str:
    """Run one of Slurm's commands and give what it prints.

    Raises:
        Unanswered: it failed, or was silent for ANSWER_WITHIN_S seconds.
    """
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SLURM_TIME_FORMAT": "%s"}
    if configuration := os.environ.get("SLURM_CONF"):
        environment["SLURM_CONF"] = configuration
    written = " ".join(command)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER_WITHIN_S, env=environment)
    except subprocess.TimeoutExpired:
        raise Unanswered(f"`{written[:200]}` got no answer for {ANSWER_WITHIN_S} s") from None
    except OSError as error:
        raise Unanswered(f"`{command[0]}` can't be started: {error}") from None
    if done.returncode:
        raise Unanswered(f"`{written[:200]}` failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Commands:
    """Slurm through its commands."""

    def __init__(self, run: Run = run):
        self._run = run
        self._config: str | None = None

    def view(self) -> Slurm:
        """Give what Slurm says now."""
        nodes = parse_nodes(self._run(["scontrol", "--oneliner", "show", "nodes"]))
        asked = ["squeue", "--noheader", f"--states={JOB_STATES}"]
        # Two questions: what a job may do has no letter for the one form, and a list of nodes has no width for the other (squeue(1), --format and --Format).
        jobs = parse_jobs(self._run([*asked, "--format=%A|%T|%N"]), self._run([*asked, "--Format=JobID:20,BatchFlag:6,Requeue:6"]))
        reserved = self._run(["scontrol", "--oneliner", "show", "reservations"])
        return Slurm(outside_windows(nodes, reserved), jobs, parse_reservations(reserved))

    def switches(self) -> Mapping[str, frozenset[str]]:
        """Give what is connected to each switch of Slurm's topology; none where it has no switches."""
        return parse_switches(self._run(["scontrol", "--oneliner", "show", "topology"]))

    def reconfigure(self) -> None:
        """Let Slurm read its configuration again."""
        self._run(["scontrol", "reconfigure"])

    def state_folder(self) -> str:
        """Give StateSaveLocation."""
        folder = self._setting("StateSaveLocation")
        if not folder:
            raise Unanswered("`scontrol show config` names no StateSaveLocation")
        return folder

    def spares_kept(self) -> bool:
        """Say whether Slurm leaves on, however long they are idle, nodes that a person drained or took down (slurm.conf(5), SuspendExcStates; not before 23.02)."""
        return set(self._setting("SuspendExcStates").upper().split(",")) >= KEPT_STATES

    def _setting(self, name: str) -> str:
        if self._config is None:
            self._config = self._run(["scontrol", "show", "config"])
        found = re.search(rf"^{name}\s*=\s*(\S+)", self._config, re.MULTILINE)
        return found[1] if found else ""

    def set_state(self, nodes: Sequence[str], state: str, *, reason: str = "") -> list[str]:
        """Set the state of nodes, and give what Slurm said of those that it refused.

        Slurm changes none of a list in which one can't be changed, so the others of such a list are asked for one by one.
        """
        fields = [f"state={state}", *([f"reason={reason}"] if reason else [])]
        return self._each(nodes, lambda some: ["scontrol", "update", f"nodename={hostlist.compress(some)}", *fields])

    def set_reason(self, nodes: Sequence[str], reason: str) -> list[str]:
        """Give nodes a reason and leave their state, and give what Slurm said of those that it refused."""
        return self._each(nodes, lambda some: ["scontrol", "update", f"nodename={hostlist.compress(some)}", f"reason={reason}"])

    def reboot(self, nodes: Sequence[str], *, reason: str, resumes: bool) -> list[str]:
        """Let nodes reboot as soon as they have no jobs, and give what Slurm said of those that it refused.

        Args:
            resumes: the nodes are in service afterwards (scontrol(1), `nextstate`); else as they were.
        """
        words = ["ASAP", *(["nextstate=RESUME"] if resumes else []), f"reason={reason}"]
        return self._each(nodes, lambda some: ["scontrol", "reboot", *words, hostlist.compress(some)])

    def set_addresses(self, addresses: Sequence[tuple[str, str]]) -> list[str]:
        known = dict(addresses)
        return self._each(list(known), lambda some: ["scontrol", "update", f"nodename={','.join(some)}", f"nodeaddr={','.join(known[node] for node in some)}"])

    def requeue(self, jobs: Iterable[int]) -> list[str]:
        return self._each_job(jobs, lambda job: ["scontrol", "requeue", job])

    def start_now(self, jobs: Iterable[int]) -> list[str]:
        return self._each_job(jobs, lambda job: ["scontrol", "update", f"jobid={job}", "starttime=now"])

    def explain(self, jobs: Iterable[int], reason: str) -> list[str]:
        """Put a reason into jobs, where `scontrol show job` shows it (scontrol(1), AdminComment)."""
        return self._each_job(jobs, lambda job: ["scontrol", "update", f"jobid={job}", f"admincomment={reason}"])

    def reserve(self, name: str, nodes: Sequence[str], start: float, *, is_there: bool) -> None:
        """Make a reservation, or move the one that is there."""
        which, when = [f"reservationname={name}", f"nodes={hostlist.compress(nodes)}"], [f"starttime=uts{start:.0f}", "duration=UNLIMITED"]
        if is_there:
            self._run(["scontrol", "update", *which, *when])
        else:
            # Only root can use it (scontrol(1), reservations: a user or an account is required). It may overlap other reservations: the capacity ends for these, too.
            self._run(["scontrol", "create", "reservation", *which, *when, "flags=IGNORE_JOBS,OVERLAP", "users=root"])

    def unreserve(self, name: str) -> None:
        self._run(["scontrol", "delete", f"reservation={name}"])

    def _each(self, nodes: Sequence[str], command: Callable[[Sequence[str]], list[str]]) -> list[str]:
        complaints: list[str] = []
        for some in _batches(nodes, AT_ONCE):
            try:
                self._run(command(some))
            except Unanswered as error:
                complaints += [str(error)] if len(some) == 1 else [complaint for node in some for complaint in self._each([node], command)]
        return complaints

    def _each_job(self, jobs: Iterable[int], command: Callable[[str], list[str]]) -> list[str]:
        complaints = []
        for job in jobs:
            try:
                self._run(command(str(job)))
            except Unanswered as error:
                complaints.append(str(error))
        return complaints


def _batches(nodes: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(nodes), size):
        yield nodes[start : start + size]


def parse_nodes(text: str) -> Mapping[str, Node]:
    """Read `scontrol --oneliner show nodes`."""
    nodes = {}
    for line in text.splitlines():
        name = _field(line, "NodeName=")
        state = _field(line, " State=").lower()
        if not name or not state:
            continue
        base, *flags = state.split("+")
        if base.endswith("*"):  # older versions mark a silent node so
            base, flags = base.rstrip("*"), [*flags, "not_responding"]
        reason, by = _reason(line)
        nodes[name] = Node(name, base, frozenset(flags), reason=reason, address=_field(line, " NodeAddr="), reason_by=by)
    return nodes


def _field(line: str, name: str) -> str:
    _, found, rest = line.partition(name)
    return rest.split(" ", 1)[0] if found else ""


def _reason(line: str) -> tuple[str, str]:
    """Give the reason and who gave it, without when (`… [root@1795298981]`)."""
    found = _REASON.search(line)
    return (found[1].strip(), found[2] or "") if found else ("", "")


def parse_jobs(text: str, may: str = "") -> tuple[Job, ...]:
    """Read `squeue --format=%A|%T|%N`, and of `squeue --Format=JobID:20,BatchFlag:6,Requeue:6` which jobs go back to the queue.

    A job that only one of the two answers names goes back: it has just come or gone.
    """
    ends = {int(words[0]) for line in may.splitlines() if len(words := line.split()) == 3 and "0" in words[1:]}
    jobs = []
    for line in text.splitlines():
        number, state, nodes = line.strip().split("|", 2)
        if nodes:
            jobs.append(Job(int(number), state.lower(), hostlist.expand(nodes), requeues=int(number) not in ends))
    return tuple(jobs)


def outside_windows(nodes: Mapping[str, Node], reserved: str) -> Mapping[str, Node]:
    """Give the nodes as they would be without the blueprint's maintenance windows: a window keeps jobs off nodes, and somebody who keeps a node for themselves does so besides.

    Args:
        reserved: what `scontrol --oneliner show reservations` printed.
    """
    lines = [line for line in reserved.splitlines() if " State=ACTIVE" in line]
    if not any(_field(line, "ReservationName=").startswith(WINDOWS) for line in lines):
        return nodes
    others = [line for line in lines if not _field(line, "ReservationName=").startswith(WINDOWS) and "MAINT" in _field(line, " Flags=").split(",")]
    kept = {name for line in others for name in hostlist.expand(_field(line, " Nodes="))}
    return {name: node if name in kept else dataclasses.replace(node, flags=node.flags - MAINTENANCE) for name, node in nodes.items()}


def parse_switches(text: str) -> Mapping[str, frozenset[str]]:
    """Read `scontrol --oneliner show topology` of topology/tree, in which a switch of switches also names all nodes below."""
    found = {}
    for line in text.splitlines():
        if name := _field(line, "SwitchName="):
            found[name] = frozenset(hostlist.expand(_field(line, " Switches=") or _field(line, " Nodes=")))
    return found


def parse_reservations(text: str) -> tuple[Reservation, ...]:
    """Read `scontrol --oneliner show reservations`, of which those of this program count."""
    found = []
    for line in text.splitlines():
        name = _field(line, "ReservationName=")
        if name.startswith(OUR_RESERVATIONS):
            found.append(Reservation(name, float(_field(line, " StartTime=")), hostlist.expand(_field(line, " Nodes="))))
    return tuple(found)
