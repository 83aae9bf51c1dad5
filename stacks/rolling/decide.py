"""How a roll goes on: which hosts it takes out of service next, which it installs, and when it stops. Pure.

A roll installs what a running host must restart for (kernel, driver, fabric stack): a few hosts at a time, drained first. Every decision follows from what hosts and Slurm show, so that a roll that was
killed goes on where it was.
"""

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence


class Phase(enum.Enum):
    """Where a host is in a roll."""

    DUE = "due"
    """It lacks something, and the roll has not begun with it."""
    DRAINING = "draining"
    """The roll, or one that was killed, drained it, and jobs still run on it."""
    EMPTY = "empty"
    """The roll has it, and no job does."""
    DONE = "done"
    """It has what it should have."""
    FAILED = "failed"
    """The roll installed it, and it did not come back as it should."""
    KEPT = "kept"
    """Somebody took it out of service, or it does not answer: the roll leaves it alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host of a stack, as a roll sees it."""

    name: str
    scope: str
    """The pool, or the group, whose limit counts it."""
    phase: Phase
    is_busy: bool = False
    """Jobs run on it."""
    is_out: bool = False
    """It takes no jobs already, and nobody keeps it: rolling it takes nothing from the pool."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """What a roll does next."""

    begin: tuple[str, ...] = ()
    """Hosts that it takes out of service."""
    install: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    """Hosts that it took out of service and that return to it as they are."""
    blocked: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Scope → the hosts out of service that leave no room for the roll."""
    is_over: bool = False


def decide(hosts: Sequence[Host], limits: Mapping[str, int], *, order: Sequence[Sequence[str]], is_closed: bool = False) -> Step:
    """Decide the next step.

    The first host of a scope goes alone: a driver that doesn't load takes one node, not a tenth of them. Hosts that are out of service already go first, then idle ones.

    Args:
        limits: scope → how many of its hosts may be out of service at once.
        order: scopes that roll together, first those that roll first.
        is_closed: no maintenance window is open. Hosts that serve, or still have jobs, go on serving; those that are out of service already are rolled.
    """
    if any(host.phase is Phase.FAILED for host in hosts):
        return Step(resume=_names(hosts, Phase.DRAINING, Phase.EMPTY), is_over=True)
    install = _names(hosts, Phase.EMPTY)
    begin: list[str] = []
    blocked: dict[str, tuple[str, ...]] = {}
    for together in order:
        of_scopes = [host for host in hosts if host.scope in together]
        for scope in together:
            members = [host for host in of_scopes if host.scope == scope]
            taken = [*_next(members, limits[scope], is_closed=is_closed)]
            begin += taken
            if not is_closed and not taken and not _names(members, Phase.DRAINING, Phase.EMPTY) and _names(members, Phase.DUE):
                blocked[scope] = tuple(host.name for host in members if _is_missing(host))
        if any(host.phase in (Phase.DUE, Phase.DRAINING, Phase.EMPTY) and host.scope not in blocked for host in of_scopes):
            break
    draining = _names(hosts, Phase.DRAINING)
    is_over = not begin and not install and (is_closed or not draining)
    return Step(tuple(begin), install, draining if is_closed else (), blocked, is_over)


def _next(members: Sequence[Host], limit: int, *, is_closed: bool) -> Iterator[str]:
    """Name the hosts of one scope that are taken out of service now."""
    begun = len(_names(members, Phase.DRAINING, Phase.EMPTY))
    # The first of them shows whether what is installed works.
    most = limit if _names(members, Phase.DONE) else 1
    due = [host for host in members if host.phase is Phase.DUE]
    without_loss = [host for host in due if host.is_out][: max(0, most - begun)]
    missing = sum(_is_missing(host) for host in members)
    room = 0 if is_closed else max(0, min(limit - missing, most - begun - len(without_loss)))
    serving = sorted((host for host in due if not host.is_out), key=lambda host: host.is_busy)
    yield from (host.name for host in (*without_loss, *serving[:room]))


def _is_missing(host: Host) -> bool:
    return host.is_out or host.phase in (Phase.DRAINING, Phase.EMPTY, Phase.KEPT)


def _names(hosts: Sequence[Host], *phases: Phase) -> tuple[str, ...]:
    return tuple(host.name for host in hosts if host.phase in phases)
