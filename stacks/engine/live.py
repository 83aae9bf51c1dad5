"""Validate a blueprint against the place where its cluster will run, for `check --live` and `up`; nothing there is changed."""

import dataclasses
import datetime as dt
from collections.abc import Collection

from blueprints import catalog, finding, spec, suppression
from blueprints.codes import Code
from blueprints.load import Loaded
from components import live, registry

from ..errors import EXIT_USAGE, Problem


@dataclasses.dataclass(frozen=True, slots=True)
class Validated:
    """A blueprint that was validated against the place of its cluster."""

    asked: live.Asked
    findings: tuple[finding.Finding, ...]
    """Those of the file and those of the place."""
    suppressed: tuple[finding.Finding, ...]
    """Those that the blueprint accepts."""


def is_possible(target: str) -> bool:
    """Say whether the place of a cluster on this target can be asked."""
    return target in registry.live_targets()


def validate(loaded: Loaded, *, stack: str, recorded: spec.ClusterSpec | None = None) -> Validated:
    """Validate a blueprint against the place of its cluster.

    Args:
        recorded: the cluster as the last `up` recorded it; None: ask everything.
    Raises:
        Problem: there is nobody to ask.
        AccountUnavailable: nobody can be asked.
    """
    target = loaded.spec.target
    ask = registry.live(target)
    if ask is None:
        able = ", ".join(registry.live_targets())
        has = "this version can't ask its account" if catalog.target(target).hosts == "cloud" else "there is nobody to ask"
        raise Problem(f"`--live` has nobody to ask on the target {target}", why=has, remedy=f"choose one of: {able} (`--target`)", status=EXIT_USAGE)
    asked = ask(loaded.spec, loaded.document, stack=stack, recorded=recorded)
    kept, accepted = suppression.apply(asked.findings, loaded.blueprint.suppress, loaded.document, today=dt.datetime.now(tz=dt.UTC).date())
    codes = {found.code for found in accepted}
    of_file = (found for found in loaded.findings if found.code not in asked.settled and not _is_about(found, loaded, codes))
    about_file = (Code.SUPPRESSION_UNUSED,)  # these the file's own findings may use
    findings = finding.in_order((*of_file, *(found for found in kept if found.code not in about_file)))
    return Validated(asked, findings, (*loaded.suppressed, *accepted))


def _is_about(found: finding.Finding, loaded: Loaded, codes: Collection[str]) -> bool:
    """Say whether a finding calls a suppression unused that accepted something of the place."""
    path = found.where.path if found.where and found.where.path and found.code == Code.SUPPRESSION_UNUSED else None
    return path is not None and len(path) > 1 and isinstance(path[1], int) and loaded.blueprint.suppress[path[1]].code in codes
