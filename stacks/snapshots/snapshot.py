"""A state that a host of a stack keeps, to which the stack can go back."""

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence

from blueprints import message_text

from ..errors import EXIT_USAGE, Problem

LATEST = "latest"
BEFORE_RESTORE = "before-restore-"
"""How names of dumps begin that a restore made of what it replaced."""
_LINE = re.compile(r"(?:.*/)?(?P<file>[^/\s]+)\s(?P<bytes>[0-9]+)(?: bytes)?")


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of etcd, or a dump of the accounting database."""

    host: str
    file: str
    """Its name says when it was saved (`etcd-20261123T160000Z.db`)."""
    bytes: int

    def __str__(self) -> str:
        return f"{self.host}/{self.file}"


def listed(said: Mapping[str, str]) -> tuple[Snapshot, ...]:
    """Read what hosts listed, the latest first. Pure.

    Args:
        said: host → a line with name or path and size for each snapshot; others are none.
    """
    lines = [(host, _LINE.fullmatch(line)) for host, text in said.items() for line in text.splitlines()]
    found = [Snapshot(host, line["file"], int(line["bytes"])) for host, line in lines if line]
    return tuple(sorted(found, key=lambda one: (one.file, one.host), reverse=True))


def choose(word: str, there: Sequence[Snapshot], silent: Collection[str] = ()) -> Snapshot:
    """Find the snapshot that the command line names: one of those, the latest of a host (`HOST/latest`), or the latest where all are of one kind.

    Args:
        silent: hosts that gave no list: the latest may be there.
    Raises:
        Problem: there is none of this name, there are snapshots of etcd and dumps, or a host gave no list.
    """
    host, _, name = word.rpartition("/")
    scheduled = [one for one in there if not one.file.startswith(BEFORE_RESTORE) and host in ("", one.host)]
    is_latest = name == LATEST and len({one.file.rpartition(".")[2] for one in scheduled}) == 1
    if is_latest and silent and not host:
        why = f"{message_text.listed(silent)} gave no list and may have a later one than {scheduled[0]}"
        raise Problem("the latest snapshot is not known", why=why, remedy="name a snapshot; `clusterwright restore` lists them", status=EXIT_USAGE)
    if is_latest:
        return scheduled[0]
    found = next((one for one in there if str(one) == word), None)
    if found is None:
        why = f"the latest are {message_text.listed(str(one) for one in there[:3])}" if there else "no host has one"
        remedy = f"`clusterwright restore` lists them all; `HOST/{LATEST}` is the latest of one host"
        raise Problem(f"there is no snapshot {word}", why=why, remedy=remedy, status=EXIT_USAGE)
    return found
