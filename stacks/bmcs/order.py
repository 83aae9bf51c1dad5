"""Switch servers through their BMCs: decide with what Slurm and earlier switches say, switch, and wait until the hosts serve again."""

import contextlib
import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence

from blueprints import hostlist, spec
from components import errors
from components.bmc import inquiry
from components.bmc.model import Access, Action, Board, Power, Unanswered
from components.elastic.model import Node
from components.inspection.recorded_cluster import Known
from components.ssh import remote

from .. import project
from ..errors import EXIT_USAGE, Problem
from ..rebuild import scheduler
from . import history, safeguards
from .asking import Bmcs

AT_ONCE = 8
"""So many servers are switched at a time: all of a rack's draw their starting current together otherwise."""
LOOK_EVERY_S = 5.0
BOOT_MARK = ("sh", "-c", "cat /proc/sys/kernel/random/boot_id; systemctl show --property=UserspaceTimestamp")
"""Another one after each boot, also of a container, which has the boot id of its machine."""


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What is switched."""

    stack: str
    action: Action
    hosts: tuple[safeguards.Host, ...]
    known: Known | None
    """None: no `up` of the stack has finished."""


def prepare(stack: str, words: Sequence[str], action: Action, *, cluster: spec.ClusterSpec, known: Known | None, allowed: safeguards.Allowed) -> Order:
    """Decide whether hosts may be switched; nothing is changed.

    Args:
        words: hosts and host lists.
    Raises:
        Problem: a host is unknown or has no BMC, or may not be switched.
    """
    names = named(words, cluster)
    roles = {name: (group.role, group.name) for group in cluster.host_groups for name in group.hostnames}
    nodes = _nodes(known) if known and action is not Action.ON else {}
    hosts = tuple(safeguards.Host(name, *roles[name], node=nodes.get(name)) for name in names)
    decided = dataclasses.replace(allowed, unused=known is None)
    pools = {one.hosts.name: one.hosts.count for one in cluster.node_sets}
    now = dt.datetime.now(dt.UTC)
    if found := safeguards.objections(hosts, action, pools=pools, cycles=history.cycles(project.private_folder(stack)), now=now, allowed=decided):
        forced = "" if allowed.force else "; --force switches hosts with jobs, too, which ends these jobs"
        remedy = f"correct that, then run the command again{forced}"
        raise Problem(f"{hostlist.compress(names)} may not be switched", why="\n".join(found), remedy=remedy)
    return Order(stack, action, hosts, known)


def named(words: Sequence[str], cluster: spec.ClusterSpec) -> tuple[str, ...]:
    """Find the hosts that the command line names.

    Raises:
        Problem: a host list can't be read, or a host is unknown or has no BMC.
    """
    try:
        names = tuple(dict.fromkeys(name for word in words for name in hostlist.expand(word)))
    except ValueError as error:
        raise Problem("a host list can't be read", why=str(error), remedy="write `gpu-001` or `gpu-[001-003]`", status=EXIT_USAGE) from error
    known = {name for group in cluster.host_groups for name in group.hostnames}
    if unknown := [name for name in names if name not in known]:
        why = f"the cluster has {hostlist.compress(sorted(known))}"
        raise Problem(f"there is no host {hostlist.compress(unknown)}", why=why, remedy="name hosts of the cluster", status=EXIT_USAGE)
    site = cluster.site
    has_bmc = {host.name for host in site.hosts if host.bmc} if site and site.bmc else set()
    without = [name for name in names if name not in has_bmc]
    if without:
        raise Problem(
            f"there is no BMC for {hostlist.compress(without)}",
            why="the inventory has no address of it" if site and site.bmc else "the inventory says nothing of how BMCs are asked (`inventory.bmc`)",
            remedy="add `bmc: …` to the host in the inventory, and `inventory.bmc` with a user and a password",
            status=EXIT_USAGE,
        )
    return names


def carry_out(order: Order, bmcs: Bmcs, *, wait_s: float, say: Callable[[str], None]) -> Mapping[str, str]:
    """Switch the hosts, few at a time, and wait for those that are switched on.

    Args:
        wait_s: how long the hosts may take to serve again; 0: it doesn't wait.
    Returns:
        host → why it was not switched, or does not serve; empty: all is well.
    """
    folder = project.private_folder(order.stack)
    failed: dict[str, str] = {}
    for first in range(0, len(order.hosts), AT_ONCE):
        some = [host.name for host in order.hosts[first : first + AT_ONCE]]
        before = _boots(order, some) if wait_s and order.action in (Action.ON, Action.CYCLE) else {}
        for name in some:
            history.add(folder, name, order.action, dt.datetime.now(dt.UTC))
        say(f"{order.action}: {hostlist.compress(some)}")

        def switch(board: Board, access: Access) -> bool:
            inquiry.act(board, access, order.action)
            return True

        answers = bmcs.ask(switch, names=some, within_s=inquiry.ACT_WITHIN_S)
        failed |= {name: str(answer) for name, answer in answers.items() if isinstance(answer, Unanswered)}
        switched = [name for name in some if name not in failed]
        if wait_s and order.known and order.action in (Action.ON, Action.CYCLE) and switched:
            failed |= _await(order, switched, before, wait_s=wait_s, say=say)
        if wait_s and order.action in (Action.OFF, Action.HARD_OFF) and switched:
            failed |= _await_off(bmcs, switched, wait_s=wait_s, say=say)
        if failed:
            break  # what stops one may stop all
    return failed


def _await(order: Order, names: Sequence[str], before: Mapping[str, str], *, wait_s: float, say: Callable[[str], None]) -> dict[str, str]:
    """Wait until hosts have booted and, where they are nodes, Slurm has heard from them."""
    say(f"waiting for {hostlist.compress(names)} to serve again")
    compute = {host.name for host in order.hosts if host.role == safeguards.COMPUTE}
    deadline, left = time.monotonic() + wait_s, dict.fromkeys(names, "it did not boot")
    while left and time.monotonic() < deadline:
        booted = {name for name, boot in _boots(order, list(left)).items() if boot != before.get(name, "")}
        nodes = _nodes(order.known) if order.known and booted & compute else {}
        for name in booted:
            if name not in compute or (name in nodes and nodes[name].is_answering):
                del left[name]
            else:
                left[name] = "it has booted, and Slurm has not heard from it"
        if left:
            time.sleep(LOOK_EVERY_S)
    return {name: f"{why} within {wait_s:.0f} s" for name, why in left.items()}


def _await_off(bmcs: Bmcs, names: Sequence[str], *, wait_s: float, say: Callable[[str], None]) -> dict[str, str]:
    """Wait until servers are off: a BMC only passes the request on to the operating system."""
    say(f"waiting for {hostlist.compress(names)} to be off")
    deadline, left = time.monotonic() + wait_s, list(names)
    while True:
        answers = bmcs.ask(lambda board, access: inquiry.power(board, access), names=left, within_s=inquiry.FACTS_WITHIN_S)
        left = [name for name in left if answers[name] is not Power.OFF]
        if not left or time.monotonic() > deadline:
            return dict.fromkeys(left, f"it is not off after {wait_s:.0f} s: `hard-off` cuts its power")
        time.sleep(LOOK_EVERY_S)


def _boots(order: Order, names: Sequence[str]) -> Mapping[str, str]:
    """Ask hosts which boot they are in; those that do not answer are left out."""
    found: dict[str, str] = {}
    for host in order.known.hosts if order.known else ():
        if host.name in names and order.known:
            with contextlib.suppress(errors.HostUnanswered), remote.session(host.as_finished, private_key=order.known.private_key) as session:
                found[host.name] = session.run(BOOT_MARK).strip()
    return found


def _nodes(known: Known) -> Mapping[str, Node]:
    """Ask Slurm for its nodes; nothing where no controller answers."""
    controllers = [host.as_finished for host in known.hosts if host.role == "control"]
    try:
        with scheduler.answering(controllers, private_key=known.private_key) as slurm:
            return slurm.nodes()
    except Problem:
        return {}
