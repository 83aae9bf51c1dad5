"""Inspect all hosts at once over SSH with the stack's own key, and the scheduler on its controllers."""

import dataclasses
import json
import time
from collections.abc import Container, Mapping
from typing import Any

from . import capability, payload, ssh
from .hosts import ssh_keys
from .recorded_cluster import Known, KnownHost

HOST_WITHIN_S = 120
"""How long a host may take to answer, in which it may have to read all of its files."""
QUESTION_WITHIN_S = 30
"""How long Slurm may take for one answer."""


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
    asked_s: Mapping[KnownHost, tuple[float, float]] = dataclasses.field(default_factory=dict)
    """When each host was asked, and when it had answered, seconds since 1970."""
    teller: str = ""
    """The controller that gave what is known of the scheduler; empty: none did."""


def collect(known: Known, *, is_deep: bool = False) -> Seen:
    """Run the program that inspects a host on all hosts at once.

    Args:
        is_deep: look beyond the recorded places, too, for what an attacker leaves: it takes longer.
    """
    begun = time.time()
    programs = {host: payload.text(_parameters(known, host, is_deep=is_deep)) for host in known.hosts}
    try:
        answers = ssh.run(programs, private_key=known.private_key, within_s=HOST_WITHIN_S)
    except OSError as error:
        return Seen({}, None, {}, {}, (begun + time.time()) / 2, error=str(error))
    unreachable = {host: answer.unreachable for host, answer in answers.items() if answer.unreachable}
    failed = {host: answer.failed for host, answer in answers.items() if answer.failed}
    found: dict[KnownHost, dict[str, Any]] = {}
    for host, answer in answers.items():
        if host not in unreachable and host not in failed:
            try:
                found[host] = facts(answer.output)
            except ValueError as error:
                failed[host] = str(error)
    of_scheduler = {host.name: of_host["scheduler"] for host, of_host in found.items() if "scheduler" in of_host}
    serving = tuple(sorted(name for name, one in of_scheduler.items() if one["serves"]))
    teller = teller_of(of_scheduler)
    asked_s = {host: answer.asked_s for host, answer in answers.items()}
    of_hosts = {host: of_host["host"] for host, of_host in found.items()}
    return Seen(of_hosts, of_scheduler.get(teller), unreachable, failed, (begun + time.time()) / 2, "", serving, asked_s, teller)


def facts(output: bytes) -> dict[str, Any]:
    """Read the facts in what a host printed; its login shell's own files may print, too. Pure.

    Raises:
        ValueError: there are none.
    """
    line = next((line for line in reversed(output.splitlines()) if line.startswith(payload.MARK.encode())), None)
    try:
        read: dict[str, Any] = json.loads(line.removeprefix(payload.MARK.encode()) if line else b"")
    except json.JSONDecodeError as error:
        raise ValueError("the inspection gave no facts") from error
    return read


def _parameters(known: Known, host: KnownHost, *, is_deep: bool) -> dict[str, Any]:
    return {
        "mounts": list(capability.mounts(known.cluster, host.role)),
        "homes": _homes(known, host),
        "scheduler_s": QUESTION_WITHIN_S if host.role == "control" and known.cluster.slurm else 0,
        "is_deep": is_deep,
        "is_server": known.cluster.site is not None,
        "within_s": HOST_WITHIN_S,
    }


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
