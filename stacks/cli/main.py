"""The `clusterwright` command: words in, exit status out.

Exit status: 0 fine, 1 failed, 2 usage or invalid blueprint, 130 interrupted.
"""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from blueprints.finding import Invalid, as_record, render

from .problem import Problem

EXIT_FAILED = 1
EXIT_INVALID = 2
EXIT_INTERRUPTED = 130

COMMANDS = {
    "up": "stand up a stack, or mend it, and prove that it works",
    "down": "remove everything that belongs to a stack",
    "check": "check a blueprint; nothing is built",
    "plan": "show what a blueprint will be on a target; nothing is built",
    "values": "show every value as it counts in the end, and where it comes from",
    "compare": "show a blueprint on all targets side by side; nothing is built",
    "advise": "say whether Slurm, Kubernetes or both suit you, and why",
    "schema": "write the language of blueprints as JSON Schema, or as a page to read",
    "graph": "draw what a blueprint will be: a picture, a report or text",
    "summary": "say what a stack has, how to log in, and what acceptance found",
    "ssh": "log in to a stack as one of its users",
    "completion": "let your shell complete commands, options and names",
}
"""Each is a module of this package with `arguments(parser)` and `run(options) -> int`; it is imported only when it is called."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give the exit status."""
    is_completing = argv is None and "_ARGCOMPLETE" in os.environ  # set by the script of `clusterwright completion`
    words = _module("completion").typed() if is_completing else list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="clusterwright", description="GPU clusters from one blueprint")
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command, purpose in COMMANDS.items():
        child = parsers.add_parser(command, help=purpose, description=purpose)
        if words and words[0] == command:
            _module(command).arguments(child)
    if is_completing:
        _module("completion").answer(parser)
    options = parser.parse_args(words)
    try:
        status: int = _module(options.command).run(options)
    except Invalid as invalid:
        if getattr(options, "json", False):
            print(json.dumps({"format": 1, "findings": [as_record(found) for found in invalid.findings]}, indent=2))
        else:
            print(render(invalid.findings, colour=sys.stderr.isatty()), end="", file=sys.stderr)
        return EXIT_INVALID
    except Problem as problem:
        print(problem.page(), file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_FAILED
    return status


def _module(command: str) -> Any:
    return importlib.import_module(f".{command}", __package__)


if __name__ == "__main__":
    sys.exit(main())
