"""OS Login: the cloud decides who logs in, and whom it lets in must be a user of the cluster by the name that the cloud gives."""

import re
from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from ..language.names import LINUX_NAME_LENGTH

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
EXTERNAL = "ext_"
"""Begins the Linux names of people of other organizations (Compute Engine documentation, "Manage OS Login in an organization", external users; 2026-11)."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find accounts that no login node asks for, that two users share, or whose Linux name is another, and keys that OS Login does not read."""
    identified = {name: user for name, user in blueprint.users.items() if user.cloud_identity}
    if not blueprint.access.os_login:
        for name in identified:
            what = f"`cloud_identity` of {name} has no effect without `access.os_login`"
            why = "login nodes ask the cloud who may log in with OS Login only; the user logs in with a key of the blueprint or of the stack"
            yield _found(_WARNING, Code.OS_LOGIN_UNUSED, source, ("users", name, "cloud_identity"), what, why, "write `access: {os_login: true}`")
        return
    if not cluster.login.os_login:
        return
    if not identified or not blueprint.access.login_nodes:
        what = "OS Login lets no user of the blueprint in"
        why = "no user has a `cloud_identity`" if blueprint.access.login_nodes else "there is no login node"
        remedy = "write `cloud_identity` with each user's account of the cloud, or remove `os_login`" if blueprint.access.login_nodes else "remove `os_login`"
        yield _found(_WARNING, Code.OS_LOGIN_UNUSED, source, ("access", "os_login"), what, why, remedy)
    owners: dict[str, str] = {}
    for name, user in identified.items():
        identity, at = str(user.cloud_identity), ("users", name, "cloud_identity")
        if (owner := owners.setdefault(identity.lower(), name)) != name:
            what, why = (
                f"{owner} and {name} have the same cloud identity, {identity}",
                "the cloud gives an account one Linux name, and it would be one user of the two",
            )
            yield _found(_ERROR, Code.OS_LOGIN_IDENTITY, source, at, what, why, "write the account of each")
        elif name not in linux_names(identity):
            what = f"OS Login does not know {identity} as {name}"
            why = f"it makes the Linux name from the address: {message_text.listed(f'`{one}`' for one in linux_names(identity))}, unless an administrator of the organization set another"
            remedy = f"call the user `{linux_names(identity)[0]}`, or suppress this where the organization set the name {name}"
            yield _found(_WARNING, Code.OS_LOGIN_NAME, source, at, what, why, remedy)
        if user.ssh_keys:
            what = f"`ssh_keys` of {name} let nobody in: OS Login reads the keys of {identity}"
            why = "login nodes take keys of an account that OS Login knows from the cloud, where the rights are withdrawn with it"
            remedy = "remove `ssh_keys`; the user adds the key with `gcloud compute os-login ssh-keys add --key-file FILE`"
            yield _found(_ERROR, Code.OS_LOGIN_KEYS, source, ("users", name, "ssh_keys"), what, why, remedy)


def linux_names(identity: str) -> tuple[str, ...]:
    """Give the Linux names that OS Login makes from an address: the usual one, without the domain, and of another organization. Pure.

    Source: Compute Engine documentation, "Set up OS Login", and Admin console, "OS Login API settings": `user_example_com`, or `user` where the organization leaves the domain out (2026-11).
    """
    whole, local = (re.sub("[^a-z0-9-]", "_", part) for part in (identity.lower(), identity.lower().partition("@")[0]))
    return tuple(one for one in (whole, local, f"{EXTERNAL}{whole}") if len(one) <= LINUX_NAME_LENGTH) or (local,)


def _found(level: finding.Level, code: Code, source: Document, path: tuple[str, ...], what: str, why: str, remedy: str) -> finding.Finding:
    return finding.Finding(level, code, source.where_key(*path), what, why, remedy)
