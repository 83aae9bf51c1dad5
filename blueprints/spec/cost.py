"""What changing a field of the spec costs a running cluster: the markers beside the fields.

    mount: Annotated[str, cost.rolling("hosts mount it at the other place; jobs that use the old one end")]

blueprints/plan/field_costs.py collects them. What a target does otherwise is in blueprints/catalog/change_costs.yaml.
"""

import dataclasses
import enum
import functools


class Effect(enum.StrEnum):
    """The effects of a change, the cheapest first."""

    NONE = "none"
    """Nothing that runs is touched."""
    IN_PLACE = "in-place"
    """Hosts run on, and jobs with them."""
    ROLLING = "rolling"
    """Hosts boot again and keep their disks; jobs on them end unless they are drained first."""
    REPLACES_NODES = "replaces-nodes"
    """Hosts are deleted or replaced, with what only their disks hold."""
    DESTROYS_DATA = "destroys-data"
    """Shared files or records are lost."""

    @property
    def severity(self) -> int:
        return list(Effect).index(self)


DATA = {
    "storage": "every file system and bucket that the stack made",
    "networked": "file systems in the network's subnets",
    "zonal": "file systems in one zone",
    "database": "the accounting database",
    "managed-database": "the accounting database, where the cloud runs it",
    "own-database": "the accounting database, where the controller runs it",
    "state": "the scheduler's saved state: the queue, and what is known of nodes",
}
"""What a change can lose."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    effect: Effect
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What changing a field costs. As a marker: of the field beside it."""

    cost: Cost
    less: Cost | None = None
    """Of a number that becomes smaller."""
    later: Cost | None = None
    """Of a list whose first entry stays."""
    given: tuple[tuple[str, object, Cost], ...] = ()
    """What it costs instead where the old record around the field has this value in this field; the first that fits counts."""
    reaches: tuple[str, ...] = ()
    """Kinds of data that are lost with it (keys of DATA); where there is any, the change destroys data."""
    is_anew: bool = False
    """Whether a running cluster refuses the change: it has to be deleted first. Not where `less`, `later` or `given` hold."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entries:
    """A marker of a list of named things: what one more costs, and one less. The fields of the things have their own costs."""

    added: Rule
    removed: Rule


@dataclasses.dataclass(frozen=True, slots=True)
class ByPlace:
    """A marker of a field of a record that the spec has in several places: each place says what it costs there (`Within`)."""

    what: str


@dataclasses.dataclass(frozen=True, slots=True)
class Within:
    """A marker of a record's place: what its fields marked `ByPlace` cost here."""

    rules: tuple[tuple[str, Rule], ...]


def within(**rules: Rule) -> Within:
    """Mark a record's place with what changes cost there."""
    return Within(tuple(rules.items()))


def _rule(
    effect: Effect,
    why: str,
    *,
    less: Cost | None = None,
    later: Cost | None = None,
    given: tuple[tuple[str, object, Cost], ...] = (),
    reaches: tuple[str, ...] = (),
) -> Rule:
    return Rule(Cost(effect, why), less, later, given, reaches)


none = functools.partial(_rule, Effect.NONE)
in_place = functools.partial(_rule, Effect.IN_PLACE)
rolling = functools.partial(_rule, Effect.ROLLING)
replaces_nodes = functools.partial(_rule, Effect.REPLACES_NODES)
destroys_data = functools.partial(_rule, Effect.DESTROYS_DATA)

TEXT = none("a text")
FOLLOWS = none("it follows from other fields")
JUDGED = none("what acceptance judges by; nothing running changes")
SCHEDULER_SETTING = in_place("the controller reads its configuration again; jobs run on")
ACCOUNTING_SETTING = in_place("a record of Slurm's accounting; running jobs keep what they have")
SERVICE_SETTING = in_place("a setting of the scheduler or of monitoring; jobs run on")
