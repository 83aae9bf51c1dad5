"""`clusterwright down`: destroy the stack, then look whether anything of it is left on this machine."""

import argparse
import shutil
import threading

from blueprints.project import project_root
from components.local.machine import record, sweep
from components.local.machine.names import StackNames
from components.provider.kind import Work

from .. import project
from . import engine, options
from .problem import Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)


def run(given: argparse.Namespace) -> int:
    engine.require()
    names = StackNames(given.stack)
    if engine.exists(given.stack):
        status = engine.operate("destroy", "--yes", "--skip-preview", "--suppress-outputs", stack=given.stack)
        if status:
            raise Problem(
                f"stack {given.stack} is not gone",
                why=f"the engine ended with status {status}; what it said is above",
                remedy="mend the cause and run the same command again",
            )
    if sweep.left_behind(names):
        _sweep_unrecorded(names)
    shutil.rmtree(project.private_folder(given.stack), ignore_errors=True)
    print(f"stack {given.stack} is gone from this machine")
    return 0


def _sweep_unrecorded(names: StackNames) -> None:
    """Remove what no state knows of: an engine killed in its first moments, or a lost state."""
    owner = record.read(names.owner_file)
    if owner and owner["owner"] != str(project_root()):
        raise Problem(
            f"this checkout has no stack {names.stack}",
            why=f"the hosts of that name on this machine belong to {owner['owner']}",
            remedy="run `make down` there",
        )
    print(f"removing what stack {names.stack} left without a record")
    work = Work(show=lambda text, _: print(f"  {text}"), stopping=threading.Event(), timeout_s=120)
    sweep.sweep(names, wait_until=work.wait_until, say=work.say)
