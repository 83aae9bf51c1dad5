"""Users against each other."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find user numbers that two users have."""
    owners: dict[int, str] = {}
    for name, user in blueprint.users.items():
        if user.uid in owners:
            what = f"{owners[user.uid]} and {name} have the user number {user.uid}"
            why = "to the system they would be one user, with the same files and processes"
            where = source.where("users", name, "uid")
            yield finding.Finding(finding.Level.ERROR, Code.UID_DUPLICATE, where, what, why, "give one of them another number")
        owners.setdefault(user.uid, name)
