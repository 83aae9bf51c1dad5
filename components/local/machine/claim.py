"""Ownership of stacks on this machine.

The first resource of a stack writes a claim with a random token; the stack's state carries the token, and every operation on the machine shows it. A stack of the same name from another checkout
or with another state has another token, and can't touch what is not its own.
"""

import contextlib
import dataclasses
import ipaddress
import json
import os
import shlex
import uuid
from pathlib import Path
from urllib.parse import unquote

from . import record
from .names import STATE_ROOT, StackNames, machine_lock

BACKEND_VARIABLE = "PULUMI_BACKEND_URL"
FILE_SCHEME = "file://"


class Foreign(RuntimeError):
    """The stack on this machine belongs to another owner, or its owner is unknown."""


class Occupied(RuntimeError):
    """Another stack has the addresses."""


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    token: str
    owner: str
    """The project folder that runs the stack."""
    backend: str
    """Where its state is, as far as the environment says."""
    cidr: str

    @property
    def owner_exists(self) -> bool:
        return Path(self.owner).is_dir()

    @property
    def state_folder(self) -> Path | None:
        """Where its state is, when that is a folder."""
        is_folder = self.backend.startswith(FILE_SCHEME)
        return Path(unquote(self.backend.removeprefix(FILE_SCHEME).partition("?")[0])).expanduser() if is_folder else None

    def is_recorded_elsewhere(self, stack: str) -> bool:
        """Say whether another backend than this shell's has the stack. What is in no folder can't be looked at from here, and counts as there."""
        if self.backend in ("", os.environ.get(BACKEND_VARIABLE, "")):
            return False
        return self.state_folder is None or any(self.state_folder.glob(f".pulumi/stacks/*/{stack}.json"))


def read(names: StackNames) -> Claim | None:
    """Return the stack's claim; None: nobody claimed it.

    Raises:
        Foreign: there is one, and it can't be read.
    """
    try:
        return Claim(**json.loads(names.owner_file.read_text()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError) as error:
        raise Foreign(
            f"{names.owner_file} names the owner of stack {names.stack}, and can't be read: {error}. "
            f"If the stack is yours, delete the file (`rm {names.owner_file}`) and run the same command again, which writes it again"
        ) from error


def make(names: StackNames, *, owner: str, cidr: str, token: str = "") -> str:
    """Claim the stack for `owner` and give the token; a claim of the same owner keeps its token.

    Args:
        token: the token that the stack's state has, if it has one.
    Raises:
        Foreign: the stack is another's.
        Occupied: another stack claimed addresses of `cidr` since `conflict` was asked.
    """
    with record.lock(machine_lock()):
        existing = read(names)
        if existing and token != existing.token and existing.owner != owner and existing.owner_exists:
            raise Foreign(foreign_page(names, existing))
        if existing and token and token != existing.token:
            raise Foreign(foreign_page(names, existing))
        if existing and existing.owner == owner:
            if token != existing.token and existing.is_recorded_elsewhere(names.stack):
                raise Foreign(elsewhere_page(names, existing))
            token = existing.token
        if taken := conflict(names, cidr):
            raise Occupied(f"subnet {cidr} of stack {names.stack} is in use on this machine: {taken}")
        token = token or uuid.uuid4().hex
        STATE_ROOT.mkdir(mode=0o700, exist_ok=True)
        names.state.mkdir(mode=0o700, exist_ok=True)
        claim = Claim(token=token, owner=owner, backend=os.environ.get(BACKEND_VARIABLE, ""), cidr=cidr)
        record.write(names.owner_file, dataclasses.asdict(claim))
    return token


def require(names: StackNames, token: str, *, deleting: bool = False) -> None:
    """Raise Foreign unless the stack is the token's. What nobody claims may be deleted."""
    claim = read(names)
    if claim is None and not deleting:
        raise Foreign(f"{names.owner_file} is missing, which names the owner of stack {names.stack}; `make up` (or `pulumi up --refresh`) writes it again")
    if claim is not None and claim.token != token:
        raise Foreign(foreign_page(names, claim))


def foreign_page(names: StackNames, claim: Claim) -> str:
    where = f"make --directory {claim.owner} down STACK={names.stack}" if claim.owner_exists else f"clusterwright down --stack {names.stack}"
    return (
        f"a stack named {names.stack} of another checkout or state, {claim.owner}, has its hosts on this machine; nothing was changed. "
        f"Delete that one (`{where}`), or choose another stack name here (`make up STACK=other`)."
    )


def elsewhere_page(names: StackNames, claim: Claim) -> str:
    return (
        f"stack {names.stack} of this checkout is recorded in {claim.backend}, and this shell uses {os.environ.get(BACKEND_VARIABLE, 'none')}; its hosts were not changed. "
        f"Run the command with that state (`{BACKEND_VARIABLE}={shlex.quote(claim.backend)} make up STACK={names.stack}`), or choose another stack name (`make up STACK=other`)."
    )


def neighbours(names: StackNames) -> dict[str, Claim]:
    """The readable claims of all other stacks on the machine, by stack; one that can't be read is that stack's own trouble."""
    found = {}
    for file in sorted(STATE_ROOT.glob("*/owner.json")):
        other = StackNames(file.parent.name)
        with contextlib.suppress(Foreign):
            if other != names and (claim := read(other)):
                found[other.stack] = claim
    return found


def conflict(names: StackNames, cidr: str) -> str | None:
    """Say which other stack, running or not, has addresses of `cidr` or the same short name."""
    wanted = ipaddress.ip_network(cidr)
    for stack, claim in neighbours(names).items():
        if ipaddress.ip_network(claim.cidr).overlaps(wanted):
            return f"stack {stack} ({claim.owner}) has {claim.cidr}"
        if StackNames(stack).tag == names.tag:
            return f"stack {stack} has the same short name {names.tag} for its interfaces"
    return None
