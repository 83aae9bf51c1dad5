"""The cluster's users and administrators on a host. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from blueprints import spec
from blueprints.finding import Finding
from blueprints.finding.subject import HostAdministrator, HostUser

from .. import role_defaults
from ..codes import Code
from ..finding import drift

RESTORED = "`clusterwright up` writes the cluster's {table} again when it configures the controller; all hosts mount the folder with the table"


def findings(host: str, present: Mapping[str, str], users: Sequence[spec.User]) -> Iterator[Finding]:
    """Compare the users that a host knows, as lines of passwd(5), with the blueprint's."""
    home, shell = role_defaults.defaults("users")["users_home"], role_defaults.defaults("users")["users_shell"]
    wanted = {user.name: f"{user.name}:x:{user.uid}:{user.uid}::{home}/{user.name}:{shell}" for user in users}
    remedy = RESTORED.format(table="users")
    for name in sorted({*wanted, *present}):
        subject, line = HostUser(host, name), wanted.get(name)
        if name not in present:
            yield drift(Code.USER_MISSING, subject, "the host does not know this user", remedy=remedy, desired=line, recorded=line)
        elif line is None:
            what = "the host knows a user that the blueprint does not have"
            yield drift(Code.USER_ADDED, subject, what, remedy=f"add the user to the blueprint, or: {remedy}", actual=present[name])
        elif present[name] != line:
            what = "the user has another number, group, home or shell"
            yield drift(Code.USER_CHANGED, subject, what, remedy=remedy, desired=line, recorded=line, actual=present[name])


def administrators(host: str, groups: Mapping[str, str], users: Sequence[spec.User]) -> Iterator[Finding]:
    """Compare who may become root, by lines of group(5), with the blueprint."""
    line = groups.get(role_defaults.defaults("users")["users_admin_group"]["name"], "")
    wanted = {user.name for user in users if user.admin}
    present = {name for name in line.rpartition(":")[2].split(",") if name}
    remedy = RESTORED.format(table="groups")
    for name in sorted(wanted ^ present):
        yes, no = "may become root", "may not become root"
        desired, actual = (yes, no) if name in wanted else (no, yes)
        what = f"the user {actual}, and is {'an' if name in wanted else 'no'} administrator by the blueprint"
        yield drift(Code.ADMINS, HostAdministrator(host, name), what, remedy=remedy, desired=desired, recorded=desired, actual=actual)
