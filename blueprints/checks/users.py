"""Users with the same UID, and users with the name of the hosts' own login user."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find UIDs that two users share, and users that existing hosts know as somebody else."""
    owners: dict[int, str] = {}
    for name, user in blueprint.users.items():
        if user.uid in owners:
            what = f"{owners[user.uid]} and {name} have the same UID, {user.uid}"
            why = "the operating system would treat them as one user, with the same files and processes"
            where = source.where("users", name, "uid")
            yield finding.Finding(finding.Level.ERROR, Code.UID_DUPLICATE, where, what, why, "write another UID for one of them")
        owners.setdefault(user.uid, name)
    if cluster.site and cluster.site.user in blueprint.users:
        name = cluster.site.user
        what = f"the user name {name} is taken on the hosts"
        why = f"`inventory.user` says that they have a user {name} already, who keeps the number and home that /etc/passwd of each host names"
        remedy = f"rename this user, or adopt the hosts as another user than {name} (`inventory.user`)"
        yield finding.Finding(finding.Level.ERROR, Code.NAME_RESERVED, source.where_key("users", name), what, why, remedy)
