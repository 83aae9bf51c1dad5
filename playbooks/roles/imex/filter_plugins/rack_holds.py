"""Which machines of a rack keep the daemon that joins them from restarting. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

Answer = Mapping[str, Any]
"""What a machine told (tasks/look.yml): its `name`, the addresses that its daemon `knows`, and whether it `moves` to others, `restarts` the daemon and `has_job`."""


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"rack_holds": rack_holds}


def rack_holds(answers: Iterable[Answer], name: str, rack: Collection[str], asked: Sequence[str]) -> dict[str, list[str]]:
    """Give the machines for whose sake the daemon of one stays as it is.

    Daemons with different lists refuse each other, so all machines of a rack get another list, or none does. Where the list stays, only the jobs of this machine count.

    Args:
        name: the machine.
        rack: names of the machines that it is to be joined with, its own included; empty: none.
        asked: the machines of this run, those included that failed.
    Returns:
        `jobs`: machines whose daemon would restart under a job. `silent`: machines of which this run doesn't know.
    """
    known = {one["name"]: one for one in answers}
    own = known[name]
    if not own["restarts"]:
        return {"jobs": [], "silent": []}
    # Also those that it was joined with before.
    members = [one for one in known.values() if one["name"] in rack or (one["knows"] and one["knows"] == own["knows"])] if own["moves"] else [own]
    silent = [one for one in rack if one in asked and one not in known] if own["moves"] and any(one["knows"] for one in members) else []
    return {"jobs": sorted({one["name"] for one in (*members, own) if one["restarts"] and one["has_job"]}), "silent": sorted(silent)}
