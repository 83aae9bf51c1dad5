"""`clusterwright completion`: let a shell complete commands, options and the names that they take.

The script that a shell evaluates runs the program itself on every tab, which then reads the typed words from the environment, so that what is completed is what the
parsers know: nothing is written twice, and blueprints and stacks are those that are there.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from blueprints import library
from blueprints.catalog import files
from blueprints.codes import Code
from blueprints.finding import Invalid

from ..errors import Problem
from ..project import stack_file

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "clusterwright"

_MAKE_IT_SO = {
    "bash": 'eval "$(clusterwright completion bash)"     # in ~/.bashrc',
    "zsh": 'eval "$(clusterwright completion zsh)"      # in ~/.zshrc, after compinit',
    "fish": "clusterwright completion fish | source     # in ~/.config/fish/config.fish",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete words")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["Use it like this:", *(f"  {line}" for line in _MAKE_IT_SO.values())])


def run(given: argparse.Namespace) -> int:
    from argcomplete import shell_integration

    sys.stdout.write(shell_integration.shellcode([PROGRAM], use_defaults=False, shell=given.shell))
    return 0


def typed() -> list[str]:
    """Give the words before the one that is completed, without the program's name."""
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT") or 0)]
    words = line.split()[1:]
    return words if line.endswith(" ") else words[:-1]


def answer(parser: argparse.ArgumentParser) -> None:
    """Tell the shell what the word under the cursor can become, and end the process."""
    import argcomplete

    _attach(parser)
    argcomplete.autocomplete(parser, always_complete_options=False, default_completer=argcomplete.completers.SuppressCompleter())


def _attach(parser: argparse.ArgumentParser) -> None:
    """Say of each argument whose values the parser doesn't list where they come from."""
    import argcomplete

    for action in parser._actions:  # noqa: SLF001  (argparse has no other way to list them, and argcomplete goes the same)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for child in action.choices.values():
                _attach(child)
        elif action.dest in _NAMES:
            _complete(action, _NAMES[action.dest])
        elif action.type is Path:
            _complete(action, argcomplete.completers.FilesCompleter())


def _complete(action: argparse.Action, completer: Callable[..., Any]) -> None:
    setattr(action, "completer", completer)  # noqa: B010  (argcomplete looks for this attribute, of which argparse's type knows nothing)


def blueprints(prefix: str, **_: Any) -> list[str]:
    """List the library's blueprints and the YAML files that a word may become."""
    import argcomplete

    found: list[str] = argcomplete.completers.FilesCompleter(allowednames=("yaml", "yml"))(prefix)
    return [*library.names(), *found]


def plans(prefix: str, **_: Any) -> list[str]:
    """List what a plan can be compared with."""
    import argcomplete

    found: list[str] = argcomplete.completers.FilesCompleter(allowednames=("json", "yaml", "yml"))(prefix)
    return [*library.names(), *found]


def stacks(**_: Any) -> list[str]:
    """List the stacks that have settings in this checkout."""
    begin, end = stack_file("*").name.split("*")
    return sorted(path.name.removeprefix(begin).removesuffix(end) for path in stack_file("*").parent.glob(f"{begin}*{end}"))


def targets(**_: Any) -> list[str]:
    return [*files.mapping("targets")]


def codes(**_: Any) -> list[str]:
    return [str(code) for code in Code]


def several_targets(prefix: str, **_: Any) -> list[str]:
    """List what may follow the targets that are named already, with commas between them."""
    return [*_several(prefix, targets())]


def _several(prefix: str, words: list[str]) -> Iterator[str]:
    before, comma, _ = prefix.rpartition(",")
    named = before.split(",")
    for word in words:
        if word not in named:
            yield f"{before}{comma}{word}"


def places(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """List places in the blueprint that is typed already, two steps further than the word goes; none if it can't be read."""
    from ..render import values
    from . import options

    try:
        known = values.paths(options.loaded(parsed_args, quiet=True))
    except (Invalid, Problem):
        return []
    return [path for path in known if path.startswith(prefix) and path.count(".") <= prefix.count(".") + 1]


def hosts(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """List the hosts of the stack's blueprint; none if it can't be read."""
    from . import options

    try:
        cluster = options.loaded(parsed_args, quiet=True).spec
    except (Invalid, Problem):
        return []
    return [host for group in cluster.host_groups for host in group.hostnames]


def settings(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """List what `--set` can set."""
    return [f"{path}=" for path in places(prefix, parsed_args)]


_NAMES: dict[str, Callable[..., list[str]]] = {
    "blueprint": blueprints,
    "stack": stacks,
    "hosts": hosts,
    "target": targets,
    "targets": several_targets,
    "path": places,
    "tried": settings,
    "code": codes,
    "against": plans,
}
"""By the name under which parsers keep an argument."""
