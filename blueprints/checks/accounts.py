"""The tree of accounts: circles in it, and limits that one above makes meaningless."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import cycles

_LIMITS = ("gpus", "nodes", "jobs")


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find accounts that are part of themselves, and limits above those of the account around them."""
    parents = {name: account.parent for name, account in blueprint.accounts.items()}
    for circle in cycles.of_parents(parents):
        what = f"the account {circle[0]} is part of itself: {cycles.words(circle, ' in ')}"
        why = "accounts are a tree; shares and limits go from its top down"
        where = source.where("accounts", circle[0], "parent")
        yield finding.Finding(finding.Level.ERROR, Code.ACCOUNT_CYCLE, where, what, why, "take one of these `parent` out")
    for name, account in blueprint.accounts.items():
        parent = blueprint.accounts.get(account.parent or "")
        for limit in _LIMITS if parent else ():
            own, above = getattr(account.limits, limit), getattr(parent.limits, limit) if parent else None
            if own is not None and above is not None and own > above:
                what = f"the account {name} may have {own} {limit}, and {account.parent}, which it is part of, {above}"
                why = "jobs count against every account up to the top, so that the lower limit holds"
                where = source.where("accounts", name, "limits", limit)
                remedy = f"write {above} at most, or raise the limit of {account.parent}"
                yield finding.Finding(finding.Level.WARNING, Code.LIMIT_WITHOUT_EFFECT, where, what, why, remedy)
