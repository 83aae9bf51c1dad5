"""`clusterwright drift schedule`: write the files that make checks run regularly, or show them."""

import argparse
import getpass
import sys
from pathlib import Path

from blueprints import catalog
from blueprints.project import project_root
from components.inspection.layer import Layer

from .. import settings
from ..drift import schedule
from ..errors import EXIT_USAGE, Problem
from . import options

ON_A_MACHINE = ("systemd", "cron")


def arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--as", dest="kind", choices=[*schedule.KINDS], metavar="KIND", help=f"what runs the checks ({', '.join(schedule.KINDS)})")
    group.add_argument("--every", type=_every, default=schedule.HOUR_S, metavar="TIME", help="how often: 15m, 1h, 6h, 1d (default: 1h)")
    group.add_argument(
        "--to", type=Path, metavar="FOLDER", help="write the files below this folder (`/` puts them where they belong); without it they are shown"
    )
    group.add_argument(
        "--keep-days", type=options.positive, default=schedule.KEEP_DAYS, metavar="DAYS", help="for how long reports are kept (default: %(default)s)"
    )
    group.add_argument("--image", default="", help="with `--as kubernetes`: a container image that has a checkout, set up, in /clusterwright")


def _every(word: str) -> int:
    try:
        return schedule.every_s(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def run(given: argparse.Namespace) -> int:
    if given.kind is None:
        raise Problem(
            "`--as` is missing", why="each scheduler needs other files", remedy=f"add --as with one of {', '.join(schedule.KINDS)}", status=EXIT_USAGE
        )
    if given.kind == "kubernetes" and not given.image:
        raise Problem(
            "a CronJob needs an image",
            why="its containers have only what their image holds",
            remedy="add --image, with a checkout that is set up in /clusterwright",
            status=EXIT_USAGE,
        )
    wanted = schedule.Schedule(
        stack=given.stack,
        folder="/clusterwright" if given.kind == "kubernetes" else str(project_root()),
        every_s=given.every,
        layers=tuple(Layer(name) for name in given.layer or ()),
        settle_s=schedule.SETTLE_S if given.settle is None else given.settle,
        words=tuple(_passed_on(given)),
        keep_days=given.keep_days,
        image=given.image,
        user=getpass.getuser(),
        target=settings.parse(options.recorded_settings(given.stack), stack=given.stack).target,
    )
    files = schedule.files(given.kind, wanted)
    if wanted.target in catalog.target_names() and catalog.target(wanted.target).hosts == "here" and given.kind not in ON_A_MACHINE:
        print(
            f"warning: the hosts of stack {given.stack} are on one machine (target {wanted.target}), and only that machine's own systemd or cron can check them",
            file=sys.stderr,
        )
    if given.to is None:
        print("\n".join(f"# {path}\n{text}" for path, text in files.items()), end="")
        return 0
    written = schedule.write(files, given.to)
    print("\n".join(f"wrote {place}" for place in written))
    print(f"next: {schedule.next_steps(given.kind, wanted, written)}")
    return 0


def _passed_on(given: argparse.Namespace) -> list[str]:
    """Give the words that the scheduled checks shall have too. A webhook's address is a secret and belongs into their environment."""
    words = ["--acceptance"] if given.acceptance else []
    words += ["--accept-every", f"{given.accept_every}h"] if given.accept_every is not None else []
    words += ["--at-least", given.at_least] if given.at_least != "note" else []
    words += ["--confirm", str(given.confirm)] if given.confirm > 1 else []
    words += ["--ignore", str(given.ignore.resolve())] if given.ignore else []
    words += ["--history", str(given.history.resolve())] if given.history else []
    return words + (["--notify-command", given.notify_command] if given.notify_command else [])
