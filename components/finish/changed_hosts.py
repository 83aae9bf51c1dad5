"""Which hosts differ in what finishing owns: files that its roles wrote, users, and configurations that were written and never used."""

from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import hostlist

from ..inspection import collect, payload, ssh
from ..inspection import hosts as of_hosts
from ..inspection.hosts import files
from ..inspection.recorded_cluster import KnownHost
from . import restorable_findings
from .inventory import FinishedHost

WITHIN_S = 60
"""A refresh waits no longer for a host."""


def look(hosts: Sequence[FinishedHost], spec: Mapping[str, Any], *, private_key: str) -> frozenset[str]:
    """Inspect hosts and name those that differ. A host that doesn't answer is left out: whether it differs is unknown.

    Args:
        spec: what the hosts are configured from.
    """
    asked = {host.name: KnownHost(host.name, "", "", host.address, host.incarnation, host.host_key, host.jump, host.jump_key) for host in hosts}
    program = payload.text({"mounts": [], "homes": {}, "scheduler_s": 0, "is_deep": False, "is_server": False, "within_s": WITHIN_S})
    answers = ssh.run(dict.fromkeys(asked.values(), program), private_key=private_key, within_s=WITHIN_S)
    facts = {}
    for host, answer in answers.items():
        if answer.output and not answer.unreachable and not answer.failed:
            facts[host.name] = collect.facts(answer.output)["host"]
    return frozenset(name for name, of_host in facts.items() if differs(name, of_host, spec))


def differs(host: str, facts: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """Say whether finishing the host would change it. Pure.

    Args:
        facts: what the inspection gave.
    """
    found = [*files.findings(host, facts["places"]), *of_hosts.pending(host, facts["pending"])]
    if any(restorable_findings.is_restored_on_its_host(finding) for finding in found):
        return True
    users = spec.get("users") or ()
    return bool(users) and _is_controller(host, (spec.get("slurm") or {}).get("control") or {}) and {str(user["name"]) for user in users} != set(facts["users"])


def _is_controller(host: str, control: Mapping[str, Any]) -> bool:
    if control.get("members"):
        return host in hostlist.expand(control["members"])
    return bool(control) and host.startswith(f"{control['prefix']}-")
