"""Dumps of Slurm's accounting database: list what the controllers keep, and load one."""

from components.inspection.recorded_cluster import Known, KnownHost
from components.repair import shipping

from ..errors import Problem
from .snapshot import Snapshot

GROUP = "control"
PROGRAM = "/usr/sbin/clusterwright-database"
LOADED_WITHIN_S = 24 * 3600
"""A database of many jobs is dumped and loaded; half of that is of no use."""
LIST = ("sh", "-c", f"! test -x {PROGRAM} || exec {PROGRAM} list")
"""Path and size of each dump. Of two controllers, the first has the database."""


def hosts(known: Known) -> tuple[KnownHost, ...]:
    """Give the hosts that may keep dumps."""
    slurm = known.cluster.slurm
    if slurm is None or slurm.database.placement != "embedded":
        return ()
    return tuple(host for host in known.hosts if host.group == GROUP)


def is_dump(snapshot: Snapshot) -> bool:
    """Say whether a snapshot is a dump of the database."""
    return snapshot.file.endswith(".sql.gz")


def carry_out(stack: str, known: Known, snapshot: Snapshot) -> str:
    """Load a dump; give what the host said.

    Raises:
        Problem: the host refused or failed; the database before it is kept.
    """
    [host] = [one for one in hosts(known) if one.name == snapshot.host]
    load = f'there=$({PROGRAM} list) || exit 1; exec {PROGRAM} restore "$(printf "%s\\n" "$there" | cut -f 1 | grep -F -- "/$1")"'
    order = shipping.Order(("sh", "-c", load, "sh", snapshot.file), within_s=LOADED_WITHIN_S)
    # The host's program has a lock of its own: it says who holds it, and does not wait.
    answers = shipping.run({host: [order]}, private_key=known.private_key, lock=None)
    [outcome] = answers[host]
    if not outcome.is_done:
        remedy = f"`clusterwright restore --stack {stack}` lists the dumps: load another one, or correct the cause and run the same command again"
        raise Problem("the dump was not loaded", why=outcome.said, remedy=remedy)
    return outcome.said
