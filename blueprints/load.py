"""From a blueprint's name to the checked spec: read, override, parse, resolve, check; everything wrong at once."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from . import checks, document, finding, library, model, read, resolve, spec
from . import overrides as settings
from .facts import Facts


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """A cluster that can be built, with what was noticed on the way."""

    spec: spec.ClusterSpec
    document: document.Document
    findings: tuple[finding.Finding, ...]
    """Warnings and notes; no errors."""


def load(name_or_path: str, *, target: str, stack: str, facts: Facts, overrides: Mapping[str, Any] | None = None) -> spec.ClusterSpec:
    """Give the checked spec of a blueprint.

    Args:
        name_or_path: a blueprint of the library, or the path of a file, relative to the current folder.
        target: where the cluster will stand (`local`).
        stack: the stack's name.
        facts: what was looked up about the place.
        overrides: values that the stack's settings put over the blueprint's, by dotted path (`pools.train.nodes`).
    Raises:
        finding.Invalid: with everything that is wrong, warnings included.
    """
    return examine(name_or_path, target=target, stack=stack, facts=facts, overrides=overrides).spec


def examine(name_or_path: str, *, target: str, stack: str, facts: Facts, overrides: Mapping[str, Any] | None = None) -> Loaded:
    """Do as `load`, and give the document and the warnings too."""
    return from_document(read.read(library.find(name_or_path)), target=target, stack=stack, facts=facts, overrides=overrides)


def from_document(source: document.Document, *, target: str, stack: str, facts: Facts, overrides: Mapping[str, Any] | None = None) -> Loaded:
    """Do as `examine` with a document that is read already."""
    source = settings.apply(source, overrides or {})
    parsed = model.parse_most(source)
    findings = [*source.findings, *parsed.findings]
    if parsed.blueprint is not None:
        attempted = resolve.attempt(parsed.blueprint, target=target, stack=stack, facts=facts, where=source.where)
        findings += [*attempted.findings, *checks.check(attempted.spec, source)]
    ordered = finding.in_order(findings)
    if parsed.blueprint is None or finding.is_fatal(ordered):
        raise finding.Invalid(ordered)
    return Loaded(attempted.spec, source, ordered)
