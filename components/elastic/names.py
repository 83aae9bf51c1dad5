"""The names of nodes: one table that every host of the cluster reads as its /etc/hosts.

Nodes get other addresses with every start, so the program that starts them writes the table: hosts that always run (controllers, login nodes), as finishing wrote them, then a line for each instance.
It is written as soon as the addresses of new instances are known, which is long before their first daemon runs.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from .model import Cloud, Life
from .table import Table

FIXED = Path("/etc/clusterwright/hosts")
KNOWN_WITHIN_S = 20.0
"""EC2 tells the address of an instance some seconds after its id; what comes later is written by the next `sync`."""
LOOK_EVERY_S = 1.0


class Seen(Protocol):
    """A fleet, as far as it is looked at here."""

    def view(self) -> Cloud: ...


def keep(
    table: Table,
    fleet: Seen,
    launched: Iterable[str] = (),
    *,
    fixed: Path = FIXED,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Write the table if it changed; return whether it did.

    Args:
        launched: ids of instances whose addresses are waited for, for a while.
    Raises:
        Unreachable: the cloud does not answer.
        OSError: the table can't be written.
    """
    awaited, deadline = frozenset(launched), clock() + KNOWN_WITHIN_S
    cloud = fleet.view()
    while clock() < deadline and any(one.id in awaited and one.life is Life.LIVE and not one.address for one in cloud.instances):
        pause(LOOK_EVERY_S)
        cloud = fleet.view()
    path = Path(table.names)
    text = fixed.read_text() + lines(table, cloud)
    if path.exists() and path.read_text() == text:
        return False
    _replace(path, text)
    return True


def lines(table: Table, cloud: Cloud) -> str:
    """Write the lines of nodes, in their order; of several instances for one node the latest counts. Pure."""
    addresses = {one.node: one.address for one in sorted(cloud.instances, key=lambda one: one.launched_at) if one.life is Life.LIVE and one.address}
    domain = f".{table.domain}" if table.domain else ""
    return "".join(f"{addresses[node]} {node}{domain} {node}\n" for node in table.owners() if node in addresses)


def _replace(path: Path, text: str) -> None:
    """Replace the table atomically: readers see the old or the new one, complete."""
    handle, new = tempfile.mkstemp(prefix=".hosts-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
        Path(new).replace(path)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise
