"""What `up` and `down` refuse or announce before the engine changes anything: lost data, impossible changes, a place that lacks something."""

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import finding, message_text, spec
from blueprints.codes import Code
from blueprints.finding import Invalid, Level
from blueprints.load import Loaded
from blueprints.plan import changes
from blueprints.plan.changes import Change
from blueprints.spec import ClusterSpec
from blueprints.spec.cost import Effect

from ..errors import Problem
from ..render import change_table, finding_list
from . import live, state

_PROTECTED_BY = {"database": "accounting", "state": "accounting"}
"""Data → the section of a blueprint whose `protect` protects it, where it has another name."""


def validate_live(loaded: Loaded, stack: str, *, has_resources: bool, recorded: ClusterSpec | None = None) -> None:
    """Ask the place of the cluster whether it has what the cluster needs, and show the findings.

    An account's findings don't stop the change of a stack that has resources already: an expired reservation, for example, is no reason to refuse a new user.

    Args:
        has_resources: the stack has resources in that place already.
        recorded: the cluster as the last `up` recorded it.
    Raises:
        Invalid: the place lacks something.
        Problem: nobody can be asked.
    """
    answered = live.validate(loaded, stack=stack, recorded=recorded)
    if answered.asked.whom:
        print(answered.asked.whom)
    is_advice = has_resources and not answered.asked.stops_running
    findings = [_as_warning(found) if is_advice or found.code == Code.ACCOUNT_SILENT else found for found in answered.findings]
    if any(found.level is Level.ERROR for found in findings):
        raise Invalid(finding.in_order(findings))
    finding_list.show(findings)


def _as_warning(found: finding.Finding) -> finding.Finding:
    return dataclasses.replace(found, level=Level.WARNING) if found.level is Level.ERROR else found


def refuse_changes(stack: str, cluster: ClusterSpec) -> None:
    """Compare the blueprint with what the last `up` recorded.

    The engine refuses to delete protected data too, but only after it has created and changed other resources.

    Raises:
        Problem: protected data would be lost, or the running cluster can't be changed like this. Nothing was changed.
    """
    recorded = state.spec(stack)
    if recorded is None:
        return  # no `up` has finished yet
    try:
        found = changes.compare(recorded, cluster)
    except spec.Unreadable as error:
        print(f"the running cluster can't be compared with the blueprint, because its record has another form: {error}")
        return
    refused = [change for change in found if change.is_refused]
    if refused:
        raise Problem(_refusal(stack, refused), why=_lines(refused), remedy=_remedy(stack, refused))
    for line in changes.kubernetes_upgrade(found, cluster):
        print(line, flush=True)
    if lost := [change for change in found if change.effect is Effect.DESTROYS_DATA]:
        print(f"this change deletes unprotected data of stack {stack}:\n{textwrap.indent(_lines(lost), '  ')}", flush=True)


def _refusal(stack: str, refused: Sequence[Change]) -> str:
    protected = _protected(refused)
    if not protected:
        return f"stack {stack} can't be changed like this while it runs; nothing was changed"
    return f"stack {stack} would lose protected data: {', '.join(protected)}; nothing was changed"


def _remedy(stack: str, refused: Sequence[Change]) -> str:
    remedies = ["undo the change in the blueprint"]
    if protected := _protected(refused):
        words = message_text.listed(dict.fromkeys(f"{_PROTECTED_BY.get(name, name)}.protect" for name in protected))
        remedies.append(f"or, to delete that data, set {words} to false and first run this command with that change alone")
    if any(change.anew for change in refused):
        remedies.append(f"or delete the cluster and all data that isn't kept (`clusterwright down --stack {stack}`), then create it as the blueprint says")
    return "\n".join(remedies)


def _protected(refused: Sequence[Change]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for change in refused for name in change.protected))


def _lines(several: Sequence[Change]) -> str:
    return "\n".join(f"{change.key or change.path}, {' → '.join(change_table.values(change))}: {change.why}" for change in several)


def refuse_protected(stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
    """Stop before anything is deleted: the engine would delete every host first and only then refuse to delete the data.

    Raises:
        Problem: a recorded resource is protected.
    """
    if protected := [resource["urn"].rpartition("::")[2] for resource in recorded if resource.get("protect")]:
        raise Problem(
            f"stack {stack} has protected data: {', '.join(protected)}",
            why="the blueprint protects it (storage.<name>.protect, accounting.protect); nothing was deleted",
            remedy="set protect to false there and run `make up`, then `make down`, which deletes the data with the stack",
        )
