"""Which hosts differ in what finishing owns: files that its roles wrote, users, administrators, accounting, and configurations that were written and never used."""

from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import hostlist, spec
from blueprints.errors import Unreadable

from ..inspection import collect, payload, slurm, ssh
from ..inspection import hosts as of_hosts
from ..inspection.hosts import files, users
from ..inspection.recorded_cluster import KnownHost
from . import restorable_findings
from .inventory import FinishedHost

WITHIN_S = 60
"""A refresh waits no longer for a host."""
ANSWERS_WITHIN_S = 15
"""How long Slurm may take for one answer."""
SHALLOW = {"is_deep": False, "is_server": False, "within_s": WITHIN_S}


def look(hosts: Sequence[FinishedHost], view: Mapping[str, Any], *, private_key: str) -> frozenset[str]:
    """Inspect hosts and name those that differ. A host that doesn't answer is left out: whether it differs is unknown.

    Args:
        view: what the hosts are configured from.
    """
    control = (view.get("slurm") or {}).get("control") or {}
    programs = {
        KnownHost(host.name, "", "", host.address, host.incarnation, host.host_key, host.jump, host.jump_key, host.port, host.jump_command): payload.text(
            {"mounts": [], "homes": {}, "scheduler_s": ANSWERS_WITHIN_S if _is_controller(host.name, control) else 0} | SHALLOW
        )
        for host in hosts
    }
    found: dict[str, dict[str, Any]] = {}
    for host, answer in ssh.run(programs, private_key=private_key, within_s=WITHIN_S).items():
        if answer.output and not answer.unreachable and not answer.failed:
            found[host.name] = collect.facts(answer.output)
    teller = collect.teller_of({name: one["scheduler"] for name, one in found.items() if "scheduler" in one})
    return frozenset(name for name, one in found.items() if differs(name, one["host"], view, one["scheduler"]["answers"] if name == teller else None))


def differs(host: str, facts: Mapping[str, Any], view: Mapping[str, Any], answers: Mapping[str, Mapping[str, str]] | None = None) -> bool:
    """Say whether finishing the host would change it. Pure.

    Args:
        facts: what the inspection gave.
        answers: what Slurm's daemons answered there; None: they were not asked.
    """
    of_host = [*files.findings(host, facts["places"]), *of_hosts.pending(host, facts["pending"])]
    if any(restorable_findings.is_restored_on_its_host(finding) for finding in of_host):
        return True
    if not view.get("users") or not _is_controller(host, (view.get("slurm") or {}).get("control") or {}):
        return False
    try:
        people = spec.people_from_view(view)
    except Unreadable:  # another version recorded it, so that whether people differ is unknown
        return False
    of_cluster = [*users.findings(host, facts["users"], people.users), *users.administrators(host, facts["groups"], people.users)]
    if answers is not None and all("text" in answers.get(question, {}) for question in slurm.OF_ACCOUNTING):
        of_cluster += slurm.accounting.findings(answers, people)
    return any(restorable_findings.is_restored_on_the_controller(finding) for finding in of_cluster)


def _is_controller(host: str, control: Mapping[str, Any]) -> bool:
    if control.get("members"):
        return host in hostlist.expand(control["members"])
    return bool(control) and host.startswith(f"{control['prefix']}-")
