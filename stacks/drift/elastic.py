"""Hosts that come and go with the work: which are up when the check begins, and which of them are on their way in or out. `look` asks; all else is pure.

No record names them. Those that are up are checked as all hosts of their group are; one that is off, or starts or stops while the check runs, is named as not checked.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from . import unrecorded
from .record import Known, KnownHost
from .report import Layer, Unchecked
from .slurm import ASLEEP, parse, states_of

if TYPE_CHECKING:
    from components.aws.instances import Instance

YOUNG_S = 60.0
"""A host so young may still be starting its daemons, whatever the scheduler says of it."""
BOOT_S = 600.0
"""So long may the boot of a cloud's host take, while only the scheduler can say whether it is over."""
ELSEWHERE = "its hosts come and go with the work, are made anew each time, and answer with keys that the stack doesn't know"
KEYLESS = "the stack gives its nodes no SSH key of its own yet, by which one could know them; the next `up` does"
BORN_BEFORE = "it was started before the stack gave its nodes an SSH key of its own, and has it when it is made anew"
JUST_ASKED_FOR = "it is starting or ending"
NAMES_SHOWN = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The hosts that are up, or why nobody can list them."""

    hosts: tuple[KnownHost, ...] = ()
    launched_s: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Incarnation → when it was started, seconds since 1970."""
    passed_over: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Hosts that are there and can't be looked at → why."""
    why: str = ""
    """Why none of them can be looked at."""
    failure: str = ""
    """Why nobody could say which of them are up, though somebody should."""
    boot_s: float = YOUNG_S
    """How long a host may take until it is up, where the scheduler doesn't say."""


def look(stack_name: str, known: Known) -> Listing:
    """List the hosts of elastic groups that are up now."""
    if not groups(known):
        return Listing()
    ask = LISTS.get(known.spec["target"])
    return ask(stack_name, known) if ask else Listing(why=ELSEWHERE)


def _on_this_machine(stack_name: str, known: Known) -> Listing:
    from components.local import instances

    try:
        found = [one for one in instances.look(stack_name) if one.node_set in groups(known) and one.host_key]
    except instances.Unanswered as error:
        return Listing(why=str(error))
    hosts = tuple(KnownHost(one.node, one.node_set, "compute", one.address, one.id, one.host_key) for one in sorted(found, key=lambda one: one.node))
    return Listing(hosts, {one.id: one.launched_s for one in found})


def _on_aws(stack_name: str, known: Known) -> Listing:
    from components.aws import instances

    if not known.node_key:
        return Listing(why=KEYLESS)
    try:
        return of_instances(instances.look(region=known.spec["network"]["region"], stack=stack_name), known)
    except instances.Unanswered as error:
        return Listing(failure=f"the hosts that come and go could not be listed: {error}", why="they could not be listed")


LISTS: Mapping[str, Callable[[str, Known], Listing]] = {"local": _on_this_machine, "aws": _on_aws}
"""Target → what lists the hosts of elastic pools with their SSH keys."""


def of_instances(instances: "Iterable[Instance]", known: Known) -> Listing:
    """Tell which instances are hosts of elastic groups that can be looked at: through the same host as the controllers, and by the key that the stack gives to all of them. Pure."""
    members = groups(known)
    nodes = {
        one.node: one
        for one in sorted(instances, key=lambda one: (one.launched, one.id))
        if one.part == "compute" and one.node in members.get(one.node_set, ()) and not unrecorded.is_anothers(one, known)
    }
    through = next((host for host in known.hosts if host.role == "control"), None)
    hosts: list[KnownHost] = []
    passed_over: dict[str, str] = {}
    for name, one in sorted(nodes.items()):
        if one.state != "running" or not one.address:
            passed_over[name] = JUST_ASKED_FOR
        elif known.node_key_since and one.launched < known.node_key_since:
            passed_over[name] = BORN_BEFORE
        else:
            way = {"jump": through.jump, "jump_key": through.jump_key} if through else {}
            hosts.append(KnownHost(name, one.node_set, "compute", one.address, one.id, known.node_key, **way))
    launched = {host.incarnation: nodes[host.name].launched.timestamp() for host in hosts}
    return Listing(tuple(hosts), launched, passed_over, boot_s=BOOT_S)


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
    nodes = parse.parse_records(answers.get("nodes", {}).get("text", ""), "NodeName")
    found = {}
    for host in before.hosts:
        state = nodes.get(host.name, {}).get("State", "")
        if host.incarnation not in left:
            found[host] = "it went while the check ran"
        elif states_of(state) & ASLEEP:
            found[host] = f"it is on its way in or out (Slurm says {state})"
        elif moment_s - before.launched_s.get(host.incarnation, 0.0) < (YOUNG_S if state else max(before.boot_s, YOUNG_S)):
            found[host] = "it has just been started"
    return found


def unchecked(known: Known, listing: Listing, arriving: Mapping[KnownHost, str]) -> Iterator[Unchecked]:
    """Name the hosts that were not looked at, with the reason."""
    up = {host.name for host in listing.hosts}
    for group, names in groups(known).items():
        off = [name for name in names if name not in up and name not in listing.passed_over]
        if listing.why:
            yield Unchecked(Layer.HOSTS, group, listing.why)
        elif off:
            yield Unchecked(Layer.HOSTS, f"{group}: {_shown(off)}", "off: they come when jobs want them")
    for name, why in {**listing.passed_over, **{host.name: why for host, why in arriving.items()}}.items():
        for layer in (Layer.HOSTS, Layer.VERSIONS, Layer.CAPABILITY):
            yield Unchecked(layer, name, why)


def _shown(names: Iterable[str]) -> str:
    listed = [*names]
    return ", ".join(listed) if len(listed) <= NAMES_SHOWN else f"{len(listed)} hosts"
