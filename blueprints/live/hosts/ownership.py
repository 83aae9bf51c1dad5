"""Hosts that somebody else uses: another cluster, a scheduler of somebody's own, programs on the ports of the cluster."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...codes import Code
from .fault import Fault, listed
from .subject import Subject

PROCESS = re.compile(r" \(process \d+\)")
PACKAGES = "installed packages: "
"""Begins the phrase with packages (`components/metal/guest/occupied.py`)."""
OWN_DAEMONS = ("slurm", "munge", "mariadb", "mysql", "haproxy", "keepalived")
"""What `occupied` names already."""


def is_ours(mark: Mapping[str, Any] | None, *, stack: str, owner: str) -> bool:
    """Say whether the mark on a host is the one of this stack in this checkout."""
    return mark is not None and mark.get("stack") == stack and mark.get("owner") == owner


def check(subjects: Sequence[Subject], *, stack: str, owner: str) -> Iterator[Fault]:
    """Find hosts that adopting would refuse: nothing of somebody else's is ever overwritten."""
    for subject in subjects:
        facts = subject.facts
        if is_ours(facts.mark, stack=stack, owner=owner):
            continue
        if facts.mark is not None:
            yield _owned(subject.name, facts.mark)
            continue
        if facts.occupied:
            yield _occupied(subject.name, facts.occupied)
        foreign = {port: name for port, name in facts.listeners.items() if not (facts.occupied and name.startswith(OWN_DAEMONS))}
        if foreign:
            what = f"port{'' if len(foreign) == 1 else 's'} {listed(sorted(foreign))} taken"
            detail = listed([f"{port}: {name or 'an unknown program'}" for port, name in sorted(foreign.items())])
            remedy = "stop the program, or let it listen elsewhere: `{login} sudo ss -ltnp` shows it"
            yield Fault(subject.name, Code.HOST_PORT_TAKEN, what, "the cluster's daemons listen there", remedy, detail=detail)


def _owned(host: str, mark: Mapping[str, Any]) -> Fault:
    if "stack" not in mark:
        what, why = "the mark of the cluster that owns the host can't be read", "/etc/clusterwright/owner.json is damaged"
        return Fault(host, Code.HOST_OWNED, what, why, "find out whose the host is; if it is yours: `{login} sudo rm /etc/clusterwright/owner.json`")
    stack, owner = str(mark["stack"]), str(mark.get("owner", "another checkout"))
    what, why = f"the stack {stack} of {owner} owns the host", "a host belongs to one cluster; nothing was changed"
    remedy = f"release it there: `make --directory {shlex.quote(owner)} down STACK={stack}`, or take it out of this blueprint"
    return Fault(host, Code.HOST_OWNED, what, why, remedy)


def _occupied(host: str, found: Sequence[str]) -> Fault:
    what = "a scheduler, database, load balancer or container runtime of somebody else's is there"
    why = "clusterwright changes none that it did not install"
    packages = [name for one in found if one.startswith(PACKAGES) for name in one.removeprefix(PACKAGES).split(", ")]
    purge = f"`{{login}} sudo apt-get purge {' '.join(packages)}`" if packages else "stop the programs and remove the files that are named"
    remedy = f"take the host out of the blueprint; or, if nobody needs what it runs, {purge}"
    return Fault(host, Code.HOST_OCCUPIED, what, why, remedy, detail=listed([PROCESS.sub("", one) for one in found], most=8))
