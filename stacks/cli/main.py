"""The `clusterwright` command: parse the words, call the subcommand, and give the exit status.

Exit status: 0 fine, 1 failed, 2 usage or invalid blueprint, 7 drift, 75 not now, 130 interrupted.
"""

import argparse
import errno
import importlib
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from blueprints import lookalikes
from blueprints.finding import Invalid, Position, as_record, render
from components import errors, lasting_imports

from ..errors import EXIT_FAILED, Problem

EXIT_INVALID = 2
EXIT_INTERRUPTED = 130

COMMANDS = {
    "up": "create or change a stack, and test that it works",
    "down": "delete everything that belongs to a stack",
    "rebuild": "create hosts of a stack again, on new disks",
    "check": "validate a blueprint; nothing is created",
    "plan": "show what a blueprint creates on a target and what it costs; nothing is created",
    "values": "show every value of a blueprint after merging, and where it comes from",
    "lookup": "list what a blueprint may name: zones, reservations, blocks, subnets, images, file systems of an account; SSH host keys of hosts",
    "compare": "show a blueprint on all targets side by side; nothing is created",
    "library": "list the blueprints to start from: for whom each is, and where it can run",
    "catalog": "list the known machines, GPUs, regions, storage, software, fabrics and add-ons",
    "explain": "explain the code of a finding, and how to accept it",
    "advise": "recommend Slurm, Kubernetes or both, with the reasons",
    "schema": "write the language of blueprints as JSON Schema or as a reference page",
    "graph": "draw a blueprint as a picture, a report or text",
    "accept": "test a running stack again with real jobs on its idle nodes",
    "drift": "compare a running stack with what it should be, layer by layer; nothing is changed",
    "power": "show what the management controllers (BMCs) of servers say, and switch servers on and off",
    "summary": "show what a stack has, how to log in, and what acceptance found",
    "token": "print a token with which a user reaches Slurm's REST API",
    "ssh": "log in to a stack as one of its users",
    "kubectl": "run kubectl on the Kubernetes cluster of a stack",
    "kubeconfig": "write a kubeconfig of a stack, for its administrator or for a user",
    "restore": "go back to a snapshot of etcd or a dump of the accounting database",
    "images": "list the container images that a blueprint's Kubernetes cluster runs, for a registry of your own",
    "submit": "write a job for Kubernetes in the form that you choose, and submit it",
    "completion": "make your shell complete commands, options and names",
}
"""Each is a module of this package with `arguments(parser)` and `run(options) -> int`; it is imported only when it is called."""
OF_TWO_WORDS = ("values",)
"""Commands that take two words which may both be left out: argparse by itself wants them side by side, with no option between them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give the exit status."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # none are wanted, and looking for them reads a file of every installed package
    is_completing = argv is None and "_ARGCOMPLETE" in os.environ  # set by the script of `clusterwright completion`
    words = _module("completion").typed() if is_completing else list(sys.argv[1:] if argv is None else argv)
    parser, parsers = _parsers(words)
    if is_completing:
        _module("completion").answer(parser)
    _speak_any_encoding()
    options = argparse.Namespace()
    try:
        options = _read(words, parser, parsers)
        status: int = _module(options.command).run(options)
        sys.stdout.flush()
    except Invalid as invalid:
        if getattr(options, "json", False):
            print(json.dumps({"format": 1, "findings": [as_record(found) for found in invalid.findings]}, indent=2))
        else:
            print(render(invalid.findings, colour=sys.stderr.isatty()), end="", file=sys.stderr)
        return EXIT_INVALID
    except errors.Refusal as refusal:
        print(refusal.page(), file=sys.stderr)
        return refusal.status if isinstance(refusal, Problem) else EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_FAILED
    except OSError as error:
        print(_unforeseen(error).page(), file=sys.stderr)
        _forget_what_is_unwritten()
        return EXIT_FAILED
    return status


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """Read the words of one command line.

    Raises:
        SystemExit: the command has no such words; they are explained on standard error.
    """
    return _read(words, *_parsers(words))


def _parsers(words: Sequence[str]) -> tuple[argparse.ArgumentParser, Any]:
    """Make the parser of all commands, with the arguments of the one that the words name, and the parsers of the commands."""
    parser = _Parser(prog="clusterwright", description="GPU clusters from one blueprint")
    parser.words = words
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command, purpose in COMMANDS.items():
        child = parsers.add_parser(command, help=purpose, description=purpose)
        child.words = words
        if words and words[0] == command:
            _module(command).arguments(child)
    return parser, parsers


def _read(words: Sequence[str], parser: argparse.ArgumentParser, parsers: Any) -> argparse.Namespace:
    if words and words[0] in OF_TWO_WORDS:
        return parsers.choices[words[0]].parse_intermixed_args(words[1:], argparse.Namespace(command=words[0]))  # type: ignore[no-any-return]
    return parser.parse_args(words)


def _speak_any_encoding() -> None:
    """Write output in any terminal encoding, and discard it when there is no output stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  (it stays open to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _unforeseen(error: OSError) -> Problem:
    from components.files import disk_space

    place = f" ({error.filename})" if error.filename else ""
    full = disk_space.full_here() if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    match error.errno:
        case errno.EROFS if error.filename:
            remedy = f"mount -o remount,rw {shlex.quote(str(disk_space.mount_point(Path(error.filename))))}\nthen the same command again"
        case errno.EACCES | errno.EPERM if error.filename:
            remedy = f"run the same command as root or as the owner: ls -ld {shlex.quote(str(error.filename))}"
        case errno.ENOSPC | errno.EDQUOT:
            remedy = "free some space there (`make clean-cache` empties the cache), then run the same command again"
        case _:
            remedy = "check for a full disk, a deleted folder, or a missing permission"
    why = "\n".join(filter(None, [f"{error.strerror or error}{place}", full]))
    return Problem("the operating system refused something that this command needs", why=why, remedy=remedy)


def _forget_what_is_unwritten() -> None:
    """Keep the interpreter from flushing again at exit, which would print a traceback."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _module(command: str) -> Any:
    with lasting_imports.without_search_for_garbage():
        return importlib.import_module(f".{command}", __package__)


class _Parser(argparse.ArgumentParser):
    """Explain a word that only looks like an allowed one: argparse would show it beside its twin, without a visible difference."""

    words: Sequence[str] = ()
    """What was typed."""

    def error(self, message: str) -> NoReturn:
        odd = next((word for word in self.words if _is_look_alike(word, message)), None)
        if odd is not None:
            found = lookalikes.refusal_of_text(Position("", text=odd), odd)
            remedy = "type `--` in its place" if _is_one_long_dash(odd) else found.remedy
            message = f"{message}\n{found.what}: {remedy}"
        super().error(message)


def _is_look_alike(word: str, message: str) -> bool:
    """Say whether a word has a character that looks like another, and is what a message is about: a list or a value of an option is so by its parts."""
    if lookalikes.first(word) is None:
        return False
    parts = [part for part in re.split("[,=]", word) if lookalikes.first(part) is not None]
    return lookalikes.of(word[0]) == "-" or any(part in message or repr(part)[1:-1] in message for part in parts)


def _is_one_long_dash(word: str) -> bool:
    """Recognise the dash that word processors make of two (`—target`)."""
    return lookalikes.of(word[0]) == "-" and len(word) > len("-t") and lookalikes.folded(word[1]) != "-"


class _Version(argparse.Action):
    """Look the version up only on demand: reading the package's metadata takes as long as some commands."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:  # noqa: A002  (argparse names it so)
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib import metadata

        print(f"{parser.prog} {metadata.version(parser.prog)}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
