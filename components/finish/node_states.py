"""The states of Slurm's nodes now: one `sinfo` on a login node, and what it says against an earlier acceptance."""

import dataclasses
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blueprints import hostlist, ssh_places

from .. import errors
from ..files import memory_folders
from ..ssh import jump as ssh_jump
from .inventory import FinishedHost, known_hosts

QUESTION = ("sinfo", "--noheader", "--format=%T|%u|%H|%N|%E")
"""State, who set its reason and when, nodes, reason: one line for all nodes that are alike (sinfo(1))."""
FIELDS = 5
CONNECT_WITHIN_S = 5
ANSWER_WITHIN_S = 20
SERVING = frozenset({"idle", "mixed", "allocated", "completing", "planned", "reserved", "maint"})
POWER_MARKS = "~#!%@^$+-"
"""What sinfo appends to the state of a node that starts, stops, reboots or is reserved."""
NOT_RESPONDING, POWERED_DOWN = "*", "~"
LEFT_TO_ROLL = "node left to the roll"
"""What a document of acceptance calls a node that was out of service before a roll."""


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """Nodes that are alike."""

    state: str
    """In sinfo's words, without marks (`idle`, `drained`)."""
    nodes: str
    """As Slurm writes them (`train-[0-1]`)."""
    responds: bool = True
    is_off: bool = False
    """Powered down until a job needs them."""
    reason: str = ""
    by: str = ""
    """Who gave the reason."""
    since: str = ""
    """When, by the controller's clock."""

    @property
    def serves(self) -> bool:
        """Whether these nodes take jobs, or take them as soon as one wants them."""
        return self.state in SERVING and self.responds

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(hostlist.expand(self.nodes))

    @property
    def described(self) -> str:
        said = f"{self.state}{'' if self.responds else ', not responding'}{', off until a job needs them' if self.is_off else ''}"
        why = ", ".join(part for part in (self.reason, f"by {self.by} at {self.since}" if self.by and self.since else "") if part)
        return f"{said} ({why})" if why else said


def parse(text: str) -> tuple[State, ...]:
    """Read what QUESTION prints. A reason may hold any letter, so it is the last field."""
    return tuple(_state(line) for line in dict.fromkeys(text.splitlines()) if line.count("|") >= FIELDS - 1)


def _state(line: str) -> State:
    word, by, since, nodes, reason = (part.strip() for part in line.split("|", FIELDS - 1))
    no_reason = reason in ("none", "")
    return State(
        state=word.rstrip(POWER_MARKS + NOT_RESPONDING).lower(),
        nodes=nodes,
        responds=NOT_RESPONDING not in word,
        is_off=POWERED_DOWN in word,
        reason="" if no_reason else reason,
        by="" if no_reason or by == "Unknown" else by.partition("(")[0],
        since="" if no_reason or since == "Unknown" else since,
    )


def ask(hosts: Sequence[FinishedHost], *, private_key: str) -> tuple[State, ...]:
    """Ask Slurm on the first login node that answers.

    Raises:
        SchedulerUnanswered: none answers, or Slurm doesn't.
    """
    said = "the cluster has no login node"
    folder = memory_folders.make_folder()
    try:
        (folder / "key").touch(mode=0o600)
        (folder / "key").write_text(private_key)
        (folder / "known_hosts").write_text("".join(f"{line}\n" for line in known_hosts(hosts)))
        own = ["-i", str(folder / "key"), "-o", f"UserKnownHostsFile={folder / 'known_hosts'}", "-o", "IdentitiesOnly=yes"]
        own += ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", f"ConnectTimeout={CONNECT_WITHIN_S}"]
        for host in hosts:
            through = ssh_jump.through(own, host.jump, host.jump_command)
            try:
                return parse(run(["ssh", *own, *through, *ssh_places.port_option(host.port), f"root@{host.address}", shlex.join(QUESTION)]))
            except errors.SchedulerUnanswered as silence:
                said = f"{host.name}: {silence}"
    finally:
        memory_folders.remove(folder)
    raise errors.SchedulerUnanswered(said)


def run(command: Sequence[str]) -> str:
    """Run a command that asks over SSH, and give what it prints.

    Raises:
        SchedulerUnanswered: it failed, or had no answer after ANSWER_WITHIN_S.
    """
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=ANSWER_WITHIN_S, check=False)
    except subprocess.TimeoutExpired:
        raise errors.SchedulerUnanswered(f"no answer for {ANSWER_WITHIN_S} s") from None
    except OSError as error:
        raise errors.SchedulerUnanswered(str(error)) from None
    if ended.returncode:
        words = [line for line in ended.stderr.splitlines() if line.strip()]
        raise errors.SchedulerUnanswered(words[-1] if words else f"exit status {ended.returncode}")
    return ended.stdout


def contradictions(checks: Iterable[Mapping[str, Any]], now: Iterable[State]) -> tuple[str, ...]:
    """Name the nodes that acceptance found in service and that are out of service now, each with its state, and those that it did not test and that serve now."""
    checks = tuple(checks)
    proven = {name for check in checks if check["name"] == "node state" and check["verdict"] in ("pass", "reported") for name in hostlist.expand(check["node"])}
    left_out = {name for check in checks if check["name"] == LEFT_TO_ROLL for name in hostlist.expand(check["node"])}
    states = {name: state for state in now for name in state.names}
    found: dict[str, list[str]] = {}
    for name in sorted(proven & states.keys()):
        if not states[name].serves:
            found.setdefault(states[name].described, []).append(name)
    if returned := [name for name in sorted(left_out & states.keys()) if states[name].serves]:
        found["back in service and was not tested"] = returned
    if missing := sorted(proven - states.keys() - {"none"}):
        found["unknown to Slurm"] = missing
    return tuple(
        f"{hostlist.compress(names)} is {described}" if len(names) == 1 else f"{hostlist.compress(names)} are {described}" for described, names in found.items()
    )
