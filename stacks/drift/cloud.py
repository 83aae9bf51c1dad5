"""The cloud layer: what the engine sees of the world (a refresh that is only previewed), and what the program would change (a preview). Pure.

Both documents are those of `--json`: a list of steps, each with the recorded state of a resource and the one that was seen or is asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import rules
from .codes import Code
from .finding import Drift, Layer, Unchecked, drift, in_order
from .values import differences, shown, told

UNTOUCHED = frozenset({"same", "read", "refresh"})
STACK_TYPE = "pulumi:pulumi:Stack"
PROVIDER_PREFIX = "pulumi:providers:"
UP = "`clusterwright up` brings it back; if the change is wanted, put it into the blueprint"
SHOWN_PROPERTIES = 6
"""Properties that one finding about changed code names."""


def findings(world: Mapping[str, Any], program: Mapping[str, Any] | None, *, pending: Sequence[str] = ()) -> tuple[Drift, ...]:
    """Tell what the world changed from what the code changed.

    Args:
        world: document of `refresh --preview-only`.
        program: document of `preview`; None when it wasn't asked for or failed.
        pending: names of resources that an interrupted update was making.
    """
    asked = {step["urn"]: step for step in _steps(program or {})}
    found = [*_world(world, asked), *_code(asked.values()), *(_half_made(name) for name in pending)]
    return in_order(found)


def left_out(world: Mapping[str, Any]) -> tuple[Unchecked, ...]:
    """Name what differs and is left out by rule, with the rule's reason."""
    found = []
    for step in _steps(world):
        for path, _, _ in _properties(step):
            rule = rules.rule(step_type(step), path)
            if rule and rule.leave_out:
                found.append(Unchecked(Layer.CLOUD, f"{place(step)}: {path}", f"left out: {rule.leave_out}"))
    return tuple(dict.fromkeys(found))


def place(step: Mapping[str, Any]) -> str:
    """Name the resource of a step as people know it."""
    return f"{step_type(step)} {step['urn'].rpartition('::')[2]}"


def step_type(step: Mapping[str, Any]) -> str:
    state = step.get("oldState") or step.get("newState") or {}
    return str(state.get("type", ""))


def _steps(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for step in document.get("steps", ()):
        if step["op"] not in UNTOUCHED and step_type(step) != STACK_TYPE and not step_type(step).startswith(PROVIDER_PREFIX):
            yield step


def _world(world: Mapping[str, Any], asked: Mapping[str, Mapping[str, Any]]) -> Iterator[Drift]:
    for step in _steps(world):
        if step["op"] == "delete":
            identity = str((step.get("oldState") or {}).get("id", ""))
            yield drift(
                Layer.CLOUD, Code.RESOURCE_GONE, place(step), "the resource no longer exists", remedy=UP, desired="exists", recorded=identity or "exists"
            )
            continue
        wanted = {path: new for path, _, new in _inputs(asked[step["urn"]])} if step["urn"] in asked else {}
        for path, old, new in _properties(step):
            rule = rules.rule(step_type(step), path)
            if rule and rule.leave_out:
                continue
            yield drift(
                Layer.CLOUD,
                Code.PROPERTY_CHANGED,
                f"{place(step)}: {path}",
                f"{path} {told(old, new)}" + (f"; {rule.why}" if rule else ""),
                remedy=UP,
                desired=shown(wanted.get(path, old)),
                recorded=shown(old),
                actual=shown(new),
                level=rule.level if rule else None,
            )


def _properties(step: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what differs between the recorded state and the seen one, of what the provider calls a difference."""
    old, new = (step.get("oldState") or {}), (step.get("newState") or {})
    before, now = old.get("outputs") or old.get("inputs") or {}, new.get("outputs") or new.get("inputs") or {}
    named = {_top(path) for path in (*(step.get("detailedDiff") or {}), *(step.get("diffReasons") or ()))}
    for path, recorded, actual in differences(before, now):
        if not named or _top(path) in named:
            yield path, recorded, actual


def _code(steps: Any) -> Iterator[Drift]:
    for step in steps:
        names = [path for path, _, _ in _inputs(step)] or [str(reason) for reason in step.get("diffReasons") or ()]
        tops = list(dict.fromkeys(_top(name) for name in names))
        changed = ", ".join(tops[:SHOWN_PROPERTIES]) + (f" and {len(tops) - SHOWN_PROPERTIES} more" if len(tops) > SHOWN_PROPERTIES else "")
        first = next(_inputs(step), None)
        yield drift(
            Layer.CLOUD,
            Code.CODE_CHANGED,
            place(step),
            f"`up` would {_verb(step['op'])} it" + (f" because of {changed}" if changed else ""),
            remedy="run `clusterwright up` if the change is wanted; `clusterwright plan --diff` shows it",
            desired=shown(first[2]) if first and len(names) == 1 else changed or None,
            recorded=shown(first[1]) if first and len(names) == 1 else None,
            actual="as recorded",
        )


def _inputs(step: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    old, new = (step.get("oldState") or {}).get("inputs") or {}, (step.get("newState") or {}).get("inputs") or {}
    if old and new:
        yield from differences(old, new)


def _half_made(name: str) -> Drift:
    what = "an update was cut off while it made or changed this resource"
    return drift(Layer.CLOUD, Code.HALF_MADE, f"pending {name}", what, remedy="run `clusterwright up`, which adopts what there is")


def _verb(operation: str) -> str:
    return {"create": "make", "delete": "remove", "update": "change", "replace": "replace"}.get(operation.partition("-")[0], operation)


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]
