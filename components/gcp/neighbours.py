"""Machines that are in the subnet of a stack's hosts and are not the stack's: folders are exported to the whole range, where root of any machine is root in them. Read-only."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Items = Callable[[str, Mapping[str, str]], Iterable[Mapping[str, Any]]]
"""Lists a collection of a project, all pages."""
_FIELDS = {"fields": "nextPageToken,items(name,labels,networkInterfaces/subnetwork)"}


def look(items: Items, *, region: str, subnet: str, own: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """List machines of others by name and zone.

    Args:
        subnet: its full name.
        own: label of the stack's own machines, and its value.
    """
    name, value = own
    for zone in sorted(str(one["name"]) for one in items("zones", {}) if str(one["region"]).endswith(f"/{region}")):
        for one in items(f"zones/{zone}/instances", _FIELDS):
            subnets = [str(card.get("subnetwork", "")) for card in one.get("networkInterfaces", ())]
            if any(link.endswith(f"/{subnet}") for link in subnets) and one.get("labels", {}).get(name) != value:
                yield str(one["name"]), zone
