"""SSH keys that may log in: as root, and as the cluster's users. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from blueprints import spec
from blueprints.finding import Finding
from blueprints.finding.subject import RootKey, UserKey

from .. import role_defaults
from ..codes import Code
from ..finding import drift
from ..recorded_cluster import Known, KnownHost

KEY_END_LENGTH = 12
"""Characters of a key that a report shows."""


def of_root(host: str, facts: Mapping[str, Any], known: Known) -> Iterator[Finding]:
    """Compare root's keys with the stack's own and, on a server that was there already, with those of its owner."""
    keys = _keys(facts["root_keys"])
    own, owners = _key(known.admin_public), _keys(facts.get("server", {}).get("root_keys", ()))
    for key, line in sorted(keys.items()):
        if key != own and key not in owners:
            comment = line.split()[-1] if len(line.split()) > 2 else key[:24]
            remedy = f"remove the line from /root/.ssh/authorized_keys on {host}, and find out who wrote it"
            what = "somebody else's key may log in as root"
            yield drift(Code.ROOT_KEY, RootKey(host, _end(key)), what, remedy=remedy, actual=f"{key.split()[0]} … {comment}")
    if own and own not in keys:
        what = "the stack's own key may not log in as root any more"
        remedy = f"`clusterwright rebuild {host}`, or put the stack's key into /root/.ssh/authorized_keys on its console"
        yield drift(Code.ROOT_KEY, RootKey(host), what, remedy=remedy, desired="there", recorded="there")


def wanted_of_root(facts: Mapping[str, Any], known: Known) -> str:
    """Give what root's authorized keys should hold: the stack's key, and the lines that a server's owner had there and has not removed; empty: unknown."""
    own = known.admin_public.strip()
    if not own:
        return ""
    owners = _keys(facts.get("server", {}).get("root_keys", ()))
    present = facts["root_keys"] if owners else ()
    foreign = {line for key, line in _keys(present).items() if key != _key(own) and key not in owners}
    kept = [line for line in present if line not in foreign]
    return "".join(f"{line}\n" for line in (kept if _key(own) in _keys(kept) else [*kept, own]))


def of_users(blocks: Mapping[str, list[str] | None], known: Known) -> Iterator[Finding]:
    """Compare the keys that the stack put into users' homes. A home that is missing shows as a missing mount."""
    for user in known.cluster.users:
        lines = blocks.get(user.name)
        if lines is None:
            continue
        wanted = {_key(line) for line in (*user.ssh_keys, known.user_keys.get(user.name, "")) if line.strip()}
        present = {_key(line) for line in lines}
        path = f"{home(user)}/.ssh/authorized_keys"
        for key in sorted(wanted - present):
            remedy = "`clusterwright up` writes it again when it configures the controller"
            what = "the stack's key of this user is gone: the user may not be able to log in"
            yield drift(Code.USER_KEY, UserKey(user.name, _end(key)), what, remedy=remedy, desired=f"in {path}", recorded=f"in {path}")
        for key in sorted(present - wanted):
            what = "a key that is not the stack's is in the stack's block: whoever has it may log in as this user"
            yield drift(Code.USER_KEY, UserKey(user.name, _end(key)), what, remedy=f"remove the line from {path}, or add the key to the blueprint", actual=key)


def asked_host(known: Known) -> KnownHost | None:
    """Give the host that is asked for users' keys: one that has their homes, login nodes first."""
    in_order = sorted(known.hosts, key=lambda host: ("access", "control").index(host.role) if host.role in ("access", "control") else 2)
    return next(iter(in_order), None)


def home(user: spec.User) -> str:
    return f"{role_defaults.defaults('users')['users_home']}/{user.name}"


def _end(key: str) -> str:
    return key.split()[-1][-KEY_END_LENGTH:]


def _keys(lines: Iterable[str]) -> dict[str, str]:
    """Give the keys of authorized_keys(5): key → its line."""
    return {_key(line): line for line in lines if line.strip() and not line.lstrip().startswith("#")}


def _key(line: str) -> str:
    """Give type and body of a line of authorized_keys(5), without its options and comment."""
    words = line.split()
    start = next((place for place, word in enumerate(words) if word.startswith(("ssh-", "ecdsa-", "sk-"))), 0)
    return " ".join(words[start : start + 2])
