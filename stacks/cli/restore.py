"""`clusterwright restore`: list the snapshots of a Kubernetes cluster, and bring it back to one of them when somebody agrees."""

import argparse
import sys

from blueprints import message_text

from ..engine import locks
from ..errors import EXIT_FAILED
from ..snapshots import restore
from . import agreement, options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("snapshot", nargs="?", metavar="HOST/FILE", help="the snapshot to go back to; without it, all are listed")
    parser.add_argument("--yes", action="store_true", help="restore without asking")


def run(given: argparse.Namespace) -> int:
    known = restore.recorded(given.stack)
    there, silent = restore.snapshots(known)
    for host, why in silent.items():
        print(message_text.printable(f"{host} gave no list: {why}"), file=sys.stderr)
    if given.snapshot is None:
        for one in there:
            print(message_text.printable(f"{one}  {one.bytes / 2**20:.1f} MiB"))
        return EXIT_FAILED if silent else 0
    snapshot = restore.choose(given.snapshot, there)
    with locks.held(given.stack, "restore"):
        print(f"restore of stack {given.stack} from {snapshot}:")
        print("  all objects of the cluster become those of the snapshot; later ones are deleted, and their pods end")
        print("  the API server stops for some minutes; pods that the snapshot has go on")
        if others := [host.name for host in restore.hosts(known) if host.name != snapshot.host]:
            print(f"  {message_text.listed(others)} leave the control plane and join it again, one after the other")
        if not given.yes and not agreement.asked("Restore now?"):
            print("nothing was changed")
            return EXIT_FAILED
        restore.carry_out(given.stack, known, snapshot, say=lambda text: print(f"  {message_text.printable(text)} …", flush=True))
        print(f"restored; `clusterwright up --stack {given.stack}` creates what the stack records and the snapshot lacks")
    return 0
