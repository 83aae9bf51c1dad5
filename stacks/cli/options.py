"""Options that several commands share."""

import argparse
import dataclasses
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from blueprints import hostlist, read
from blueprints.codes import Code
from blueprints.finding import Finding, Invalid, Level, Position
from blueprints.language import TargetName
from blueprints.language.overrides import Given
from blueprints.load import Loaded, examine, require_decided
from blueprints.project import project_root
from components import registry, stack_name, this_machine

from .. import settings
from ..project import stack_file

DEFAULT_STACK = registry.DEFAULT
"""The stack that a user has without naming one has the name of the target that needs no account."""
STACK_VARIABLE = "PULUMI_STACK"
"""Pulumi's own variable for the stack of one shell."""
_OF_TARGET = (Code.TARGET_UNKNOWN,)
"""Findings about the choice of the target itself."""
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def stack(parser: argparse.ArgumentParser, *, applies: bool = False) -> None:
    """Take the stack.

    Args:
        applies: its settings apply to a blueprint that the command line names, too; otherwise only when somebody names the stack.
    """
    also = "" if applies else "; its settings apply to a blueprint that you name only when you give this option"
    default = os.environ.get(STACK_VARIABLE) or DEFAULT_STACK
    parser.add_argument(
        "--stack", default=default, action=_Stack, type=_stack_name, help=f"the stack's name (default: {STACK_VARIABLE}, else {DEFAULT_STACK}){also}"
    )
    parser.set_defaults(applies=applies)


class _Stack(argparse.Action):
    """Remember that somebody named the stack."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        namespace.stack, namespace.applies = values, True


def verbose(parser: argparse.ArgumentParser) -> None:
    """Take whether every step is shown."""
    parser.add_argument("--verbose", action="store_true", help="show every step of every resource")


def abandon(parser: argparse.ArgumentParser) -> None:
    """Take hosts that may be forgotten."""
    parser.add_argument(
        "--abandon",
        type=_hostlist,
        default="",
        metavar="HOSTS",
        help="forget these hosts if they can't be released; what is on them stays (gpu-[003-004])",
    )


def _hostlist(word: str) -> str:
    try:
        hostlist.expand(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return word


def _stack_name(word: str) -> str:
    try:
        return stack_name.require(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def blueprint(parser: argparse.ArgumentParser, *, word: bool = True) -> None:
    """Take a blueprint: by option, and as a positional argument where the command has no other one.

    Args:
        word: whether it may be a positional argument (`clusterwright plan starter`).
    """
    described = "a blueprint of the library by name, or a file (default: the stack's setting)"
    if word:
        # Suppressed, since the default of a word that isn't there would otherwise take the place of what the option gave.
        parser.add_argument("blueprint", nargs="?", type=_blueprint_name, metavar="BLUEPRINT", default=argparse.SUPPRESS, help=described)
    parser.add_argument("--blueprint", type=_blueprint_name, help="the same, as an option" if word else described)


def _blueprint_name(word: str) -> str:
    """Leave a name of the library as it is; turn a path, which is relative to the current folder, into one that means the same to the engine."""
    if not word:
        raise argparse.ArgumentTypeError("no name: write a blueprint of the library, or a file")
    if not _is_path(word):
        return word
    path = Path(os.path.abspath(word))  # noqa: PTH100  (links stay links: messages name the file as it was given, and its folder is the link's)
    return str(path.relative_to(project_root())) if path.is_relative_to(project_root()) else str(path)


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith((".yaml", ".yml"))


def chosen(options: argparse.Namespace) -> settings.Settings:
    """Give the stack's settings, with the command line's blueprint over them; no settings when the command line names a blueprint and no stack.

    Raises:
        Invalid: a setting is unknown or of the wrong type.
    """
    recorded = settings.parse(recorded_settings(options.stack), stack=options.stack) if applies(options) else settings.Settings()
    name = getattr(options, "blueprint", None) or recorded.blueprint
    blueprint = os.path.relpath(project_root() / name) if _is_path(name) else name  # settings are read from the project's folder
    tried = dict(getattr(options, "tried", None) or ())
    kept = {path: value for path, value in recorded.overrides.items() if not any(path == over or path.startswith(f"{over}.") for over in tried)}
    return settings.Settings(
        blueprint=blueprint if "/" in blueprint or blueprint == name else f"./{blueprint}", target=recorded.target, overrides={**kept, **tried}
    )


def applies(options: argparse.Namespace) -> bool:
    """Say whether the settings of the stack apply to the blueprint."""
    return not getattr(options, "blueprint", None) or getattr(options, "applies", True)


def announce(options: argparse.Namespace) -> None:
    """Write one line to standard error when a stack's settings apply to a blueprint that the command line names."""
    if not getattr(options, "blueprint", None) or not applies(options):
        return
    recorded = settings.parse(recorded_settings(options.stack), stack=options.stack)
    if applied := [*(["target"] if recorded.target != registry.DEFAULT and not getattr(options, "target", None) else []), *recorded.overrides]:
        print(f"the settings of stack {options.stack} apply to {options.blueprint}: {', '.join(applied)}", file=sys.stderr)


