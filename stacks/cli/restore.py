"""`clusterwright restore`: list the snapshots of etcd and the dumps of the accounting database, and go back to one of them when somebody agrees."""

import argparse
import sys

from blueprints import message_text
from components.inspection.recorded_cluster import Known

from ..engine import locks
from ..errors import EXIT_FAILED
from ..snapshots import database, restore
from ..snapshots.snapshot import LATEST, Snapshot, choose
from . import agreement, options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument(
        "snapshot", nargs="?", metavar="HOST/FILE", help=f"the snapshot or dump to go back to, `HOST/{LATEST}` or `{LATEST}`; without it, all are listed"
    )
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
    snapshot = choose(given.snapshot, there, silent)
    with locks.held(given.stack, "restore"):
        print(f"restore of stack {given.stack} from {snapshot}:")
        for line in _consequences(known, snapshot):
            print(f"  {line}")
        if not given.yes and not agreement.asked("Restore now?"):
            print("nothing was changed")
            return EXIT_FAILED
        if database.is_dump(snapshot):
            said = database.carry_out(given.stack, known, snapshot)
            for line in said.splitlines():
                print(f"  {message_text.printable(line)}")
            print(f"restored; `clusterwright up --stack {given.stack}` creates accounts and limits that the stack records and the dump lacks")
        else:
            restore.carry_out(given.stack, known, snapshot, say=lambda text: print(f"  {message_text.printable(text)} …", flush=True))
            print(f"restored; `clusterwright up --stack {given.stack}` creates what the stack records and the snapshot lacks")
    return 0


def _consequences(known: Known, snapshot: Snapshot) -> list[str]:
    """Say what a restore does to a running cluster."""
    if database.is_dump(snapshot):
        return [
            "records of jobs since the dump are lost; jobs run on",
            f"{snapshot.host} dumps the present database first; tables that can't be read stay there under another name",
        ]
    others = [host.name for host in restore.hosts(known) if host.name != snapshot.host]
    return [
        "all objects of the cluster become those of the snapshot; later ones are deleted, and their pods end",
        "the API server stops for some minutes; pods that the snapshot has go on",
        *([f"{message_text.listed(others)} leave the control plane and join it again, one after the other"] if others else []),
    ]
