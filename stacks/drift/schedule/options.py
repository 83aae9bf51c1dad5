"""What regular checks run, and how often."""

import dataclasses
import hashlib
import re

from components import registry
from components.inspection.layer import Layer

KEEP_DAYS = 30
SETTLE_S = 600
"""Hosts come and go for a while after an update."""
UNITS_S = {"m": 60, "h": 3600, "d": 86400}
DAY_S = 86400
HOUR_S = 3600
NAME_LIMIT = 52
"""Of a CronJob, whose jobs' names are longer by eleven (Kubernetes documentation, "CronJob")."""


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """What regular checks run, and how often."""

    stack: str
    folder: str
    """The checkout, on the machine that runs the checks."""
    every_s: int
    layers: tuple[Layer, ...] = ()
    """Empty: all."""
    settle_s: int = SETTLE_S
    words: tuple[str, ...] = ()
    """Further words for `clusterwright drift`."""
    keep_days: int = KEEP_DAYS
    image: str = ""
    """Kubernetes only: an image with a set-up checkout in `folder`."""
    user: str = "root"
    target: str = registry.DEFAULT
    """The stack's: the checks need the tools of its cloud."""

    @property
    def name(self) -> str:
        """The stack's name in lower-case letters, digits and hyphens, short enough for every scheduler; no two stacks have the same."""
        plain = f"clusterwright-drift-{re.sub('[^a-z0-9-]+', '-', self.stack.lower()).strip('-')}"
        if plain == f"clusterwright-drift-{self.stack}" and len(plain) <= NAME_LIMIT:
            return plain
        mark = hashlib.sha256(self.stack.encode()).hexdigest()[:6]
        return f"{plain[: NAME_LIMIT - len(mark) - 1].rstrip('-')}-{mark}"

    @property
    def cron_time(self) -> str:
        """The interval as crontab(5) writes it."""
        if self.every_s < HOUR_S:
            return f"*/{self.every_s // 60} * * * *"
        return "17 3 * * *" if self.every_s == DAY_S else f"17 */{self.every_s // HOUR_S} * * *"

    def command(self, *more: str) -> list[str]:
        """Give the words of the check's command line."""
        chosen = [word for layer in self.layers for word in ("--layer", str(layer))]
        return ["clusterwright", "drift", "--stack", self.stack, "--settle", str(self.settle_s), *chosen, *self.words, *more]


def every_s(word: str) -> int:
    """Read an interval: `15m`, `1h`, `1d`. Cron knows only intervals that divide an hour or a day.

    Raises:
        ValueError: it is no such interval.
    """
    matched = re.fullmatch(r"(\d+)([mhd])", word)
    seconds = int(matched[1]) * UNITS_S[matched[2]] if matched else 0
    if seconds < UNITS_S["m"] or seconds > DAY_S or (HOUR_S % seconds if seconds < HOUR_S else DAY_S % seconds or seconds % HOUR_S):
        raise ValueError(f"not every scheduler has the interval {word!r}: give minutes that divide an hour (15m), hours that divide a day (6h), or 1d")
    return seconds
