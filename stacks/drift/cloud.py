"""The cloud layer: what the engine sees of the world (a refresh that is only previewed), and what the program would change (a preview). Pure.

Both come as steps, each with the recorded state of a resource and the one that was seen or is asked for (`engine.World`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from blueprints.finding import Finding
from blueprints.finding.subject import CloudResource, PendingResource
from components import registry
from components.inspection.codes import Code
from components.inspection.finding import Unchecked, drift, in_order
from components.inspection.layer import Layer

from . import rules
from .differences import ABSENT, change, differences, is_secret, private_digest, shown

Step = Mapping[str, Any]
UNTOUCHED = frozenset({"same", "read", "refresh"})
GONE = "delete"
HALVES = frozenset({"create-replacement", "delete-replaced", "discard-replaced", "read-discard", "read-replacement", "remove-pending-replace"})
"""Parts of a replacement, which comes as a step of its own, too."""
NOTES_OF_THE_ENGINE = "__defaults"
STACK_TYPE = "pulumi:pulumi:Stack"
PROVIDER_PREFIX = "pulumi:providers:"
OWN_PREFIX = "clusterwright:"
"""Of the resources that this project's own provider serves: each version of it records all of its outputs."""
_READING = re.compile(r"^reading \S+ \([^)]*\): ")
"""What the provider puts before the cloud's words."""
UP = "`clusterwright up` restores it; to keep the change, put it into the blueprint"
SHOWN_PROPERTIES = 6
"""Properties that one finding about changed code names, and resources that can't be read for one reason and are named."""


def findings(
    world: Iterable[Step], program: Iterable[Step] | None, *, pending: Sequence[str] = (), recorded: Sequence[Mapping[str, Any]] = ()
) -> tuple[Finding, ...]:
    """Distinguish what the world changed from what the code changed.

    Args:
        world: steps of a refresh that is only previewed.
        program: steps of a preview; None when it wasn't asked for or failed.
        pending: names of resources that an interrupted update was creating or changing.
        recorded: the stack's resources (`stack.Known.resources`).
    """
    asked = {step["urn"]: step for step in _changed(program or ())}
    seen = [step for step in world if _counts(step)]
    found = [*_world(seen, asked), *_rights(seen, recorded), *_code(asked.values()), *(_half_made(name) for name in pending)]
    return in_order(found)


def left_out(world: Iterable[Step]) -> tuple[Unchecked, ...]:
    """Name what differs and is left out by rule, with the rule's reason."""
    found = []
    for step in world:
        for path, old, _ in _properties(step) if _counts(step) and step["op"] != GONE else ():
            rule = rules.rule(step_type(step), path)
            if rule and rule.leave_out:
                found.append(Unchecked(Layer.CLOUD, str(resource(step, path)), f"left out: {rule.leave_out}"))
            elif _is_not_recorded_yet(step, path, old):
                found.append(
                    Unchecked(Layer.CLOUD, str(resource(step, path)), "the stack was brought up by a version that did not record it; the next `up` does")
                )
    return tuple(dict.fromkeys(found))


def unread(errors: Mapping[str, str]) -> tuple[Unchecked, ...]:
    """Name the resources that could not be inspected.

    Args:
        errors: URN → reason.
    """
    by_reason: dict[str, list[str]] = {}
    for urn, why in sorted(errors.items()):
        by_reason.setdefault(_READING.sub("", why), []).append(f"{_type_of(urn)} {_name_of(urn)}")
    found = []
    for why, names in by_reason.items():
        shown_names = names if len(names) <= SHOWN_PROPERTIES else [f"{len(names)} resources"]
        found += [Unchecked(Layer.CLOUD, name, f"it could not be inspected: {why}") for name in shown_names]
    return tuple(found)


def resource(step: Step, part: str = "") -> CloudResource:
    """Name the resource of a step, or a property of it."""
    return CloudResource(step_type(step), _name_of(step["urn"]), part)


def step_type(step: Step) -> str:
    state = step.get("oldState") or step.get("newState") or {}
    return str(state.get("type", ""))


def _name_of(urn: str) -> str:
    return urn.rpartition("::")[2]


def _type_of(urn: str) -> str:
    """Give the type that a URN ends with (`urn:pulumi:stack::project::parent$type::name`)."""
    return urn.split("::")[2].rpartition("$")[2]


def _counts(step: Step) -> bool:
    return step_type(step) != STACK_TYPE and not step_type(step).startswith(PROVIDER_PREFIX) and step["op"] not in HALVES


def _changed(steps: Iterable[Step]) -> Iterator[Step]:
    return (step for step in steps if _counts(step) and step["op"] not in UNTOUCHED)


