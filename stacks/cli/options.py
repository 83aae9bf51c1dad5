"""Options that several commands share, and what they mean."""

import argparse
import sys
from typing import Any

import yaml

from blueprints.finding import render
from blueprints.load import examine
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


def blueprint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--blueprint", help="a blueprint of the library by name, or a file (default: the stack's setting)")


def chosen(options: argparse.Namespace) -> settings.Settings:
    """Give the stack's settings, with the command line's blueprint over them.

    Raises:
        Invalid: a setting is unknown or of the wrong type.
    """
    recorded = settings.parse(recorded_settings(options.stack), stack=options.stack)
    if getattr(options, "blueprint", None):
        return settings.Settings(blueprint=options.blueprint, target=recorded.target, overrides=recorded.overrides)
    return recorded


def recorded_settings(stack_name: str) -> dict[str, Any]:
    """Read `stacks/Pulumi.<stack>.yaml`; encrypted values stay as they are."""
    try:
        content = yaml.safe_load(stack_file(stack_name).read_text())
    except FileNotFoundError:
        return {}
    return dict((content or {}).get("config") or {})


def spec(options: argparse.Namespace) -> ClusterSpec:
    """Resolve what the stack will be, showing what is worth knowing but forbids nothing.

    Raises:
        Invalid: the blueprint is not usable.
    """
    settled = chosen(options)
    loaded = examine(settled.blueprint, target=settled.target, stack=options.stack, facts=lookup.this_machine(), overrides=settled.overrides)
    if loaded.findings:
        print(render(loaded.findings, colour=sys.stderr.isatty()), end="", file=sys.stderr)
    return loaded.spec
