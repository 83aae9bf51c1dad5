"""`clusterwright power`: show what the BMCs of a stack's hosts say, and switch hosts on and off, with brakes."""

import argparse
import json
import sys
from collections.abc import Mapping

from blueprints import hostlist, message_text, spec
from components import errors
from components.bmc import recorded
from components.bmc.model import Action, Facts, Unanswered
from components.files import atomic_files
from components.inspection import record
from components.inspection.recorded_cluster import Known

from .. import project
from ..bmcs import asking, order, safeguards
from ..engine import commands, locks, state
from ..errors import EXIT_USAGE, Problem
from ..render import bmcs as rendered
from ..render import tables
from . import agreement, options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""
STATUS = "status"
WAIT_S = 900
"""Machines with eight GPUs take minutes to boot."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    options.blueprint(parser, word=False)
    options.target(parser)
    parser.add_argument("action", choices=[STATUS, *Action], help="`off` asks the operating system to shut down; `hard-off` and `cycle` cut the power")
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="a host, or a host list: gpu-[001-003] (with `status`, all hosts are the default)")
    parser.add_argument("--force", action="store_true", help="switch nodes with jobs, and hosts that were cycled too often")
    parser.add_argument("--at-most", type=options.positive, metavar="N", help="switch at most this many hosts of a pool (default: a tenth of it)")
    parser.add_argument(
        "--wait", type=int, default=WAIT_S, metavar="SECONDS", help="how many seconds to wait for hosts to serve again; 0: don't wait (default: %(default)s)"
    )
    parser.add_argument("--try-again", action="store_true", help="try again with a password that a BMC refused")
    parser.add_argument("--yes", action="store_true", help="switch without asking")
    parser.add_argument(
        "--record", action="store_true", help="`status`: record serial numbers and firmware in stacks/Servers.STACK.yaml, which drift checks read"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    known = _known(given.stack)
    cluster = known.cluster if known else options.loaded(given, quiet=given.json).spec
    if given.action == STATUS:
        return _show(given, cluster)
    if not given.hosts:
        raise Problem("no host is named", why=f"`power {given.action}` switches only the hosts that you name", remedy="name hosts", status=EXIT_USAGE)
    allowed = safeguards.Allowed(given.force, given.at_most)
    with locks.held(given.stack, "power"):
        bmcs = asking.Bmcs(given.stack, cluster.site, try_again=given.try_again)
        wanted = order.prepare(given.stack, given.hosts, Action(given.action), cluster=cluster, known=known, allowed=allowed)
        names = hostlist.compress([host.name for host in wanted.hosts])
        print(f"will {rendered.VERBS[wanted.action]} {names}")
        if not given.yes and not agreement.asked("Do this?"):
            print("nothing was changed")
            return 1
        failed = order.carry_out(wanted, bmcs, wait_s=given.wait, say=lambda text: print(f"{text} …", file=sys.stderr))
    for name, why in failed.items():
        print(f"{name}: {message_text.printable(why)}")
    if not failed:
        print(f"{names}: done")
    return 1 if failed else 0


def _show(given: argparse.Namespace, cluster: spec.ClusterSpec) -> int:
    names = order.named(given.hosts, cluster) if given.hosts else None
    answers = asking.Bmcs(given.stack, cluster.site, try_again=given.try_again).facts(names=names, with_log=bool(names))
    if given.record:
        _record(given.stack, answers)
    if given.json:
        print(json.dumps({"format": FORMAT, "hosts": {name: rendered.as_record(one) for name, one in answers.items()}}, indent=2))
    elif not answers:
        print("the inventory has no BMCs that can be asked: `inventory.bmc` says how, and `bmc` of each host where")
    else:
        tables.show([rendered.section(answers), *(rendered.details(name, one) for name, one in answers.items() if names and isinstance(one, Facts))])
    return 1 if any(isinstance(one, Unanswered) for one in answers.values()) else 0


def _record(stack: str, answers: Mapping[str, Facts | Unanswered]) -> None:
    """Write what is there into the file of the stack; entries of servers that were not asked, or did not answer in full, stay."""
    file = project.servers_file(stack)
    try:
        before = recorded.read(file.read_text(encoding="utf-8")) if file.exists() else {}
    except recorded.Unreadable as error:
        raise Problem(f"{file} can't be read", why=str(error), remedy=f"correct the file, or remove it to record all servers again: rm {file}") from error
    complete = {name: recorded.of(answer) for name, answer in answers.items() if isinstance(answer, Facts) and not answer.incomplete}
    atomic_files.write_text(file, recorded.write({**before, **complete}))
    left = [name for name in answers if name not in complete]
    print(f"recorded {len(complete)} servers in {file}" + (f", not {hostlist.compress(left)}" if left else ""), file=sys.stderr)


def _known(stack: str) -> Known | None:
    """Read the stack's record; None where no `up` has finished."""
    commands.require()
    if not state.exists(stack):
        return None
    try:
        return record.read(commands.record(stack, show_secrets=True))
    except errors.NotUp:
        return None
