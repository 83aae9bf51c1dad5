"""The tree of Slurm accounts: cycles, and limits that a parent's lower limit overrides."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import cycles

_LIMITS = ("gpus", "nodes", "jobs")


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find accounts that are their own ancestors, and limits above those of the parent account."""
    parents = {name: account.parent for name, account in blueprint.accounts.items()}
    for circle in cycles.of_parents(parents):
        what = f"the account {circle[0]} is its own ancestor: {cycles.words(circle, ' in ')}"
        why = "accounts form a tree; Slurm applies shares and limits from its root down"
        where = source.where("accounts", circle[0], "parent")
        yield finding.Finding(finding.Level.ERROR, Code.ACCOUNT_CYCLE, where, what, why, "remove one of these `parent` keys")
    for name, account in blueprint.accounts.items():
        parent = blueprint.accounts.get(account.parent or "")
        for limit in _LIMITS if parent else ():
            own, above = getattr(account.limits, limit), getattr(parent.limits, limit) if parent else None
            if own is not None and above is not None and own > above:
                what = f"the account {name} has a limit of {own} {limit}, and its parent account {account.parent} one of {above}"
                why = "Slurm counts a job against every parent account, so the lower limit applies"
                where = source.where("accounts", name, "limits", limit)
                remedy = f"write at most {above}, or raise the limit of {account.parent}"
                yield finding.Finding(finding.Level.WARNING, Code.LIMIT_WITHOUT_EFFECT, where, what, why, remedy)
