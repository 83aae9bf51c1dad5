"""What `up` says of a blueprint that was changed, before it changes anything of the cluster that stands: which data goes, and what can't be done."""

from collections.abc import Mapping, Sequence

from blueprints import changes, display
from blueprints.changes import Change
from blueprints.effects import Effect
from blueprints.spec import ClusterSpec

from ..problem import Problem
from ..render import change_table
from . import commands

_OWN_WORDS = {"database": "accounting", "state": "accounting"}
"""Data → the section of a blueprint whose `protect` protects it, where it has another name."""
_PAGE_LINE = "\n       "
"""Where a page goes on with what it says."""


def examine(stack: str, cluster: ClusterSpec) -> None:
    """Compare what is wanted with what the last `up` recorded.

    The engine refuses to delete what is protected, too, but only when it comes to it, after all that is made or changed before.

    Raises:
        Problem: data that is protected would be lost, or the cluster can't be changed so while it stands. Nothing was done.
    """
    recorded = commands.outputs(stack).get("spec") if commands.exists(stack) else None
    if not isinstance(recorded, Mapping):
        return  # no `up` has come to its end yet
    try:
        found = changes.compare(recorded, cluster)
    except changes.Unreadable as error:
        print(f"what stands can't be compared with what is wanted, since its record is of another form: {error}")
        return
    refused = [change for change in found if change.is_refused]
    if refused:
        raise Problem(_refusal(stack, refused), why=_lines(refused), remedy=_remedy(stack, refused))
    if lost := [change for change in found if change.effect is Effect.DESTROYS_DATA]:
        print(f"data of stack {stack} that isn't protected is lost with this change:{_PAGE_LINE}{_lines(lost)}", flush=True)


def _refusal(stack: str, refused: Sequence[Change]) -> str:
    protected = _protected(refused)
    if not protected:
        return f"stack {stack} can't be changed so while it stands; nothing was changed"
    return f"stack {stack} would lose data that is protected: {', '.join(protected)}; nothing was changed"


def _remedy(stack: str, refused: Sequence[Change]) -> str:
    remedies = ["take the change back"]
    if protected := _protected(refused):
        words = display.listed(dict.fromkeys(f"{_OWN_WORDS.get(name, name)}.protect" for name in protected))
        remedies.append(f"or, if that data may go, set {words} to false and run this command with that alone first")
    if any(change.anew for change in refused):
        remedies.append(f"or take the cluster down (`clusterwright down --stack {stack}`), with all that isn't kept, and stand it up as it shall be")
    return _PAGE_LINE.join(remedies)


def _protected(refused: Sequence[Change]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for change in refused for name in change.protected))


def _lines(several: Sequence[Change]) -> str:
    return _PAGE_LINE.join(f"{change.key or change.path}, {' → '.join(change_table.values(change))}: {change.why}" for change in several)
