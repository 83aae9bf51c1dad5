"""`clusterwright rebuild`: show what becomes of hosts and their jobs, and create the hosts again when somebody agrees."""

import argparse
import sys

from blueprints import message_text

from ..engine import locks
from ..errors import EXIT_USAGE, Problem
from ..rebuild import order as orders
from ..rebuild import plan
from . import options, summary

AGREED = "yes"


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("hosts", nargs="+", metavar="HOST", help="a host, or a host list: train-[0-3]")
    parser.add_argument(
        "--requeue", action="store_true", help="put jobs back into the queue instead of waiting for them; jobs that can't be requeued are waited for"
    )
    parser.add_argument(
        "--wait", type=options.duration, metavar="TIME", help="how long to wait at most for jobs (90s, 30m, 1h; default: until they have ended)"
    )
    parser.add_argument("--yes", action="store_true", help="rebuild without asking; required for all hosts of a pool at once")


def run(given: argparse.Namespace) -> int:
    loaded = options.to_provision(given)
    with locks.held(given.stack, "rebuild"):
        order = orders.prepare(given.stack, given.hosts, loaded)
        controllers = len(order.controllers)
        print(f"rebuild of {_counted(len(order.plan.hosts))} of stack {given.stack}:")
        for line in plan.lines(
            order.plan, requeues=given.requeue, controllers=controllers, only_state=plan.only_state(order.known.cluster), by_owner=order.by_owner
        ):
            print(message_text.printable(line))
        if order.whole_pools and not given.yes:
            raise Problem(
                f"these are all hosts of {message_text.listed(order.whole_pools)}; nothing was changed",
                why="no node of the pool could take jobs meanwhile",
                remedy="add --yes to rebuild them all at once, or rebuild some first",
                status=EXIT_USAGE,
            )
        if not given.yes and not _agreed():
            print("nothing was changed")
            return 1
        orders.carry_out(order, requeues=given.requeue, wait_s=given.wait, say=lambda text: print(text, flush=True))
        if order.by_owner:
            for line in plan.next_steps(
                order.plan.hosts, stack=given.stack, blueprint=str(options.chosen(given).blueprint), can_return=orders.KUBERNETES not in order.sides
            ):
                print(line)
            return 0
        if order.plan.together or order.plan.controllers:
            summary.show(given.stack)
        print(f"{_counted(len(order.plan.hosts))} rebuilt")
    return 0


def _counted(number: int) -> str:
    return "1 host" if number == 1 else f"{number} hosts"


def _agreed() -> bool:
    if not sys.stdin.isatty():
        print(f"add --{AGREED} to do it", file=sys.stderr)
        return False
    return input(f"Do this? Type {AGREED!r} to agree: ").strip() == AGREED
