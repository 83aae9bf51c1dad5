"""Options that several commands share, and what they mean."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import yaml

from blueprints.finding import Finding, Invalid, Level, Position, render
from blueprints.language import TargetName
from blueprints.load import Loaded, examine
from blueprints.project import project_root
from blueprints.spec import ClusterSpec
from components.local.machine.names import StackNames

from .. import lookup, settings
from ..project import stack_file

DEFAULT_STACK = "local"


def stack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", default=DEFAULT_STACK, type=_stack_name, help="the stack's name (default: %(default)s)")


def _stack_name(word: str) -> str:
    try:
        return StackNames(word).stack
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def blueprint(parser: argparse.ArgumentParser, *, word: bool = True) -> None:
    """Take a blueprint: by option, and as a word of its own where no other word can stand there.

    Args:
        word: whether it may be a word of its own (`clusterwright plan starter`).
    """
    described = "a blueprint of the library by name, or a file (default: the stack's setting)"
    if word:
        # Suppressed, since the default of a word that isn't there would otherwise take the place of what the option gave.
        parser.add_argument("blueprint", nargs="?", type=_blueprint_name, metavar="BLUEPRINT", default=argparse.SUPPRESS, help=described)
    parser.add_argument("--blueprint", type=_blueprint_name, help="the same, as an option" if word else described)


def _blueprint_name(word: str) -> str:
    """Leave a name of the library as it is; turn a path, which is relative to the current folder, into one that means the same to the engine."""
    if not _is_path(word):
        return word
    path = Path(word).resolve()
    return str(path.relative_to(project_root())) if path.is_relative_to(project_root()) else str(path)


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith((".yaml", ".yml"))


def chosen(options: argparse.Namespace) -> settings.Settings:
    """Give the stack's settings, with the command line's blueprint over them.

    Raises:
        Invalid: a setting is unknown or of the wrong type.
    """
    recorded = settings.parse(recorded_settings(options.stack), stack=options.stack)
    name = getattr(options, "blueprint", None) or recorded.blueprint
    blueprint = os.path.relpath(project_root() / name) if _is_path(name) else name  # settings are read from the project's folder
    return settings.Settings(
        blueprint=blueprint if "/" in blueprint or blueprint == name else f"./{blueprint}", target=recorded.target, overrides=recorded.overrides
    )


def recorded_settings(stack_name: str) -> dict[str, Any]:
    """Read `stacks/Pulumi.<stack>.yaml`; encrypted values stay as they are."""
    try:
        content = yaml.safe_load(stack_file(stack_name).read_text()) or {}
        config = content.get("config") or {}
        return {str(name): value for name, value in config.items()}
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, AttributeError, UnicodeDecodeError) as error:
        file = f"stacks/Pulumi.{stack_name}.yaml"
        remedy = "correct the file, or remove it and set its values anew with `pulumi config set`"
        why = str(error) if isinstance(error, yaml.YAMLError) else "it is not a mapping with a mapping `config` in it"
        raise Invalid([Finding(Level.ERROR, "CW152", Position(file), f"the settings of stack {stack_name} can't be read", why, remedy)]) from error


def target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", choices=get_args(TargetName), help="where the cluster would land (default: the stack's setting)")


def loaded(options: argparse.Namespace) -> Loaded:
    """Resolve what the stack will be, with the findings.

    Raises:
        Invalid: the blueprint is not usable.
    """
    settled = chosen(options)
    place = getattr(options, "target", None) or settled.target
    return examine(settled.blueprint, target=place, stack=options.stack, facts=lookup.this_machine(), overrides=settled.overrides)


def spec(options: argparse.Namespace) -> ClusterSpec:
    """Do as `loaded`, and show on standard error what is worth knowing but forbids nothing."""
    found = loaded(options)
    show(found.findings)
    return found.spec


def show(findings: Sequence[Finding]) -> None:
    """Write findings to standard error, if there are any."""
    if findings:
        print(render(findings, colour=sys.stderr.isatty()), end="", file=sys.stderr)
