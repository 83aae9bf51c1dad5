"""The names of a group's hosts. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from blueprints import hostlist


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"hostnames": hostnames}


def hostnames(group: Mapping[str, Any]) -> list[str]:
    """List the hosts of a group in their order: by their own names, or by the group's prefix and their number."""
    return list(hostlist.of_group(group["prefix"], group["count"], group.get("members") or ""))
