"""Look at all hosts at once, through Ansible, with the stack's own key: what the roles' fact modules give, host by host."""

import dataclasses
import threading
import time
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from . import capability
from .hosts import ssh_keys
from .known import Known, KnownHost

if TYPE_CHECKING:
    from ..finish import playbook

PLAYBOOK = "drift.yml"
HOST_TASK = "Facts of the host"
SCHEDULER_TASK = "Facts of the scheduler"
FORKS = 32
DEADLINE_S = 900


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of the hosts."""

    facts: Mapping[KnownHost, Mapping[str, Any]]
    scheduler: Mapping[str, Any] | None
    """What a controller's host gave of the scheduler; None: nothing."""
    unreachable: Mapping[KnownHost, str]
    """Host → the error instead of an answer."""
    failed: Mapping[KnownHost, str]
    """Hosts that answered and could not be inspected, with the reason."""
    moment_s: float
    """The middle of the time in which they were inspected, seconds since 1970."""
    error: str = ""
    """Why no host could be inspected; empty when one could."""
    serving: tuple[str, ...] = ()
    """Controllers that have the mark of the one that serves; none where there is one controller only."""
    teller: str = ""
    """The controller that gave what is known of the scheduler; empty: none did."""


def _finished(host: KnownHost) -> Any:
    from ..finish import inventory

    values = {name: value for name, value in dataclasses.asdict(host).items() if name not in ("group", "role") and value}
    return inventory.FinishedHost(**values)


def collect(known: Known, *, title: str) -> Seen:
    """Run the playbook that only looks."""
    begun = time.time()
    variables = {host: {"drift_mounts": list(capability.mounts(known.cluster, host.role)), "drift_homes": _homes(known, host)} for host in known.hosts}
    outcome = play(known, PLAYBOOK, variables, title=title, keep=(HOST_TASK, SCHEDULER_TASK))
    by_name = {host.name: host for host in known.hosts}
    unreachable = {by_name[failure.host]: failure.message for failure in outcome.failures if failure.unreachable}
    failed = {by_name[failure.host]: f"{failure.task}: {failure.message}" for failure in outcome.failures if not failure.unreachable}
    facts = {host: outcome.by_host[host.name][HOST_TASK] for host in known.hosts if HOST_TASK in outcome.by_host.get(host.name, {})}
    answers = {name: results[SCHEDULER_TASK] for name, results in outcome.by_host.items() if "answers" in results.get(SCHEDULER_TASK, {})}
    serving = tuple(sorted(name for name, one in answers.items() if one.get("serves")))
    teller = teller_of(answers)
    error = outcome.error if not (facts or unreachable or failed) else ""
    return Seen(facts, answers.get(teller), unreachable, failed, (begun + time.time()) / 2, error, serving, teller)


def teller_of(answers: Mapping[str, Mapping[str, Any]]) -> str:
    """Choose the controller whose answers count and on which scontrol runs: the one that serves, as another one may be cut off from it. Pure.

    Args:
        answers: controller → its answers about the scheduler.
    Returns:
        empty where none gave anything.
    """
    return min(answers, key=lambda name: (not answers[name].get("serves"), name), default="")


def _homes(known: Known, host: KnownHost) -> dict[str, dict[str, Any]]:
    """Name the users whose keys this host is asked for: homes are the same on all hosts, so one is asked."""
    users, asked = known.cluster.users, ssh_keys.asked_host(known)
    return {user.name: {"uid": user.uid, "home": ssh_keys.home(user)} for user in users} if host == asked else {}


def without(seen: Seen, left_out: Container[KnownHost]) -> Seen:
    """Leave some hosts out of what was seen."""

    def others(of_hosts: Mapping[KnownHost, Any]) -> Mapping[KnownHost, Any]:
        return {host: of_host for host, of_host in of_hosts.items() if host not in left_out}

    return dataclasses.replace(seen, facts=others(seen.facts), unreachable=others(seen.unreachable), failed=others(seen.failed))


def play(known: Known, name: str, variables: Mapping[KnownHost, Mapping[str, Any]], *, title: str, keep: tuple[str, ...] = ()) -> "playbook.Outcome":
    """Run a playbook on all hosts with the stack's own key.

    Args:
        variables: of single hosts.
        keep: names of tasks whose results are wanted.
    """
    from ..finish import inventory, playbook
    from ..provider.kind import Work

    finished = {host: _finished(host) for host in known.hosts}
    groups: dict[str, list[inventory.FinishedHost]] = {}
    for host, one in finished.items():
        groups.setdefault(host.group, []).append(one)
    listed = inventory.inventory(groups)
    for host, own in variables.items():
        listed[host.group]["hosts"][host.name].update(own)
    order = playbook.Run(
        playbook=name,
        inventory=listed,
        variables={},
        secrets={},
        private_key=known.private_key,
        known_hosts=inventory.known_hosts(finished.values()),
        keep=keep,
        forks=FORKS,
    )
    return playbook.run(order, Work(show=lambda _text, _kept: None, stopping=threading.Event(), timeout_s=DEADLINE_S, title=title))
