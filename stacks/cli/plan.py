"""`clusterwright plan`: what a blueprint will be on its target and what it costs, or what it would change; nothing is built, and nobody is asked for credentials."""

import argparse
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blueprints import changes, estimate, finding, quotas
from blueprints.effects import Effect
from blueprints.load import Loaded
from blueprints.spec import ClusterSpec, as_record

from .. import difference, page, tables
from . import options
from .problem import Problem

FORMAT = 1
"""Of the JSON document; raised when a key goes or changes its meaning (docs/json.md)."""
EXIT_FAILED = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """What a wanted cluster would change of one that stands."""

    against: str
    """What stands, for people."""
    note: str | None
    """What could not be compared, if anything."""
    changes: tuple[changes.Change, ...]


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")
    parser.add_argument("--diff", action="store_true", help="show what would change of the stack that stands, and what each change costs")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with this document of `plan --json` instead of the stack (implies --diff)")
    parser.add_argument("--fail-on", choices=[str(effect) for effect in Effect], metavar="EFFECT", help=f"with --diff: exit status 1 if a change costs this or more ({', '.join(Effect)})")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    if given.fail_on and not (given.diff or given.against):
        raise Problem("--fail-on says which changes are too dear", why="without --diff there is nothing to compare", remedy="add --diff or --against FILE")
    loaded = options.loaded(given)
    compared = _compared(given, loaded.spec) if given.diff or given.against else None
    if given.json:
        print(json.dumps(document(loaded, compared), indent=2))
    else:
        options.show(loaded.findings)
        tables.show(difference.sections(compared.changes, title=_title(loaded.spec, compared), note=compared.note) if compared else sections(loaded.spec))
    return EXIT_FAILED if compared and given.fail_on and _costs_at_least(Effect(given.fail_on), compared) else 0


def sections(cluster: ClusterSpec) -> list[tables.Section]:
    """Write the plan of a cluster for people."""
    return [*page.sections(cluster, estimate.estimate(cluster), quotas.needed(cluster), quotas.unknown(cluster))]


def document(loaded: Loaded, compared: Compared | None = None) -> dict[str, Any]:
    """Give the plan as plain JSON values."""
    cluster = loaded.spec
    plan: dict[str, Any] = {
        "format": FORMAT,
        "spec": as_record(cluster),
        "estimate": estimate.as_record(estimate.estimate(cluster)),
        "quotas": quotas.as_record(quotas.needed(cluster), quotas.unknown(cluster)),
        "late": list(page.late(cluster)),
        "findings": [finding.as_record(one) for one in loaded.findings],
    }
    if compared:
        plan["against"] = {"what": compared.against, "note": compared.note}
        plan["changes"] = [changes.as_record(change) for change in compared.changes]
    return plan


def _compared(given: argparse.Namespace, cluster: ClusterSpec) -> Compared:
    against, recorded = (str(given.against), _from_file(given.against)) if given.against else (f"stack {given.stack}", _from_stack(given.stack))
    try:
        return Compared(against, changes.version_note(recorded), changes.compare(recorded, cluster))
    except changes.Unreadable as error:
        raise Problem(
            f"what {against} holds is no record of a cluster", why=str(error), remedy="compare with a document that `clusterwright plan --json` wrote"
        ) from error


def _from_stack(stack: str) -> Mapping[str, Any]:
    from . import engine

    engine.require()
    outputs = engine.outputs(stack) if engine.exists(stack) else {}
    if not isinstance(outputs.get("spec"), Mapping):
        raise Problem(
            f"stack {stack} has nothing to compare with",
            why="no `up` of it has ended yet, so that no spec is recorded",
            remedy="`clusterwright plan` shows what it will be; `--against FILE` compares with a document of `plan --json`",
        )
    spec: Mapping[str, Any] = outputs["spec"]
    return spec


def _from_file(path: Path) -> Mapping[str, Any]:
    remedy = "name a document that `clusterwright plan --json` wrote"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise Problem(f"{path} can't be read", why=str(error), remedy=remedy) from error
    spec = content.get("spec", content) if isinstance(content, Mapping) else None
    if not isinstance(spec, Mapping):
        raise Problem(f"{path} is no plan", why="it holds no JSON object with a `spec`", remedy=remedy)
    return spec


def _title(cluster: ClusterSpec, compared: Compared) -> str:
    return f"{cluster.name} on {cluster.target}, against {compared.against}"


def _costs_at_least(effect: Effect, compared: Compared) -> bool:
    return any(change.effect.severity >= effect.severity for change in compared.changes)
