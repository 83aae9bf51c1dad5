"""`clusterwright kubeconfig`: the kubeconfig of a stack's administrator, or of a user with a certificate that ends."""

import argparse
import sys
from pathlib import Path

from components.files import atomic_files

from ..engine import commands, kubernetes_access
from ..errors import Problem, reason
from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("--user", help="whose kubeconfig to write (default: the stack's administrator)")
    parser.add_argument("--days", type=options.positive, default=30, help="how long a user's certificate is valid (default: 30)")
    parser.add_argument("--to", type=Path, metavar="FILE", help="write it to this file, readable by you only (default: standard output)")


def run(given: argparse.Namespace) -> int:
    commands.require()
    access = kubernetes_access.of_stack(given.stack)
    if given.to is not None:
        _refuse_other(given.to, access)
    text = access.kubeconfig(given.user, life_s=given.days * kubernetes_access.DAY_S)
    if given.to is None:
        print(text)
        return 0
    try:
        atomic_files.write_text(given.to, f"{text}\n", mode=0o600)
    except OSError as error:
        raise Problem(
            f"the file {given.to} can't be written", why=reason(error), remedy="name a file in a folder that exists and that you may write to"
        ) from error
    print(f"use it with: export KUBECONFIG={given.to}", file=sys.stderr)
    return 0


def _refuse_other(file: Path, access: kubernetes_access.Access) -> None:
    """Refuse to overwrite what isn't a kubeconfig of this cluster.

    Raises:
        Problem: the file is another cluster's, or something else.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        text = f"unreadable: {error}"
    if not kubernetes_access.same_cluster(text, access.server):
        raise Problem(
            f"the file {file} is not a kubeconfig of stack {access.stack}",
            why=f"it is of another cluster, or of several; {access.server} is this one",
            remedy="name another file: `KUBECONFIG=a:b` uses several files together",
        )
