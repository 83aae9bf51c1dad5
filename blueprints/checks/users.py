"""Users against accounts and against each other."""

from collections.abc import Iterator

from .. import display, document, finding, spec
from ..codes import Code

_ERROR = finding.Level.ERROR


def check(cluster: spec.ClusterSpec, source: document.Document) -> Iterator[finding.Finding]:
    """Find users of unknown accounts, and user numbers that two users have."""
    written = source.at("accounts")
    # As written, so that a user of an account that is refused for another reason isn't blamed too.
    accounts = {str(name) for name in written} if isinstance(written, dict) else set()
    owners: dict[int, str] = {}
    for user in cluster.users:
        if user.default_account not in accounts:
            yield _unknown_account(user, accounts, source)
        if user.uid in owners:
            what = f"{owners[user.uid]} and {user.name} have the user number {user.uid}"
            why = "to the system they would be one user, with the same files and processes"
            where = source.where("users", user.name, "uid")
            yield finding.Finding(_ERROR, Code.UID_DUPLICATE, where, what, why, "give one of them another number")
        owners.setdefault(user.uid, user.name)


def _unknown_account(user: spec.User, accounts: set[str], source: document.Document) -> finding.Finding:
    what = f"there is no account {display.quoted(user.default_account)}"
    why = f"the jobs of {user.name} are charged to it"
    add = f"add it under `accounts`: `{user.default_account}: {{}}`"
    remedy = f"{display.did_you_mean(user.default_account, accounts, allowed='accounts')}; or {add}" if accounts else add
    return finding.Finding(_ERROR, Code.ACCOUNT_UNKNOWN, source.where("users", user.name, "account"), what, why, remedy)
