"""Machines that are in the subnet of a stack's hosts and are not the stack's: folders are exported to the whole range, where root of any machine is root in them. Read-only."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import rest

Items = Callable[[str, Mapping[str, str]], Iterable[Mapping[str, Any]]]
"""Lists a collection of a project, all pages."""
_FIELDS = {"fields": "nextPageToken,items(name,labels,networkInterfaces/subnetwork)"}


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """A machine of others."""

    name: str
    zone: str
    project: str = ""
    """Empty: the stack's."""

    @property
    def place(self) -> str:
        return f"{self.zone} of {self.project}" if self.project else self.zone


def look(items: Callable[[str], Items], *, project: str, region: str, subnet: str, own: Mapping[str, str]) -> Iterator[Machine]:
    """List machines of others in the stack's project, and in the one that shares the subnet if that lets itself be asked.

    Args:
        items: project → its collections.
        project: the stack's.
        subnet: its full name.
        own: labels that all of the stack's own machines have.
    """
    yield from _others(items(project), region, subnet, own)
    sharing = re.match("projects/([^/]+)/", subnet)
    if sharing is None or sharing[1] == project:
        return
    try:
        found = [*_others(items(sharing[1]), region, subnet, own)]
    except rest.Failed as error:
        if not error.is_hidden:
            raise
        return
    yield from (dataclasses.replace(one, project=sharing[1]) for one in found)


def _others(items: Items, region: str, subnet: str, own: Mapping[str, str]) -> Iterator[Machine]:
    for zone in sorted(str(one["name"]) for one in items("zones", {}) if str(one["region"]).endswith(f"/{region}")):
        for one in items(f"zones/{zone}/instances", _FIELDS):
            subnets = [str(card.get("subnetwork", "")) for card in one.get("networkInterfaces", ())]
            if any(link.endswith(f"/{subnet}") for link in subnets) and not own.items() <= one.get("labels", {}).items():
                yield Machine(str(one["name"]), zone)
