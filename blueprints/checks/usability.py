"""Partitions that no user may use, and qualities of service (QOS) that no job can use."""

import dataclasses
from collections.abc import Iterator, Mapping

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING


@dataclasses.dataclass(frozen=True, slots=True)
class _Account:
    """An account with users, with what it inherits from its parents."""

    name: str
    above: frozenset[str]
    """The account and its parents."""
    qos: tuple[str, ...]
    """Empty: all."""
    can_run: bool


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find partitions and qualities of service that no user of the blueprint can use. Skip clusters with a directory, whose users are unknown."""
    known = lookup.written_names(source, "accounts")
    if not blueprint.users or blueprint.access.ldap is not None or len(known) != len(blueprint.accounts):
        return
    names = {name for user in blueprint.users.values() for name in (user.account, *user.accounts)}
    accounts = [_account(name, blueprint.accounts) for name in sorted(names)]
    partitions = {partition.name: partition for _, partition in cluster.slurm_node_sets}
    used: set[str] = set()
    for partition in partitions.values():
        allowed = [one for one in accounts if not partition.accounts or one.above & {*partition.accounts}]
        users = [one for one in allowed if one.can_run and _common(one.qos, partition.qos) is not None]
        for one in users:
            used.update(_common(one.qos, partition.qos) or blueprint.qos)
        if not users:
            yield _unusable(partition, allowed, source)
    for name in blueprint.qos if partitions else ():
        if name not in used:
            what = f"no job can use the QOS {name}"
            why = "no account with users may use it in a partition that allows it"
            remedy = "add it to `qos` of an account and of a partition, or remove it"
            yield finding.Finding(_WARNING, Code.QOS_UNUSABLE, source.where_key("qos", name), what, why, remedy)


def _unusable(partition: spec.Partition, allowed: list[_Account], source: Document) -> finding.Finding:
    what = f"no user may use the partition {partition.name}"
    where = source.where("pools", partition.name, "partition", "accounts" if partition.accounts else "qos")
    remedy = "name another account, or add a user to one of these"
    if not allowed:
        why = f"no user belongs to {message_text.listed(partition.accounts)} or to an account below it"
    elif not any(one.can_run for one in allowed):
        why = f"the limits of {message_text.listed(one.name for one in allowed)} allow no job or no node"
        remedy = "raise these limits, or name another account"
    else:
        why = f"it allows the QOS {message_text.listed(partition.qos)}, and no account that may use it has one of them"
        remedy = "add one of these to `qos` of the account, or remove `qos` of the partition"
    return finding.Finding(_WARNING, Code.PARTITION_UNUSABLE, where, what, why, remedy)


def _account(name: str, accounts: Mapping[str, language.Account]) -> _Account:
    """Follow an account to the root: it inherits the QOS of the nearest ancestor that has some, and the limits of all ancestors."""
    above: list[str] = []
    qos: tuple[str, ...] = ()
    can_run = True
    following: str | None = name
    while following is not None and following not in above:
        above.append(following)
        account = accounts.get(following)
        if account is None:
            break
        qos = qos or account.qos
        can_run = can_run and 0 not in (account.limits.nodes, account.limits.jobs)
        following = account.parent
    return _Account(name, frozenset(above), qos, can_run)


def _common(mine: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return what both lists allow, where an empty list allows all; None if nothing."""
    if not mine or not theirs:
        return mine or theirs
    return tuple(name for name in mine if name in theirs) or None
