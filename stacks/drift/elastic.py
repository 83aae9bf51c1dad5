"""Hosts that come and go with the work: which are up when the check begins, and which of them are on their way in or out. `look` asks; all else is pure.

No record names them. Those that are up are checked as all hosts of their group are; one that is off, or starts or stops while the check runs, is named as not checked.
"""

import dataclasses
import importlib
from collections.abc import Iterable, Iterator, Mapping

from . import slurm
from .finding import Layer, Unchecked
from .scheduler import ASLEEP, states_of
from .stack import Known, KnownHost

LISTS = {"local": "components.local.instances"}
"""Target → the module that lists running hosts of elastic pools with their SSH keys."""
YOUNG_S = 60.0
"""A host so young may still be starting its daemons, whatever the scheduler says of it."""
ELSEWHERE = "its hosts come and go with the work, are made anew each time, and answer with keys that the stack doesn't know"
NAMES_SHOWN = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The hosts that are up, or why nobody can list them."""

    hosts: tuple[KnownHost, ...] = ()
    launched_s: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Incarnation → when it was started, seconds since 1970."""
    why: str = ""


def look(stack_name: str, known: Known) -> Listing:
    """List the hosts of elastic groups that are up now."""
    if not groups(known):
        return Listing()
    if known.spec["target"] not in LISTS:
        return Listing(why=ELSEWHERE)
    lists = importlib.import_module(LISTS[known.spec["target"]])
    try:
        found = [one for one in lists.look(stack_name) if one.node_set in groups(known) and one.host_key]
    except lists.Unanswered as error:
        return Listing(why=str(error))
    hosts = tuple(KnownHost(one.node, one.node_set, "compute", one.address, one.id, one.host_key) for one in sorted(found, key=lambda one: one.node))
    return Listing(hosts, {one.id: one.launched_s for one in found})


def groups(known: Known) -> Mapping[str, tuple[str, ...]]:
    """Give the groups whose hosts no record names, each with the names of all hosts that it can have."""
    recorded = {host.group for host in known.hosts}
    all_groups = (node_set["hosts"] for node_set in known.spec["node_sets"])
    return {
        group["name"]: tuple(f"{group['prefix']}-{number}" for number in range(int(group["count"])))
        for group in all_groups
        if group["count"] and group["name"] not in recorded
    }


def on_their_way(before: Listing, after: Listing, answers: Mapping[str, Mapping[str, str]], *, moment_s: float) -> dict[KnownHost, str]:
    """Give the hosts that were starting or stopping while the check ran, with the reason why they were not judged.

    Args:
        before: what was up when the check began.
        after: what was up when the hosts had been looked at.
        answers: what the scheduler said meanwhile (`scheduler_facts`); empty: nothing.
        moment_s: when the check began, seconds since 1970.
    """
    left = {host.incarnation for host in after.hosts}
    nodes = slurm.parse_records(answers.get("nodes", {}).get("text", ""), "NodeName")
    found = {}
    for host in before.hosts:
        state = nodes.get(host.name, {}).get("State", "")
        if host.incarnation not in left:
            found[host] = "it went while the check ran"
        elif states_of(state) & ASLEEP:
            found[host] = f"it is on its way in or out (Slurm says {state})"
        elif moment_s - before.launched_s.get(host.incarnation, 0.0) < YOUNG_S:
            found[host] = "it has just been started"
    return found


def unchecked(known: Known, listing: Listing, arriving: Mapping[KnownHost, str]) -> Iterator[Unchecked]:
    """Name the hosts that were not looked at, with the reason."""
    up = {host.name for host in listing.hosts}
    for group, names in groups(known).items():
        off = [name for name in names if name not in up]
        if listing.why:
            yield Unchecked(Layer.HOSTS, group, listing.why)
        elif off:
            yield Unchecked(Layer.HOSTS, f"{group}: {_shown(off)}", "off: they come when jobs want them")
    for host, why in arriving.items():
        for layer in (Layer.HOSTS, Layer.VERSIONS, Layer.CAPABILITY):
            yield Unchecked(layer, host.name, why)


def _shown(names: Iterable[str]) -> str:
    listed = [*names]
    return ", ".join(listed) if len(listed) <= NAMES_SHOWN else f"{len(listed)} hosts"
