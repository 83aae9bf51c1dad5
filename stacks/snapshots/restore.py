"""Bring a cluster back to a state that its hosts keep: list snapshots of etcd and dumps of the accounting database, and restore one of etcd."""

import threading
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from components import errors
from components.finish import group
from components.inspection import record, role_defaults
from components.inspection.recorded_cluster import Known, KnownHost
from components.provider.kind import Work
from components.repair import shipping

from ..drift import repair
from ..engine import commands, state
from ..errors import Problem
from . import database
from .snapshot import Snapshot, listed

ROLE = "kubernetes"
"""Role and group of the hosts of a control plane of Kubernetes."""
PLAYBOOK = "restore.yml"
WITHIN_S = 3600
FOLDER = str(role_defaults.defaults("etcd_snapshots")["etcd_snapshots_folder"])
LIST = ("find", FOLDER, "-maxdepth", "1", "-name", "etcd-*.db", "-printf", "%f %s\n")


def recorded(stack: str) -> Known:
    """Read what is recorded of a stack whose hosts keep snapshots.

    Raises:
        Problem: there is no such stack, it is not up, or it has neither a control plane of Kubernetes on hosts nor an accounting database of its own.
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
    if not hosts(known) and not database.hosts(known):
        why = "a Kubernetes control plane on hosts of the stack and an accounting database on a controller save their state; this stack has neither"
        raise Problem(f"stack {stack} has no snapshots", why=why, remedy="name another stack")
    return known


def hosts(known: Known) -> tuple[KnownHost, ...]:
    """Give the hosts of the control plane."""
    return tuple(host for host in known.hosts if host.group == ROLE)


def snapshots(known: Known) -> tuple[tuple[Snapshot, ...], Mapping[str, str]]:
    """List the snapshots, the latest first.

    Returns:
        the snapshots, and why hosts could not be asked.
    """
    asked = {**dict.fromkeys(hosts(known), LIST), **dict.fromkeys(database.hosts(known), database.LIST)}
    answers = shipping.run({host: [shipping.Order(command, lists=True)] for host, command in asked.items()}, private_key=known.private_key, lock=None)
    silent = {host.name: one.said for host, (one,) in answers.items() if not one.is_done}
    return listed({host.name: one.said for host, (one,) in answers.items() if one.is_done}), silent


def carry_out(stack: str, known: Known, snapshot: Snapshot, *, say: Callable[[str], None]) -> None:
    """Restore the cluster from a snapshot of etcd.

    Raises:
        Problem: the playbook failed; the same command goes on.
    """
    names = [host.name for host in hosts(known)]
    work = Work(show=lambda text, _kept: say(text), stopping=threading.Event(), timeout_s=WITHIN_S, stack=stack, purpose="restore")
    wanted = {"restored": {"host": snapshot.host, "snapshot": str(PurePosixPath(FOLDER, snapshot.file))}}
    outcome = group.finish_again(repair.recorded_groups(known)[ROLE], names, work, variables=wanted, order=PLAYBOOK)
    if not outcome.ok:
        why = "\n".join([*map(str, outcome.failures), *filter(None, [outcome.error])])
        raise Problem("the restore did not come to its end", why=why, remedy=f"clusterwright restore --stack {stack} {snapshot} --yes")
