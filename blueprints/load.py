"""From a blueprint's name to the checked spec: read, merge, parse, resolve, check; everything wrong at once."""

import dataclasses
import datetime as dt
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import (
    catalog,
    checks,
    document,
    finding,
    inventory,
    language,
    library,
    message_text,
    override_positions,
    read,
    reliable_findings,
    resolve,
    spec,
    suppression,
)
from .codes import Code
from .facts import Facts
from .language import conversions, merge
from .language import overrides as settings

LONGEST_CHAIN = 8
"""How many blueprints may extend each other in a row: in a longer chain the origin of a value is hard to find."""
PLANNED_ONLY = (Code.SCHEDULER_NOT_BUILT, Code.SOFTWARE_NOT_BUILT, Code.CAPACITY_ID_MISSING)
"""What can be planned and not provisioned, whether or not the blueprint accepts it."""
UNDECIDED = (
    Code.CAPACITY_ZONE_MISSING,
    Code.ZONE_LOCAL,
    Code.ACCESS_UNREACHABLE,
    Code.SUBNETS_UNNAMED,
    Code.HOSTS_UNNAMED,
    Code.HOST_KEY_MISSING,
    Code.EGRESS_FOR_IMAGES,
)
"""What has to be decided or changed before a cluster can be provisioned; planning needs none of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """A cluster that can be planned, with what was noticed on the way."""

    spec: spec.ClusterSpec
    document: document.Document
    """The blueprint with everything merged into it."""
    blueprint: language.Blueprint
    findings: tuple[finding.Finding, ...]
    """Warnings and notes; no errors."""
    suppressed: tuple[finding.Finding, ...] = ()
    """Those that the blueprint accepts for a time."""


def load(name_or_path: str, *, target: str, stack: str, facts: Facts, overrides: Mapping[str, Any] | None = None) -> spec.ClusterSpec:
    """Give the validated spec of a blueprint, to be provisioned.

    Args:
        name_or_path: a blueprint of the library, or the path of a file, relative to the current folder.
        target: where the cluster will run (`aws`, `gcp`, `metal`, `local`).
        stack: the stack's name.
        facts: what was looked up about the place.
        overrides: values that the stack's settings put over the blueprint's, by dotted path (`pools.train.nodes`).
    Raises:
        finding.Invalid: with all errors and warnings; also when this version can't provision it.
    """
    loaded = examine(name_or_path, target=target, stack=stack, facts=facts, overrides=overrides)
    require_decided(loaded)
    return loaded.spec


def require_decided(loaded: Loaded) -> None:
    """Refuse what can be planned and not provisioned.

    Raises:
        finding.Invalid: with all that is missing.
    """
    if missing := undecided(loaded):
        raise finding.Invalid(missing)


def undecided(loaded: Loaded) -> tuple[finding.Finding, ...]:
    """List what can be planned and not provisioned, as errors."""
    missing = [found for found in (*loaded.findings, *loaded.suppressed) if found.code in (*PLANNED_ONLY, *UNDECIDED)]
    return tuple(dataclasses.replace(found, level=finding.Level.ERROR) for found in missing)


def examine(name_or_path: str, *, target: str, stack: str, facts: Facts, overrides: Mapping[str, Any] | None = None) -> Loaded:
    """Plan a blueprint: do as `load`, give the document and the warnings too, and accept what this version can't provision."""
    path = library.find(name_or_path)
    return from_document(open_document(path), target=target, stack=stack, facts=facts, overrides=overrides, folder=path.parent)


def open_document(path: pathlib.Path) -> document.Document:
    """Read a blueprint and those that it extends, each the parent of the one before.

    Raises:
        finding.Invalid: one of the files can't be read, is not there, or extends in a circle.
    """
    chain = [path]
    documents = [read.read(path)]
    while (parent := _parent_name(documents[-1])) is not None:
        where = documents[-1].where("extends")
        following = library.parent(parent, chain[-1], where)
        if following.resolve() in {known.resolve() for known in chain} or len(chain) == LONGEST_CHAIN:
            raise finding.Invalid([_circle(where)])
        chain.append(following)
        documents.append(read.read(following))
    whole = documents.pop()
    while documents:
        whole = dataclasses.replace(documents.pop(), parent=whole)
    return whole


