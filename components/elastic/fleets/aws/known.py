"""Cache of instances, so that a query for thousands of them reads only what may have changed.

EC2 describes one instance with 33 interfaces in 40 KB, which takes longer to parse than to act on, and no option leaves the interfaces out. But all that is needed of
an instance (its node, its launch, its address) never changes and is read once; another call gives its current state in a few bytes.
"""

import dataclasses
import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...memory import replace
from .answers import UNSAID

FORM = 3
FILE = "instances.json"
SETTLED_AFTER_S = 180.0
"""So long tags of an instance may come late: until then one that does not seem to be ours is read again and again."""
AGAIN_AFTER_S = 900.0
ENDED_YOUNG_S = 1800.0
"""One that ended so soon after its launch may have ended while it booted, and why is worth one more look."""
AGAIN_AT_ONCE = 20
"""Those read longest ago are read again, a few with each look: somebody may have changed their tags."""

log = logging.getLogger("clusterwright-elastic")


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What was read of one instance."""

    since: float
    """When it was seen first, seconds since 1970."""
    read_at: float
    is_ours: bool = False
    node: str = ""
    launch: str = ""
    version: str = ""
    """Of its launch template."""
    launched_at: float = 0.0
    address: str = ""
    ended_because: str = ""
    """Empty while it runs, and when it was not queried."""
    missed_since: float = 0.0
    """It was ours, and was not given when asked for since then; 0: it was."""

    def is_whole(self, now: float) -> bool:
        """Say whether nothing more is to come while it lives."""
        return bool(self.node and self.address and not self.missed_since) if self.is_ours else now - self.since >= SETTLED_AFTER_S

    def is_owed_a_reason(self, now: float) -> bool:
        """Say whether it should be read why it ended, once it has."""
        return self.is_ours and not self.ended_because and now - self.launched_at < ENDED_YOUNG_S


def to_read(known: Mapping[str, Known], seen: Mapping[str, bool], now: float) -> list[str]:
    """Choose the instances that have to be read.

    Args:
        seen: all instances that there are → whether each lives. Of one that has ended nothing more comes but why.
    """
    new = [one for one, lives in seen.items() if one not in known or (not known[one].is_whole(now) if lives else known[one].is_owed_a_reason(now))]
    old = sorted((known[one].read_at, one) for one, lives in seen.items() if lives and one in known and now - known[one].read_at >= AGAIN_AFTER_S)
    return [*dict.fromkeys([*new, *(one for _, one in old[:AGAIN_AT_ONCE])])]


def with_read(known: Mapping[str, Known], seen: Mapping[str, bool], asked: Iterable[str], read: Mapping[str, Known], now: float) -> dict[str, Known]:
    """Give what is known now: what was asked for and not given is somebody else's, unless it has ended and lost its tags, and what is no longer seen is forgotten.

    What was ours stays so for a while: one answer may come from where it is not shown at the moment (Amazon EC2 Developer Guide, "Eventual consistency in the Amazon EC2 API").
    """
    updated = dict(known)
    for one in asked:
        if one in known and known[one].is_ours and one not in read:
            if not seen.get(one):
                updated[one] = dataclasses.replace(known[one], read_at=now, ended_because=UNSAID)
                continue
            missed_since = known[one].missed_since or now
            if now - missed_since < SETTLED_AFTER_S:
                updated[one] = dataclasses.replace(known[one], missed_since=missed_since)
                continue
        since = known[one].since if one in known and known[one].is_ours == (one in read) else now
        updated[one] = dataclasses.replace(read.get(one, Known(now, now)), since=since, read_at=now)
    return {one: updated[one] for one in seen if one in updated}


class Shelf:
    """The file with the cache. Losing it, or failing to read or write it, only costs the time to read everything again.

    Args:
        folder: where the program's memory is; None: nothing is kept.
        of: whose instances they are.
        keeps: whether what is new is written.
    """

    def __init__(self, folder: Path | None, of: str, *, keeps: bool = True):
        self._file = folder / FILE if folder else None
        self._of, self._keeps = of, keeps
        self._known: dict[str, Known] | None = None

    def read(self) -> Mapping[str, Known]:
        if self._known is None:
            self._known = self._stored()
        return self._known

    def write(self, known: dict[str, Known]) -> None:
        if known == self.read():
            return
        self._known = known
        if self._file and self._keeps:
            instances = {one: dataclasses.astuple(entry) for one, entry in known.items()}
            try:
                replace(self._file, json.dumps({"form": FORM, "of": self._of, "instances": instances}), is_durable=False)
            except OSError as error:
                log.warning("%s can't be written, so every run reads all instances again: %s", self._file, error)

    def _stored(self) -> dict[str, Known]:
        if self._file is None:
            return {}
        try:
            record = json.loads(self._file.read_text())
            if (record["form"], record["of"]) != (FORM, self._of):
                return {}
            return {one: Known(*values) for one, values in record["instances"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
