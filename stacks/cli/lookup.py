"""`clusterwright lookup`: what an account has that a blueprint may name, each with the lines to write, and the SSH host keys and BMCs' certificates of hosts that exist already.

Nothing is changed but the file of host keys, after a confirmation. Accounts need credentials.
"""

import argparse
import json
import os

from blueprints import catalog, message_text
from components import registry
from components.cloud.account import Listing, Wanted

from ..engine import account
from ..errors import EXIT_USAGE, Problem
from ..render import listing, tables
from . import lookup_bmcs, lookup_hosts, options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""
HOSTS = "hosts"
"""What is read from hosts themselves, and from no account."""
BMCS = "bmcs"
"""What is read from the management controllers of hosts."""
TARGETS = tuple(name for name in registry.TARGETS if registry.has_account(name))
"""Those whose accounts this version can ask."""


def arguments(parser: argparse.ArgumentParser) -> None:
    answers = {target: registry.account(target, "lookup") for target in TARGETS}
    parser.add_argument("kind", choices=[*dict.fromkeys(kind for one in answers.values() for kind in one.KINDS), HOSTS, BMCS], help="what to list")
    parser.add_argument(
        "blueprint", nargs="?", help="for hosts and bmcs: the blueprint whose hosts to ask for their SSH host keys, or whose BMCs for their certificates"
    )
    options.stack(parser)
    parser.add_argument("--target", choices=TARGETS, default=TARGETS[0], help="whose account (default: %(default)s)")
    regions = ", ".join(f"{' or '.join(one.REGION_VARIABLES)}, else {catalog.target(target).default_region}" for target, one in answers.items())
    parser.add_argument("--region", help=f"where (default: {regions})")
    parser.add_argument("--machine", help=f"for zones and blocks: of this machine only ({next(iter(answers.values())).EXAMPLE_MACHINE})")
    parser.add_argument("--nodes", type=_positive, default=1, help="for blocks: how many machines (default: %(default)s)")
    parser.add_argument("--days", type=_positive, default=1, help="for blocks: for how many days (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="for hosts: write the keys that you confirm beside the blueprint")
    parser.add_argument(
        "--yes", nargs="*", metavar="FINGERPRINT", help="for hosts, with --write: the fingerprints that you compared already, instead of the question"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    if given.kind == HOSTS:
        return lookup_hosts.run(given)
    if given.kind == BMCS and not given.write and given.yes is None:
        return lookup_bmcs.run(given)
    if given.blueprint or given.write or given.yes is not None:
        why = f"`lookup {given.kind}` asks {'BMCs, whose lines you copy' if given.kind == BMCS else 'an account'}"
        raise Problem("a blueprint, --write and --yes belong to `lookup hosts`", why=why, remedy="remove them", status=EXIT_USAGE)
    target, lookup = given.target, registry.account(given.target, "lookup")
    if given.kind not in lookup.KINDS:
        why = f"{catalog.target(target).title} has no such list; it has {message_text.listed(lookup.KINDS)}"
        raise Problem(f"`lookup {given.kind}` lists nothing on {target}", why=why, remedy="choose one of them", status=EXIT_USAGE)
    if given.machine is not None and given.machine not in catalog.machines(target):
        remedy = f"`clusterwright catalog machines --target {target}` lists those that are known"
        raise Problem(f"no machine {given.machine} is known on {target}", why="it is not in the catalogue", remedy=remedy, status=EXIT_USAGE)
    if given.machine is None and given.kind in lookup.NEED_MACHINE:
        why, remedy = "blocks are offered by machine, number and time", f"add `--machine {lookup.EXAMPLE_MACHINE}`"
        raise Problem("`lookup blocks` needs a machine", why=why, remedy=remedy, status=EXIT_USAGE)
    region = given.region or next((os.environ[name] for name in lookup.REGION_VARIABLES if os.environ.get(name)), catalog.target(target).default_region)
    wanted = Wanted(given.machine, given.nodes, given.days)
    found: Listing = account.ask(target, region, lambda session: lookup.listing(session, given.kind, wanted))
    if given.json:
        print(json.dumps({"format": FORMAT, "target": target, "region": region, "kind": given.kind, "entries": found.entries}, indent=2))
    else:
        tables.show([listing.section(found, region)])
    return 0


def _positive(word: str) -> int:
    number = int(word) if word.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is no number of 1 or more")
    return number
