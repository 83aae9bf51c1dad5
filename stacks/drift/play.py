"""Run a playbook on all hosts of a stack with the stack's own key."""

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any

from components.finish import inventory, playbook
from components.inspection.known import Known, KnownHost
from components.provider.kind import Work

FORKS = 32
DEADLINE_S = 900


def play(known: Known, name: str, variables: Mapping[KnownHost, Mapping[str, Any]], *, title: str, keep: tuple[str, ...] = ()) -> playbook.Outcome:
    """Run a playbook on all hosts with the stack's own key.

    Args:
        variables: of single hosts.
        keep: names of tasks whose results are wanted.
    """
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


def _finished(host: KnownHost) -> inventory.FinishedHost:
    values = {name: value for name, value in dataclasses.asdict(host).items() if name not in ("group", "role") and value}
    return inventory.FinishedHost(**values)
