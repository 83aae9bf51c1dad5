"""`clusterwright token`: let Slurm give a user of the stack a token for its REST API, and print it."""

import argparse
import subprocess

from ..engine import commands, login, state
from ..errors import Problem
from . import options

MARK = "SLURM_JWT="
"""scontrol(1) prints a line for a shell to read."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("--user", help="whose token it is (default: the blueprint's first user)")
    parser.add_argument("--lifespan", type=int, default=1800, metavar="SECONDS", help="for how long it is valid (default: %(default)s)")


def run(given: argparse.Namespace) -> int:
    commands.require()
    outputs = commands.outputs(given.stack) if state.exists(given.stack) else {}
    if "spec" not in outputs:
        raise Problem(f"stack {given.stack} is not up", why="no `up` of it has finished yet", remedy=f"make up STACK={given.stack}")
    if not outputs["spec"]["login"].get("rest_api"):
        raise Problem(f"stack {given.stack} has no REST API", why="its blueprint does not ask for one", remedy="write `access: {rest_api: true}`, and run `up`")
    users = [user["name"] for user in outputs["spec"]["users"]]
    user = given.user or next(iter(users), "")
    if user not in users:
        raise Problem(f"no user {user}", why=f"the cluster has {', '.join(users) or 'no users'}", remedy="name one of them, or add the user to the blueprint")
    login.write_keys(given.stack, outputs)
    asked = [*login.command(given.stack, outputs, user), "scontrol", "token", f"lifespan={given.lifespan}"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False)
    if said.returncode or MARK not in said.stdout:
        raise Problem(
            f"Slurm gave {user} no token",
            why=(said.stderr or said.stdout).strip() or "it said nothing",
            remedy="look at `journalctl -u slurmctld` on the controller",
        )
    print(said.stdout.partition(MARK)[2].strip())
    return 0
