"""Who may log in, where a blueprint leaves it open: ask in one line, since hosts in a cloud are configured over the same way."""

import argparse
import dataclasses
import ipaddress
import shlex
import sys

from blueprints.codes import Code
from blueprints.finding import Invalid
from blueprints.language.overrides import Given
from blueprints.load import Loaded, require_decided, undecided
from components import errors, registry

from . import options

ALLOWED = "access.allowed_cidrs"
ME = "me"
_EXAMPLE = "203.0.113.7/32"
"""An address for documentation (RFC 5737)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Take that the address of whoever runs the command may log in."""
    help_text = f"allow logins from this machine's public address, and record it as `{ALLOWED}` of the stack"
    parser.add_argument("--allow-me", action="store_true", help=help_text)


def decided(given: argparse.Namespace) -> Loaded:
    """Resolve the blueprint; where it leaves open who may log in and nothing else, take the answer of the command line or the terminal.

    Raises:
        Invalid: the blueprint is not usable, or something is left open.
    """
    found = options.loaded(given)
    if given.allow_me:
        return _with(given, [*found.spec.login.allowed_cidrs, _own_address(found)], "option --allow-me")
    missing = undecided(found)
    if not missing or any(one.code is not Code.ACCESS_UNREACHABLE for one in missing) or not found.spec.access.count:
        require_decided(found)
        return found
    answer = _ask() if sys.stdin.isatty() else []
    if not answer:
        raise Invalid(dataclasses.replace(one, remedy=_commands(given)) for one in missing)
    return _with(given, [_own_address(found) if word == ME else _network(word) for word in answer], "your answer")


def _ask() -> list[str]:
    print("Who may log in? The blueprint names no network, and hosts are configured over SSH from this machine.")
    answer = input(f"Networks, such as {_EXAMPLE}, or `{ME}` for this machine's public address (empty: stop): ")
    return answer.replace(",", " ").strip("[] ").split()


def _with(given: argparse.Namespace, networks: list[str], origin: str) -> Loaded:
    networks = [*dict.fromkeys(networks)]
    given.tried = [*(one for one in given.tried or () if one[0] != ALLOWED), (ALLOWED, Given(networks, origin))]
    found = options.to_provision(given)
    print(f"stack {given.stack} accepts logins from {', '.join(networks)} (setting `{ALLOWED}`)")
    return found


def _network(word: str) -> str:
    """Complete a single address; anything else is checked with the blueprint."""
    try:
        return f"{ipaddress.IPv4Address(word)}/32"
    except ValueError:
        return word


def _own_address(found: Loaded) -> str:
    """Ask the target's cloud for this machine's address.

    Raises:
        Refusal: the target has no cloud that could be asked, or it gives no address.
    """
    if not registry.has_account(found.spec.target):
        raise errors.AddressUnknown(
            f"the target {found.spec.target} needs no address of this machine",
            why="only a cloud's firewall keeps this machine from its hosts",
            remedy="run the command again without it",
        )
    return f"{registry.account(found.spec.target, 'caller').public_address()}/32"


def _commands(given: argparse.Namespace) -> str:
    command = f"clusterwright up --stack {shlex.quote(given.stack)}"
    command += f" --blueprint {shlex.quote(given.blueprint)}" if given.blueprint else ""
    own = f"`{command} --set {shlex.quote(f'{ALLOWED}=[{_EXAMPLE}]')}` with your own networks"
    return f"run `{command} --allow-me` to allow this machine's public address, or {own}; the stack's settings record either"
