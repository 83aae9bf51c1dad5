"""Users with the same UID."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find UIDs that two users share."""
    owners: dict[int, str] = {}
    for name, user in blueprint.users.items():
        if user.uid in owners:
            what = f"{owners[user.uid]} and {name} have the same UID, {user.uid}"
            why = "the operating system would treat them as one user, with the same files and processes"
            where = source.where("users", name, "uid")
            yield finding.Finding(finding.Level.ERROR, Code.UID_DUPLICATE, where, what, why, "write another UID for one of them")
        owners.setdefault(user.uid, name)
