"""Run commands on many hosts at once over SSH, and give the outcome of each."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..inspection import ssh
from ..inspection.recorded_cluster import KnownHost

MARK = "clusterwright-outcomes "
"""Begins the line that a host prints; its login shell's own files may print others."""
WITHIN_S = 600
"""A package may have to be downloaded first."""
HOST_WITHIN_S = 1800
LOCK = "/run/clusterwright/repair.lock"
PROGRAM = Path(__file__).with_name("program.py")


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """One command."""

    argv: tuple[str, ...]
    stdin: str = ""
    lists: bool = False
    """Its standard output is read by a program: it is given whole, without complaints, where the command succeeds."""
    within_s: int = WITHIN_S
    """How long it may take."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How one command ended."""

    is_done: bool
    said: str
    """What it printed, or why it did not run."""


def run(orders: Mapping[KnownHost, Sequence[Order]], *, private_key: str, lock: str | None = LOCK) -> dict[KnownHost, tuple[Outcome, ...]]:
    """Run the commands of each host one after the other, and all hosts at once.

    Args:
        lock: what a host locks meanwhile, so that it waits for an earlier run. None: the commands only read, or keep others out themselves.
    Returns:
        host → an outcome for each of its commands, also where the host did not answer.
    """
    within_s = max(HOST_WITHIN_S, *(order.within_s for own in orders.values() for order in own), 0)
    try:
        answers = ssh.run({host: text(own, lock=lock) for host, own in orders.items()}, private_key=private_key, within_s=within_s)
    except OSError as error:
        return {host: (Outcome(is_done=False, said=str(error)),) * len(own) for host, own in orders.items()}
    return {host: outcomes(answers[host], len(own)) for host, own in orders.items()}


def text(orders: Sequence[Order], *, lock: str | None = LOCK) -> bytes:
    """Give the program with its commands, for the standard input of a host's Python."""
    steps = json.dumps([dataclasses.asdict(order) for order in orders])
    return f"{PROGRAM.read_text(encoding='utf-8')}\nmain(json.loads({steps!r}), mark={MARK!r}, lock={lock!r})\n".encode()


def outcomes(answer: ssh.Answer, count: int) -> tuple[Outcome, ...]:
    """Read what a host printed."""
    line = next((line for line in reversed(answer.output.splitlines()) if line.startswith(MARK.encode())), None)
    if line is None:
        return (Outcome(is_done=False, said=answer.unreachable or answer.failed or "the host gave no answer"),) * count
    return tuple(Outcome(one["state"] == "done", one["said"]) for one in json.loads(line.removeprefix(MARK.encode())))