def recorded_settings(stack_name: str) -> dict[str, Any]:
    """Read `stacks/Pulumi.<stack>.yaml` by the rules of blueprints, which know no dates and no anchors; encrypted values stay as they are.

    Raises:
        Invalid: the file can't be read, or is not a mapping with a mapping `config` in it.
    """
    path = stack_file(stack_name)
    if not path.exists() or not _has_values(path):
        return {}
    source = read.read(path)
    config = source.values.get("config") if isinstance(source.values, dict) else source.values
    if config is None:
        return {}
    if not isinstance(config, dict):
        remedy = "correct the file, or remove it and set its values again with `pulumi config set`"
        what = f"the settings of stack {stack_name} can't be read"
        why = "the file is not a mapping with a mapping `config` in it"
        raise Invalid([Finding(Level.ERROR, settings.Code.SETTINGS_UNREADABLE, source.where("config"), what, why, remedy)])
    return dict(config)


def _has_values(path: Path) -> bool:
    """Say whether a file has more than blank lines and comments: Pulumi leaves an empty one where it removed the last setting."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in path.read_bytes().decode(errors="replace").splitlines())


def positive(word: str) -> int:
    """Read a whole number from 1 on."""
    if not (word.isascii() and word.isdigit() and int(word) >= 1):
        raise argparse.ArgumentTypeError("give a whole number from 1 on")
    return int(word)


def duration(word: str) -> float:
    """Read a time as seconds."""
    matched = re.fullmatch(r"(\d+)([smhd])", word)
    if not matched:
        raise argparse.ArgumentTypeError(f"{word!r} is no time: write a number and a unit, such as 90s, 30m or 1h")
    return float(int(matched[1]) * UNITS_S[matched[2]])


def target(parser: "argparse._ActionsContainer", *, default: str = f"the stack's setting, else {registry.DEFAULT}") -> None:
    parser.add_argument("--target", choices=get_args(TargetName), help=f"where the cluster would run (default: {default})")


def forget_secrets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--forget-secrets", action="store_true", help="go on without secrets that can't be decrypted because the passphrase is lost")


def what_if(parser: argparse.ArgumentParser) -> None:
    help_text = "try another value, as if the stack's `set` had it: pools.train.nodes=8 (repeat it for several; nothing is recorded)"
    parser.add_argument("--set", dest="tried", action="append", type=_tried, metavar="PATH=VALUE", help=help_text)


def recorded_values(parser: argparse.ArgumentParser) -> None:
    """Take values that the stack has from now on instead of the blueprint's."""
    help_text = "record another value in the stack's setting `set`: pools.train.nodes=8 (repeat it for several)"
    parser.add_argument("--set", dest="tried", action="append", type=_tried, metavar="PATH=VALUE", help=help_text)


def values_to_record(given: argparse.Namespace) -> dict[str, Any] | None:
    """Give all values of the stack's setting `set` with those of the command line; None: the command line has none."""
    if not given.tried:
        return None
    return {path: value.value if isinstance(value, Given) else value for path, value in chosen(given).overrides.items()}


def _tried(word: str) -> tuple[str, Given]:
    """Read `pools.train.nodes=8`; the value is written as in a blueprint."""
    path, equals, written = word.partition("=")
    if not equals or not path:
        raise argparse.ArgumentTypeError(f"{word!r} sets nothing: write a path, `=` and a value, such as pools.train.nodes=8")
    try:
        document = read.from_bytes(f"value: {written}".encode(), file="--set")
    except Invalid as invalid:
        fault = invalid.findings[0]
        raise argparse.ArgumentTypeError(f"{written!r} is no value: {fault.what}; {fault.remedy}") from invalid
    if list(document.values) != ["value"]:
        raise argparse.ArgumentTypeError(f"{written!r} is more than one value")
    return path, Given(document.at("value"), "option --set")


def loaded(options: argparse.Namespace, *, quiet: bool = False) -> Loaded:
    """Resolve what the stack will be, with the findings.

    Args:
        quiet: write nothing, not even whose settings apply.

    Raises:
        Invalid: the blueprint is not usable.
    """
    asked = getattr(options, "target", None)
    settled = chosen(options)
    if not quiet:
        announce(options)
    origin = f"option --target {asked}" if asked else f"stacks/Pulumi.{options.stack}.yaml, setting {settings.NAMESPACE}:target"
    return examined(options.stack, settled, target=asked or settled.target, origin=origin)


def examined(stack_name: str, settled: settings.Settings, *, target: str, origin: str) -> Loaded:
    """Resolve a stack's blueprint for a target.

    Args:
        origin: what names the target.
    Raises:
        Invalid: the blueprint is not usable there.
    """
    try:
        found = examine(settled.blueprint, target=target, stack=stack_name, facts=this_machine.facts(stack_name), overrides=settled.overrides)
    except Invalid as invalid:
        raise Invalid(placed(invalid.findings, origin)) from invalid
    return dataclasses.replace(found, findings=placed(found.findings, origin))


def placed(findings: Sequence[Finding], origin: str) -> tuple[Finding, ...]:
    """Say of findings about the choice of a target what chose it."""
    return tuple(dataclasses.replace(found, subject=Position(origin)) if found.code in _OF_TARGET else found for found in findings)


def to_provision(options: argparse.Namespace) -> Loaded:
    """Do as `loaded`, and refuse what this version plans and can't provision.

    Raises:
        Invalid: the blueprint is not usable, or leaves something open that has to be decided first.
    """
    found = loaded(options)
    require_decided(found)
    return found
