"""Bring a Kubernetes cluster back to a snapshot of etcd: list what the hosts of its control plane keep, and carry out a restore."""

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from blueprints import message_text
from components import errors
from components.finish import group
from components.inspection import record, role_defaults
from components.inspection.recorded_cluster import Known, KnownHost
from components.provider.kind import Work
from components.repair import shipping

from ..drift import repair
from ..engine import commands, state
from ..errors import EXIT_USAGE, Problem

ROLE = "kubernetes"
"""Role and group of the hosts of a control plane."""
PLAYBOOK = "restore.yml"
WITHIN_S = 3600
FOLDER = str(role_defaults.defaults("etcd_snapshots")["etcd_snapshots_folder"])
LIST = ("find", FOLDER, "-maxdepth", "1", "-name", "etcd-*.db", "-printf", "%f %s\n")


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of etcd, which lies on a host of the control plane."""

    host: str
    file: str
    """Its name says when it was saved (`etcd-20261123T160000Z.db`)."""
    bytes: int

    def __str__(self) -> str:
        return f"{self.host}/{self.file}"


def recorded(stack: str) -> Known:
    """Read what is recorded of a stack with Kubernetes on hosts.

    Raises:
        Problem: there is no such stack, it is not up, or it has no control plane on hosts.
    """
    commands.require()
    if not state.exists(stack):
        raise Problem(
            f"there is no stack {stack}", why="nothing is recorded under this name here", remedy="name a stack with --stack; `pulumi stack ls` lists them"
        )
    try:
        known = record.read(commands.record(stack, show_secrets=True))
    except errors.NotUp as error:
        raise Problem(f"stack {stack} is not up", why=str(error), remedy=f"run `clusterwright up --stack {stack}` first") from error
    if not hosts(known):
        raise Problem(
            f"stack {stack} has no snapshots", why="only a Kubernetes control plane on hosts of the stack saves its state", remedy="name another stack"
        )
    return known


def hosts(known: Known) -> tuple[KnownHost, ...]:
    """Give the hosts of the control plane."""
    return tuple(host for host in known.hosts if host.group == ROLE)


def snapshots(known: Known) -> tuple[tuple[Snapshot, ...], Mapping[str, str]]:
    """List the snapshots, the latest first.

    Returns:
        the snapshots, and why hosts could not be asked.
    """
    answers = shipping.run({host: [shipping.Order(LIST)] for host in hosts(known)}, private_key=known.private_key)
    silent = {host.name: one.said for host, (one,) in answers.items() if not one.is_done}
    return listed({host.name: one.said for host, (one,) in answers.items() if one.is_done}), silent


def listed(said: Mapping[str, str]) -> tuple[Snapshot, ...]:
    """Read what hosts listed. Pure.

    Args:
        said: host → a line with name and size for each snapshot.
    """
    lines = [(host, *line.split()) for host, text in said.items() for line in text.splitlines()]
    found = [Snapshot(host, file, int(size)) for host, file, size in lines]
    return tuple(sorted(found, key=lambda one: (one.file, one.host), reverse=True))


def choose(word: str, there: Sequence[Snapshot]) -> Snapshot:
    """Find the snapshot that the command line names.

    Raises:
        Problem: there is none of this name.
    """
    found = next((one for one in there if str(one) == word), None)
    if found is None:
        why = f"the latest are {message_text.listed(str(one) for one in there[:3])}" if there else f"no host has one in {FOLDER}"
        raise Problem(f"there is no snapshot {word}", why=why, remedy="`clusterwright restore` lists them all", status=EXIT_USAGE)
    return found


def carry_out(stack: str, known: Known, snapshot: Snapshot, *, say: Callable[[str], None]) -> None:
    """Restore the cluster.

    Raises:
        Problem: the playbook failed; the same command goes on.
    """
    names = [host.name for host in hosts(known)]
    work = Work(show=lambda text, _kept: say(text), stopping=threading.Event(), timeout_s=WITHIN_S, title=f"{stack} restore")
    wanted = {"restored": {"host": snapshot.host, "snapshot": str(PurePosixPath(FOLDER, snapshot.file))}}
    outcome = group.finish_again(repair.recorded_groups(known)[ROLE], names, work, variables=wanted, order=PLAYBOOK)
    if not outcome.ok:
        why = "\n".join([*map(str, outcome.failures), *filter(None, [outcome.error])])
        raise Problem("the restore did not come to its end", why=why, remedy=f"clusterwright restore --stack {stack} {snapshot} --yes")
