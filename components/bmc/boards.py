"""Which BMCs a cluster's hosts have, and how they are asked. Pure."""

from collections.abc import Collection
from pathlib import Path

from blueprints import spec

from .model import Access, Board, Protocol


def boards(site: spec.Site | None, names: Collection[str] | None = None) -> tuple[Board, ...]:
    """List the BMCs in the order of the inventory.

    Args:
        names: of the hosts; None: all of them.
    """
    if site is None or site.bmc is None:
        return ()
    port = f":{site.bmc.port}" if site.bmc.port else ""
    return tuple(Board(host.name, f"{host.bmc}{port}", host.bmc_certificate) for host in site.hosts if host.bmc and (names is None or host.name in names))


def access(asked: spec.SiteBmc, password: str) -> Access:
    """Say how to log in."""
    authority = str(Path(asked.authority).expanduser()) if asked.authority else ""
    return Access(asked.user, password, Protocol(asked.protocol), authority)