def _world(world: Iterable[Step], asked: Mapping[str, Step]) -> Iterator[Finding]:
    for step in world:
        if step["op"] == GONE:
            identity = str((step.get("oldState") or {}).get("id", ""))
            yield drift(Code.RESOURCE_GONE, resource(step), "the resource no longer exists", remedy=UP, desired="exists", recorded=identity or "exists")
            continue
        wanted = {path: new for path, _, new in _inputs(asked[step["urn"]])} if step["urn"] in asked else {}
        for path, old, new in _properties(step):
            rule = rules.rule(step_type(step), path)
            if (rule and rule.leave_out) or _is_not_recorded_yet(step, path, old):
                continue
            yield drift(
                Code.PROPERTY_CHANGED,
                resource(step, path),
                f"{path} {change(old, new)}" + (f"; {rule.why}" if rule else ""),
                remedy=UP,
                desired=shown(wanted.get(path, old)),
                recorded=shown(old),
                actual=shown(new),
                digest=private_digest(new),
                level=rule.level if rule else None,
            )


def _properties(step: Step) -> Iterator[tuple[str, Any, Any]]:
    """Yield what differs between the recorded state and the seen one.

    That is what the provider calls a difference, which is about inputs, and those outputs that a rule names. All other outputs are the cloud's own bookkeeping.
    """
    old, new = (step.get("oldState") or {}), (step.get("newState") or {})
    before, now = old.get("outputs") or old.get("inputs") or {}, new.get("outputs") or new.get("inputs") or {}
    named = {_top(path) for path in (*(step.get("detailedDiff") or {}), *(step.get("diffReasons") or ()))}
    is_changed, given = step["op"] not in UNTOUCHED, set()
    for path, recorded, actual in differences(before, now):
        rule = rules.rule(step_type(step), path)
        if path != NOTES_OF_THE_ENGINE and ((rule is not None and rule.output) or (is_changed and (not named or _top(path) in named))):
            given.add(_top(path))
            yield path, recorded, actual
    for top in sorted(named - given):
        if is_changed and (is_secret(before.get(top)) or is_secret(now.get(top))):
            yield top, before.get(top), now.get(top)  # the engine shows neither side


def _is_not_recorded_yet(step: Step, path: str, recorded: Any) -> bool:
    """Say whether a property is an output that the version which wrote the record did not have."""
    before = (step.get("oldState") or {}).get("outputs") or {}
    return recorded is ABSENT and bool(before) and step_type(step).startswith(OWN_PREFIX) and path not in before and path == _top(path)


def _rights(world: Iterable[Step], recorded: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Find policies that somebody gave a role beside those that the stack gives it: no resource names them, so none is missing or changed."""
    for step in world:
        now = (step.get("newState") or {}).get("outputs") or {}
        target = registry.discovery(registry.target_of(step_type(step)) or "")
        policies = target.added_policies(step_type(step), now, recorded) if target and now else ()
        for policy in policies:
            yield drift(
                Code.RIGHTS_ADDED,
                resource(step, f"policy {policy}"),
                "somebody gave the role another policy",
                remedy=f"detach it from the role {now.get('name')}, and find out who attached it; to keep it, put it into the program",
                actual=policy,
            )


def _code(steps: Iterable[Step]) -> Iterator[Finding]:
    for step in steps:
        names = [path for path, _, _ in _inputs(step)] or [str(reason) for reason in step.get("diffReasons") or ()]
        tops = list(dict.fromkeys(_top(name) for name in names))
        changed = ", ".join(tops[:SHOWN_PROPERTIES]) + (f" and {len(tops) - SHOWN_PROPERTIES} more" if len(tops) > SHOWN_PROPERTIES else "")
        first = next(_inputs(step), None)
        yield drift(
            Code.CODE_CHANGED,
            resource(step),
            f"`up` would {_verb(step['op'])} it" + (f" because of {changed}" if changed else ""),
            remedy="run `clusterwright up` if the change is wanted; `clusterwright plan --diff` shows it",
            desired=shown(first[2]) if first and len(names) == 1 else changed or None,
            recorded=shown(first[1]) if first and len(names) == 1 else None,
            actual="as recorded",
        )


def _inputs(step: Step) -> Iterator[tuple[str, Any, Any]]:
    old, new = (step.get("oldState") or {}).get("inputs") or {}, (step.get("newState") or {}).get("inputs") or {}
    if old and new:
        yield from differences(old, new)


def _half_made(name: str) -> Finding:
    what = "an update was interrupted while it created or changed this resource"
    return drift(Code.HALF_MADE, PendingResource(name), what, remedy="run `clusterwright up`, which adopts what there is")


def _verb(operation: str) -> str:
    return {"create": "create", "delete": "delete", "update": "change", "replace": "replace"}.get(operation.partition("-")[0], operation)


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]
