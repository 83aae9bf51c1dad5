"""Keep the record of what was installed on a host true while packages are installed on it: what changes meanwhile joins it, what somebody changed earlier stays drift."""

from typing import Any

from ansible.module_utils import host_places


def begin(path: str, **more: Any) -> dict[str, Any]:
    """Keep what is there in a file, unless a run that was interrupted kept it, and give it.

    Args:
        more: what else to keep for the end.
    """
    before: dict[str, Any] | None = host_places.read_json(path)
    if before is None:
        before = {"places": host_places.places(), "packages": host_places.packages(), **more}
        host_places.write_json(path, before)
    return before


def end(before: dict[str, Any]) -> dict[str, Any]:
    """Record what changed since, on a host that has a record, and give what is there now. The caller deletes the file."""
    now = {"places": host_places.places(), "packages": host_places.packages()}
    if recorded := host_places.read_json(host_places.INSTALLED):
        host_places.write_json(host_places.INSTALLED, joined(recorded, before, now))
    return now


def joined(recorded: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Give the record with what differs between two moments. Pure."""
    together = dict(recorded)
    for kind in ("places", "packages"):
        differing = {name for name in {*before[kind], *now[kind]} if before[kind].get(name) != now[kind].get(name)}
        kept = {name: one for name, one in recorded[kind].items() if name not in differing}
        together[kind] = kept | {name: now[kind][name] for name in differing if name in now[kind]}
    return together
