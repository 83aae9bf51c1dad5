"""What `clusterwright up` says and asks before it restarts hosts for kernel and drivers."""

import argparse
import datetime as dt
from collections.abc import Collection

from blueprints import hostlist, message_text
from blueprints.spec import ClusterSpec
from components.inspection import record

from ..drift.detect import Checked
from ..engine import commands
from ..rolling import plan, window
from ..rolling.order import Roll, Wishes
from . import agreement, options


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a roll treats jobs and waits for hosts."""
    parser.add_argument(window.AT_ONCE, action="store_true", help="restart hosts for kernel and drivers now, without waiting for a maintenance window")
    parser.add_argument("--requeue", action="store_true", help="put jobs on hosts that restart back into the queue instead of waiting for them")
    parser.add_argument(
        "--wait",
        type=options.duration,
        metavar="TIME",
        help="how long to wait at most for the jobs of a host that restarts (90s, 30m, 1h; default: until they have ended)",
    )
    parser.add_argument("--restart-within", type=options.duration, default=1800.0, metavar="TIME", help="how long a host may take to restart (default: 30m)")


def left_to_roll(cluster: ClusterSpec, checked: Checked | None) -> tuple[str, ...]:
    """Name the nodes out of service that acceptance leaves to the roll.

    Args:
        cluster: as it should become.
        checked: what was seen of the hosts.
    """
    if checked is None or checked.known is None or checked.seen is None:
        return ()
    states = plan.nodes(checked.answers)
    return plan.left_to_roll(plan.plan(cluster, checked.known, checked.seen, states), states)


def return_left(given: argparse.Namespace, cluster: ClusterSpec, checked: Checked | None) -> tuple[str, ...]:
    """Return the nodes to service that a roll left drained and that lack nothing any more, and name them: to acceptance they would be faults.

    Args:
        cluster: as it should become.
        checked: what was seen of the hosts.
    """
    if checked is None or checked.known is None or checked.seen is None:
        return ()
    decided = plan.plan(cluster, checked.known, checked.seen, plan.nodes(checked.answers))
    if decided.left:
        print(f"{hostlist.compress(decided.left)}: back in service after a roll that stopped")
        Roll(given.stack, checked.known, cluster, decided, Wishes(), say=print).return_left()
    return decided.left


def roll(given: argparse.Namespace, cluster: ClusterSpec, checked: Checked | None, *, returned: Collection[str] = ()) -> bool:
    """Restart hosts for what they lack, if somebody agrees and a maintenance window is open where there are any; say whether any was restarted.

    Args:
        cluster: as it was just brought up.
        checked: what was seen of the hosts before.
        returned: nodes that were returned to service since.
    Raises:
        Problem: the roll stopped.
    """
    if checked is None or checked.known is None or checked.seen is None:
        return False
    states = plan.nodes(checked.answers)
    states = {name: node for name, node in states.items() if name not in returned}
    if plan.plan(cluster, checked.known, checked.seen, states).is_empty:
        return False
    known = record.read(commands.record(given.stack, show_secrets=True))  # hosts may have joined and left since
    decided = plan.plan(cluster, known, checked.seen, states)
    print("Roll: hosts restart for")
    for line in plan.lines(decided):
        print(message_text.printable(line))
    permission = window.permission(cluster.maintenance, dt.datetime.now(dt.UTC), at_once=given.roll_now)
    if permission.text:
        print(f"  {permission.text}")
    if permission.is_over(dt.datetime.now(dt.UTC)) and not decided.left and not plan.out_already(decided, states):
        return False
    if not given.yes and not agreement.asked("Roll now?"):
        return False
    wishes = Wishes(requeues=given.requeue, wait_s=given.wait, restart_s=given.restart_within, permission=permission)
    return bool(Roll(given.stack, known, cluster, decided, wishes, say=lambda text: print(f"  {text} …", flush=True)).carry_out())
