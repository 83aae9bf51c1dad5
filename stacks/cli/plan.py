"""`clusterwright plan`: what a blueprint creates on its target and what it costs, or what it would change; it creates nothing and needs no credentials."""

import argparse
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprints import library
from blueprints.codes import Code
from blueprints.load import Loaded
from blueprints.plan import estimate
from blueprints.spec import ClusterSpec, Unreadable, as_record, from_record
from blueprints.spec.cost import Effect

from ..errors import EXIT_FAILED, EXIT_USAGE, Problem, reason
from ..render import cost, finding_list, plan_json, plan_view, tables
from . import options

if TYPE_CHECKING:  # a plan that is compared with nothing does without
    from blueprints.plan import changes

SAID_BY_PAGE = frozenset({Code.SCHEDULER_NOT_BUILT, Code.SOFTWARE_NOT_BUILT, Code.QUOTA_NEEDED})
"""Findings that the page's head and tables say."""
_REMEDY = "name a document that `clusterwright plan --json` wrote, or a blueprint"


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """What the blueprint would change of a cluster that exists."""

    against: str
    """What it is compared with, for people."""
    note: str | None
    """What could not be compared, if anything."""
    changes: "tuple[changes.Change, ...]"
    costs: estimate.Estimate | None = None
    """Of the existing cluster, at today's prices; None when its record has another form."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    options.what_if(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")
    parser.add_argument("--diff", action="store_true", help="show what would change of the running stack, and what each change costs")
    parser.add_argument(
        "--against", metavar="FILE|BLUEPRINT", help="compare with a document of `plan --json`, or with another blueprint, instead of the stack (implies --diff)"
    )
    parser.add_argument("--fail-on", choices=[str(effect) for effect in Effect], metavar="EFFECT", help=f"with --diff: exit status 1 if a change costs this or more ({', '.join(Effect)})")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    if given.fail_on and not (given.diff or given.against):
        why = "it sets which changes cost too much, and nothing is compared without --diff"
        raise Problem("--fail-on needs a comparison", why=why, remedy="add --diff or --against FILE", status=EXIT_USAGE)
    given.applies = given.applies or given.diff  # a stack is compared with what its next `up` would make of it
    loaded = options.loaded(given)
    compared = _compared(given, loaded.spec) if given.diff or given.against else None
    if given.json:
        print(json.dumps(document(loaded, compared), indent=2))
    else:
        finding_list.show([found for found in loaded.findings if found.code not in SAID_BY_PAGE])
        tables.show(_changes(loaded.spec, compared) if compared else plan_view.view(loaded.spec).sections)
    return EXIT_FAILED if compared and given.fail_on and _costs_at_least(Effect(given.fail_on), compared) else 0


def document(loaded: Loaded, compared: Compared | None = None) -> dict[str, Any]:
    """Give the plan as plain JSON values, with the changes when something is compared."""
    plan = plan_json.document(plan_view.view(loaded.spec), loaded.findings)
    if compared:
        from blueprints.plan import changes

        plan["against"] = {"what": compared.against, "note": compared.note, "estimate": estimate.as_record(compared.costs) if compared.costs else None}
        plan["changes"] = [changes.as_record(change) for change in compared.changes]
    return plan


def _changes(cluster: ClusterSpec, compared: Compared) -> list[tables.Section]:
    from blueprints.plan import changes

    from ..render import change_table

    costs = cost.difference(compared.costs, estimate.estimate(cluster)) if compared.costs else ""
    more = [words for words in (plan_view.planned_only(cluster), costs) if words]
    more += changes.kubernetes_upgrade(compared.changes, cluster)
    return [*change_table.sections(compared.changes, title=_title(cluster, compared), note=compared.note, more=more)]


def _compared(given: argparse.Namespace, cluster: ClusterSpec) -> Compared:
    from blueprints.plan import changes

    against = given.against or f"stack {given.stack}"
    standing = _from_stack(given.stack) if given.against is None else _named(given, cluster.target)
    try:
        return Compared(against, changes.version_note(standing), changes.compare(standing, cluster), _costs(standing))
    except Unreadable as error:
        raise Problem(f"{against} holds no record of a cluster", why=str(error), remedy=_REMEDY, status=EXIT_USAGE) from error


def _costs(record: Mapping[str, Any]) -> estimate.Estimate | None:
    try:
        return estimate.estimate(from_record(record))
    except (Unreadable, KeyError):
        return None


def _named(given: argparse.Namespace, target: str) -> Mapping[str, Any]:
    """Read the document that `--against` names; or plan the blueprint in the same stack and on the same target, without what `--set` tries on this one."""
    if not given.against.endswith((".yaml", ".yml")) and (given.against not in library.names() or Path(given.against).exists()):
        return _from_file(given.against)
    settled = dataclasses.replace(options.chosen(argparse.Namespace(**{**vars(given), "tried": None})), blueprint=given.against)
    return as_record(options.examined(given.stack, settled, target=target, origin=f"option --target {target}").spec)


def _from_stack(stack: str) -> Mapping[str, Any]:
    from ..engine import commands, state

    commands.require()
    spec = state.spec(stack)
    if spec is None:
        raise Problem(
            f"stack {stack} has nothing to compare with",
            why="no `up` of it has finished yet, so no cluster is recorded",
            remedy="`clusterwright plan` shows what it will be; `--against FILE` compares with a document of `plan --json`",
        )
    return spec


def _from_file(path: str) -> Mapping[str, Any]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem(f"{path} can't be read", why=reason(error), remedy=_REMEDY, status=EXIT_USAGE) from error
    except (ValueError, RecursionError) as error:
        raise Problem(f"{path} is no plan", why=f"it is not JSON: {error}", remedy=_REMEDY, status=EXIT_USAGE) from error
    spec = content.get("spec", content) if isinstance(content, Mapping) else None
    if not isinstance(spec, Mapping):
        raise Problem(f"{path} is no plan", why="it holds no JSON object with a `spec`", remedy=_REMEDY, status=EXIT_USAGE)
    return spec


def _title(cluster: ClusterSpec, compared: Compared) -> str:
    return f"{cluster.name} on {cluster.target}, against {compared.against}"


def _costs_at_least(effect: Effect, compared: Compared) -> bool:
    return any(change.effect.severity >= effect.severity for change in compared.changes)