def from_document(
    source: document.Document,
    *,
    target: str,
    stack: str,
    facts: Facts,
    overrides: Mapping[str, Any] | None = None,
    today: dt.date | None = None,
    folder: pathlib.Path | None = None,
) -> Loaded:
    """Do as `examine` with a document that is read already.

    Args:
        today: the day on which suppressions must still hold; left out, the present one.
        folder: the blueprint's own, where its inventory is read on targets that need one; left out, no file is read and no command runs.
    """

    def examined(other: document.Document, beside: pathlib.Path | None = None) -> _Examined:
        return _examine(other, target=target, stack=stack, facts=facts, overrides=overrides or {}, today=today, folder=beside)

    found = examined(source, folder)
    findings = found.findings
    if folder is None or not _reads_hosts(found.document, target):
        findings = override_positions.point(findings, source, target, lambda other: examined(other).findings)
    ordered = reliable_findings.without_notes(finding.in_order(findings))
    if found.spec is None or found.blueprint is None or finding.is_fatal(ordered):
        raise finding.Invalid(ordered)
    return Loaded(found.spec, found.document, found.blueprint, ordered, found.suppressed)


@dataclasses.dataclass(frozen=True, slots=True)
class _Examined:
    """What a document came to, errors included."""

    document: document.Document
    blueprint: language.Blueprint | None
    spec: spec.ClusterSpec | None
    findings: Sequence[finding.Finding]
    suppressed: tuple[finding.Finding, ...] = ()


def _examine(
    source: document.Document,
    *,
    target: str,
    stack: str,
    facts: Facts,
    overrides: Mapping[str, Any],
    today: dt.date | None,
    folder: pathlib.Path | None,
) -> _Examined:
    merged = settings.apply(merge.settle(source, target), overrides)
    outside = inventory.Outside()
    unread: tuple[finding.Finding, ...] = ()
    if folder is not None and _is_site(target):
        with_hosts = inventory.read(merged, folder)
        merged, outside, unread = with_hosts.document, with_hosts.outside, with_hosts.findings
    parsed = language.parse_most(merged)
    findings = [*unread, *merged.findings, *parsed.findings, *_of_other_targets(source, target)]
    if parsed.blueprint is None:
        return _Examined(merged, None, None, findings)
    attempted = resolve.attempt(parsed.blueprint, target=target, stack=stack, facts=facts, where=parsed.document.where, outside=outside)
    found = (*attempted.findings, *checks.check(attempted.spec, parsed.blueprint, parsed.document))
    unknown = [language.Refused(("inventory",), language.Scope.NOTHING, is_known=False)] if unread else []
    findings += reliable_findings.keep(found, [*parsed.refused, *unknown])
    day = today or dt.datetime.now(tz=dt.UTC).date()
    kept, suppressed = suppression.apply(findings, parsed.blueprint.suppress, parsed.document, today=day)
    return _Examined(merged, parsed.blueprint, attempted.spec, kept, suppressed)


def _reads_hosts(merged: document.Document, target: str) -> bool:
    """Say whether hosts come from outside of the blueprint, which are read once only: a command may take long."""
    return _is_site(target) and any(merged.at("inventory", key) for key in ("file", "command"))


def _is_site(target: str) -> bool:
    return target in catalog.target_names() and catalog.target(target).hosts == "site"


def _parent_name(source: document.Document) -> str | None:
    name = source.at("extends")
    if name is None or isinstance(name, str):
        return name
    # Without the other blueprint, each key that it has would be reported as missing.
    raise finding.Invalid([_not_one_name(name, source.where("extends"))])


def _not_one_name(given: object, where: finding.Position) -> finding.Finding:
    first = given[0] if isinstance(given, list) and given and isinstance(given[0], str) else "llm-pretraining"
    what = f"extends must be the name of one blueprint, and this is {conversions.kind_of(given)}"
    why = "a blueprint extends one other, which may extend another one in turn"
    return finding.Finding(finding.Level.ERROR, Code.TYPE_WRONG, where, what, why, f"write `extends: {message_text.printable(first)}`")


def _circle(where: finding.Position) -> finding.Finding:
    what = "the blueprints extend each other in a circle, or in too long a row"
    why = f"the values of up to {LONGEST_CHAIN} blueprints are put over each other, and the last of them extends none"
    return finding.Finding(finding.Level.ERROR, Code.EXTENDS_CIRCLE, where, what, why, "take this `extends` out, or let it name the first of them")


def _of_other_targets(source: document.Document, target: str) -> list[finding.Finding]:
    """Parse the blueprints' parts for other targets too, so that a mistake there is found before the day of moving."""
    chain = [source]
    while chain[-1].parent is not None:
        chain.append(chain[-1].parent)
    parts = [part for one in chain if isinstance(part := one.at("targets"), dict)]
    found: list[finding.Finding] = []
    for other in dict.fromkeys(name for part in parts for name in part if name != target and name in catalog.target_names()):
        there = {place for one in chain for path in one.places if path[:2] == ("targets", other) for place in (one.where(*path), one.where_key(*path))}
        settled = merge.settle(source, other)
        faults = [*settled.findings, *language.parse_most(settled).findings]
        found += [fault for fault in faults if fault.where in there]
    return found
