"""References to accounts and qualities of service (QOS)."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping

from .. import finding, language, lookalikes, message_text, spec
from ..codes import Code
from ..document import Document, Path
from . import lookup

SLURMS_OWN_ACCOUNT, SLURMS_OWN_QOS = "root", "normal"
"""Slurm creates both itself (sacctmgr(1))."""
NEAR_WORDS_AT_MOST = 40
"""Unknown names of one kind that get suggestions; the search is slow, and a file with more of them has another problem."""
REPORTED_AT_MOST = 1_000
"""Unknown names of one kind that one run reports."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Reference:
    name: str
    path: Path
    why: str


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find references to accounts and qualities of service that the blueprint doesn't define."""
    accounts = _readable(lookup.written_names(source, "accounts"))
    unknown = (reference for reference in _accounts(blueprint) if not _is_among(reference.name, accounts) and reference.name != SLURMS_OWN_ACCOUNT)
    for number, reference in enumerate(itertools.islice(unknown, REPORTED_AT_MOST)):
        near = accounts if number < NEAR_WORDS_AT_MOST else ()
        yield _unknown(reference, near, source, code=Code.ACCOUNT_UNKNOWN, kind="account", section="accounts")
    qos = _readable(lookup.written_names(source, "qos"))
    unknown = (reference for reference in _qos(blueprint) if not _is_among(reference.name, qos) and reference.name != SLURMS_OWN_QOS)
    for number, reference in enumerate(itertools.islice(unknown, REPORTED_AT_MOST)):
        near = qos if number < NEAR_WORDS_AT_MOST else ()
        yield _unknown(reference, near, source, code=Code.QOS_UNKNOWN, kind="quality of service", section="qos")


def _readable(names: Iterable[str]) -> dict[str, None]:
    """Give names with those that they look like: a name with an odd character is refused itself."""
    return {form: None for name in names for form in (name, lookalikes.folded(name))}


def _is_among(name: str, names: Mapping[str, None]) -> bool:
    return name in names and (lookalikes.first(name) is None or lookalikes.folded(name) not in names)


def _accounts(blueprint: language.Blueprint) -> Iterator[_Reference]:
    for name, user in blueprint.users.items():
        yield _Reference(user.account, ("users", name, "account"), f"Slurm charges the jobs of {name} to it")
        yield from _listed(user.accounts, ("users", name, "accounts"), f"{name} may charge jobs to it")
    for name, account in blueprint.accounts.items():
        if account.parent is not None:
            yield _Reference(account.parent, ("accounts", name, "parent"), f"it is the parent of the account {name}")
    for name, pool in blueprint.pools.items():
        yield from _listed(pool.partition.accounts, ("pools", name, "partition", "accounts"), f"the partition {name} allows it")


def _qos(blueprint: language.Blueprint) -> Iterator[_Reference]:
    for name, account in blueprint.accounts.items():
        yield from _listed(account.qos, ("accounts", name, "qos"), f"the account {name} allows it")
    for name, pool in blueprint.pools.items():
        yield from _listed(pool.partition.qos, ("pools", name, "partition", "qos"), f"the partition {name} allows it")
    for name, entry in blueprint.qos.items():
        yield from _listed(entry.preempts, ("qos", name, "preempts"), f"{name} preempts its jobs")


def _listed(names: Iterable[str], path: Path, why: str) -> Iterator[_Reference]:
    for number, name in enumerate(names):
        yield _Reference(name, (*path, number), why)


def _unknown(reference: _Reference, known: Iterable[str], source: Document, *, code: Code, kind: str, section: str) -> finding.Finding:
    what = f"there is no {kind} {message_text.quoted(reference.name)}"
    names = list(known)
    if lookalikes.folded(reference.name) in names and lookalikes.first(reference.name) is not None:
        return lookalikes.refusal_of_text(source.where(*reference.path), reference.name)
    add = f"add it under `{section}`: {message_text.quoted(f'{reference.name}: {{}}')}"
    remedy = f"{message_text.did_you_mean(reference.name, names, allowed=section)}; or {add}" if names else add
    return finding.Finding(finding.Level.ERROR, code, source.where(*reference.path), what, reference.why, remedy)
